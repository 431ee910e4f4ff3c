// SPDX-License-Identifier: Apache-2.0
// berth-bench-embedded: how fast berth binds pods on its own API server. One process is berth (the embedded API server
// and the scheduler, as in `berth demo`); another is the client, which creates nodes and pods over HTTP and watches the
// bindings. Prints one JSON line.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/embedded/client.h"
#include "berth/base/log.h"
#include "berth/core/config/default.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::bench::embedded {
namespace {

constexpr double kPatienceSeconds = 20;
constexpr std::uint64_t kSettleSecondsMax = 60;
constexpr std::uint32_t kPodsPerNodeMax = 40;  // limited by the nodes' CPU

struct Flags {
  long nodes = 10'000;
  long pods = 100'000;
  long connections = 32;
  double pods_per_second_min = 0;  // below this rate the exit status is 3
};

int Usage(std::string_view problem) {
  std::fprintf(stderr,
               "%s\nusage: berth-bench-embedded [--nodes N] [--pods N] [--connections N] [--min PODS_A_SECOND]\n",
               std::string(problem).c_str());
  return 2;
}

// Runs berth until its standard input ends. Writes its port to `out`.
int RunBerth(int in, int out) {
  cli::BlockSignals();
  log::SetLevel(log::Level::kError);
  const SystemClock clock;
  auto cluster = embedded_cluster::EmbeddedCluster::Start({.listen = "127.0.0.1:0", .nodes = 0, .seed = 1}, clock);
  if (!cluster.ok()) return cli::FailWith(cluster.error());
  runner::ShellOptions options;
  options.seed = 1;
  options.hostname = "bench";
  auto shell = runner::SchedulerShell::Make(config::DefaultConfiguration(), (*cluster)->rest(), (*cluster)->events(),
                                            clock, std::move(options));
  if (!shell.ok()) return cli::FailWith(shell.error());
  (*shell)->Start();
  while (!(*shell)->HasSynced()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::string address = (*cluster)->address();
  const std::string line = address.substr(address.rfind(':') + 1) + "\n";
  if (write(out, line.data(), line.size()) < 0) return 1;
  char byte = 0;
  while (read(in, &byte, 1) > 0) {
  }
  (*shell)->Stop(std::chrono::seconds(1));
  (*cluster)->Stop();
  return 0;
}

std::string NodeBody(std::size_t i) {
  const std::string name = "node-" + std::to_string(i);
  const std::string room = R"({"cpu":"4","memory":"32Gi","pods":"110"})";
  return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name +
         R"(","labels":{"kubernetes.io/hostname":")" + name + R"(","topology.kubernetes.io/zone":"zone)" +
         std::to_string(i % 3 + 1) + R"(","topology.kubernetes.io/region":"region1"}},"status":{"capacity":)" + room +
         R"(,"allocatable":)" + room + R"(,"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}})";
}

std::string PodBody(std::size_t i) {
  const std::string wants = R"({"cpu":"100m","memory":"500Mi"})";
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod-)" + std::to_string(i) +
         R"(","namespace":"default","labels":{"app":"bench"}},"spec":{"automountServiceAccountToken":false,)"
         R"("containers":[{"name":"pause","image":"pause","ports":[{"containerPort":80}],"resources":{"requests":)" +
         wants + R"(,"limits":)" + wants + "}}]}}";
}

