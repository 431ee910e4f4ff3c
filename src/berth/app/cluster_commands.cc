// berth apiserver and berth kubelets: the parts of a simulated cluster by themselves.
#include <cstdio>

#include "berth/app/commands.h"
#include "berth/app/connection.h"
#include "berth/app/embedded_cluster.h"
#include "berth/app/process.h"
#include "berth/base/log.h"

namespace berth::app {

int RunApiServer(const ApiServerCommandOptions& options) {
  const SystemClock clock;
  auto cluster = EmbeddedCluster::Start({options.listen, options.nodes, RandomSeed()}, clock);
  if (!cluster.ok()) return FailWith(cluster.error());
  const std::string address = (*cluster)->address();
  log::Info("app", "Serving", {{"url", "http://" + address}, {"nodes", options.nodes}});
  std::printf("kubectl --server http://%s get nodes,pods -A\n", address.c_str());
  std::fflush(stdout);
  log::Info("app", "Ending", {{"signal", WaitForSignal()}});
  return 0;
}

int RunKubelets(const KubeletsOptions& options) {
  const SystemClock clock;
  const std::uint64_t seed = RandomSeed();
  kubelet::KubeletOptions kubelets;
  kubelets.nodes = options.nodes;
  kubelets.seed = seed;
  if (const auto valid = kubelet::CheckKubeletOptions(kubelets); !valid.ok())
    return FailWith(valid.error(), cli::kExitUsage);
  auto connection = Connection::Make(options.connection, clock, seed);
  if (!connection.ok()) return FailWith(connection.error(), cli::kExitUsage);
  kubelet::KubeletSimulator simulator((*connection)->rest(), kubelets);
  log::Info("app", "Simulating nodes", {{"nodes", options.nodes}, {"server", (*connection)->server()}});
  simulator.Start();
  log::Info("app", "Ending", {{"signal", WaitForSignal()}});
  simulator.Stop();
  (*connection)->Stop();
  return 0;
}

}  // namespace berth::app
