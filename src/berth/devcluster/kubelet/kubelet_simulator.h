// SPDX-License-Identifier: Apache-2.0
// KubeletSimulator: nodes that nobody has. It keeps Node objects and their leases alive and does for the pods bound to
// them what kubelets would: starts them, ends them, finishes their deletion. A client of any API server, embedded or
// real. It never schedules, and touches no node but its own and, if asked, those that it adopts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace berth::kubelet {

// A pod with this annotation succeeds after it has run for this number of seconds.
inline constexpr const char* kRunSecondsAnnotation = "berth.dev/run-seconds";
// So does a Job's pod without it, after this time: it is there to end.
inline constexpr Duration kJobRunTime = std::chrono::seconds(5);

// Addresses of the simulated network end a little above.
inline constexpr int kNodesMax = 1'000'000;

// What one node is and has.
struct NodeShape {
  struct Taint {
    std::string key;
    std::string value;
    std::string effect;
  };
  std::string name;
  std::string cpu = "4";  // capacity and allocatable
  std::string memory = "32Gi";
  std::string pods = "110";
  std::string kubelet_version = "v1.36.0";
  std::map<std::string, std::string> resources;  // further ones, "nvidia.com/gpu" to "8"
  std::string zone = "zone-1";
  std::string region = "region-1";
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<Taint> taints;
};

struct KubeletOptions {
  int nodes = 5;
  std::string node_prefix = "node-";  // node-1, node-2, ...
  std::string cpu = "4";              // capacity and allocatable of each node
  std::string memory = "32Gi";
  std::string pods = "110";
  int zones = 3;  // nodes take turns: zone-1, zone-2, ...
  std::string region = "region-1";
  // When there are any, these nodes are simulated in place of those that the fields above describe.
  std::vector<NodeShape> shapes;
  std::string version = "v1.36.0";  // of all kubelets
  // Nodes that somebody else creates get a kubelet, too: they become ready, with the capacity above where they name
  // none, and run pods. Only where no other kubelets are.
  bool adopts_nodes = false;

  // From a pod's binding to Running; each pod takes half of it to one and a half times as long.
  Duration start_latency = std::chrono::milliseconds(500);
  // A deleted pod is gone after its grace period, or earlier after this.
  Duration shutdown_latency = std::chrono::seconds(1);
  bool takes_full_grace = false;  // as containers do that ignore SIGTERM: the grace period passes in any case

  Duration heartbeat = std::chrono::seconds(10);  // between renewals of a node's lease
  // Renewals in all. With more nodes than fit, heartbeats become rarer and leases longer; beyond some thousand nodes a
  // kube-controller-manager then needs a longer --node-monitor-grace-period.
  int renewals_per_second_max = 100;
  int in_flight_max = 16;  // requests under way: for nodes and leases together, and as many for pods
  std::uint64_t seed = 1;  // of start latencies and back-off
};

// One line that says what is wrong: a count out of range, a quantity that does not parse, a prefix that makes no node
// name.
Expected<void> CheckKubeletOptions(const KubeletOptions& options);

struct KubeletStats {
  int nodes_ready = 0;             // nodes of ours, adopted ones among them, that exist and are Ready
  std::size_t pods = 0;            // bound to our nodes, finished ones included
  std::uint64_t pods_started = 0;  // since Start()
  std::uint64_t pods_finished = 0;
  std::uint64_t pods_removed = 0;
  std::uint64_t renewals = 0;
  std::uint64_t failures = 0;  // requests that failed and were, or will be, tried again
};

class KubeletSimulator {
 public:
  // `rest` must outlive it. The options must pass CheckKubeletOptions.
  KubeletSimulator(client::RestClient& rest, KubeletOptions options);
  // Stop(). On the loop's thread, or after the loop has ended.
  ~KubeletSimulator();
  KubeletSimulator(const KubeletSimulator&) = delete;
  KubeletSimulator& operator=(const KubeletSimulator&) = delete;

  // Any thread; returns at once. Nodes that exist already are taken over; an API server that is away is waited for.
  void Start();
  // Any thread. Begins nothing new; requests under way end unheard. The nodes stay as they are, and their leases
  // expire.
  void Stop();

  // The numbers may be a moment old. Any thread.
  KubeletStats Stats() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::kubelet