// User and system time of a process so far; 0 when it has ended.
double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  unsigned long user = 0;
  unsigned long system = 0;
  if (std::sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                  &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double PeakMib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

// Waits until the process is idle: events are written after the bindings.
double SettledCpuSeconds(pid_t pid) {
  double before = CpuSeconds(pid);
  for (std::uint64_t i = 0; i < kSettleSecondsMax * 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double now = CpuSeconds(pid);
    if (now - before <= 0.02) return now;
    before = now;
  }
  return before;
}

int Measure(const Flags& flags, std::uint16_t port, pid_t berth) {
  Client client(port, static_cast<int>(flags.connections));
  std::vector<std::string> bodies;
  for (long i = 0; i < flags.nodes; ++i) bodies.push_back(NodeBody(static_cast<std::size_t>(i)));
  if (!client.Connect() || !client.PostAll("/api/v1/nodes", bodies)) {
    std::fprintf(stderr, "berth-bench-embedded: %s\n", client.problem().c_str());
    return 1;
  }
  const double nodes_cpu = SettledCpuSeconds(berth);
  bodies.clear();
  for (long i = 0; i < flags.pods; ++i) bodies.push_back(PodBody(static_cast<std::size_t>(i)));
  const double client_before = CpuSeconds(getpid());
  const Client::Bound bound =
      client.PostAndWatch("default", bodies, static_cast<std::size_t>(flags.nodes), kPatienceSeconds);
  const double berth_cpu = CpuSeconds(berth) - nodes_cpu;
  const double client_cpu = CpuSeconds(getpid()) - client_before;
  const double settled_cpu = SettledCpuSeconds(berth) - nodes_cpu;
  const auto over = std::count_if(bound.pods_per_node.begin(), bound.pods_per_node.end(),
                                  [](std::uint32_t pods) { return pods > kPodsPerNodeMax; });
  const auto [least, most] = std::minmax_element(bound.pods_per_node.begin(), bound.pods_per_node.end());
  const double pods_per_second = bound.bind_seconds > 0 ? static_cast<double>(bound.bound) / bound.bind_seconds : 0;
  const double thousands = static_cast<double>(flags.pods) / 1000;
  std::printf(R"({"nodes":%ld,"pods":%ld,"connections":%ld,"created_pods_s":%.0f,"bound_pods_s":%.0f,"seconds":%.2f,)"
              R"("first_bound_s":%.4f,"berth_cpu_s":%.2f,"client_cpu_s":%.2f,"berth_cpu_s_settled":%.2f,)"
              R"("berth_cpu_ms_per_pod":%.4f,"berth_peak_mib":%.0f,"watch_mib":%.0f,"bound":%zu,"rebound":%zu,)"
              R"("overcommitted_nodes":%td,"pods_per_node":[%u,%u]})"
              "\n",
              flags.nodes, flags.pods, flags.connections,
              bound.create_seconds > 0 ? static_cast<double>(flags.pods) / bound.create_seconds : 0, pods_per_second,
              bound.bind_seconds, bound.first_seconds, berth_cpu, client_cpu, settled_cpu, settled_cpu / thousands,
              PeakMib(berth), static_cast<double>(bound.watch_bytes) / (1 << 20), bound.bound, bound.rebound, over,
              *least, *most);
  if (!client.problem().empty()) std::fprintf(stderr, "berth-bench-embedded: %s\n", client.problem().c_str());
  if (bound.bound != static_cast<std::size_t>(flags.pods) || bound.rebound != 0 || over != 0) return 1;
  return pods_per_second < flags.pods_per_second_min ? 3 : 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  const std::map<std::string_view, long*> numbers{
      {"--nodes", &flags.nodes}, {"--pods", &flags.pods}, {"--connections", &flags.connections}};
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return Usage(std::string(name) + ": no such flag, or no value");
    char* end = nullptr;
    const long value = std::strtol(argv[i + 1], &end, 10);
    const auto number = numbers.find(name);
    if (*end != '\0' || value < 1 || value > 1'000'000)
      return Usage(std::string(name) + ": not a number that it takes");
    if (name == "--min") {
      flags.pods_per_second_min = static_cast<double>(value);
    } else if (number != numbers.end()) {
      *number->second = value;
    } else {
      return Usage(std::string(name) + ": no such flag");
    }
  }
  // Forks before there are any threads.
  int to_berth[2];
  int from_berth[2];
  if (pipe(to_berth) != 0 || pipe(from_berth) != 0) return Usage("no pipes");
  const pid_t berth = fork();
  if (berth == 0) {
    close(to_berth[1]);
    close(from_berth[0]);
    return RunBerth(to_berth[0], from_berth[1]);
  }
  close(to_berth[0]);
  close(from_berth[1]);
  std::string port;
  for (char byte = 0; read(from_berth[0], &byte, 1) == 1 && byte != '\n';) port += byte;
  const int status =
      port.empty() ? 1 : Measure(flags, static_cast<std::uint16_t>(std::strtoul(port.c_str(), nullptr, 10)), berth);
  close(to_berth[1]);
  int berth_status = 0;
  waitpid(berth, &berth_status, 0);
  return status != 0 ? status : (berth_status == 0 ? 0 : 1);
}

}  // namespace
}  // namespace berth::bench::embedded

int main(int argc, char** argv) { return berth::bench::embedded::Main(argc, argv); }
