// SPDX-License-Identifier: Apache-2.0
// Metrics of the process itself: CPU time, memory, file descriptors, start, network, and the build. The names and help
// texts are those of client_golang and component-base. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "berth/base/metric_registry.h"

namespace berth::metrics {

// Looked up in /proc at each reading; a value that is not there keeps what it was. `registry` must outlive the
// process's last reading.
void AddProcessMetrics(MetricRegistry& registry);

// The Kubernetes version that this stands in for, as kubernetes_build_info tells it: "1", "36", "v1.36.3".
struct KubernetesVersion {
  std::string major;
  std::string minor;
  std::string git_version;
};

// kubernetes_build_info, and how many of the registry's metrics there are (registered_, hidden_,
// disabled_metrics_total).
void AddBuildMetrics(MetricRegistry& registry, const KubernetesVersion& version);

// leader_election_master_status{name}: whether this process holds the lease of that name. Any thread.
void SetLeader(MetricRegistry& registry, const std::string& lease_name, bool is_leader);
// leader_election_slowpath_total{name}: `count` is asked at each reading how many renewals had to read the lease first.
// It must work until the registry's last reading.
void AddSlowRenewals(MetricRegistry& registry, const std::string& lease_name, std::function<std::uint64_t()> count);

// berth_followed_kubernetes_minor and berth_api_server_kubernetes_minor: the release that decides, and the oldest of
// the API servers that answer, as its minor version. Any thread.
void SetReleases(MetricRegistry& registry, int followed_minor, int server_minor);

// berth_log_lines_dropped_total: lines of the log that nobody read in time (base/log_writer.h).
void AddLogMetrics(MetricRegistry& registry);

struct Feature {
  std::string name;
  std::string stage;  // "ALPHA", "BETA", "DEPRECATED"; of GA it is empty
  bool is_on = false;
};
// kubernetes_feature_enabled.
void AddFeatureMetrics(MetricRegistry& registry, const std::vector<Feature>& features);

}  // namespace berth::metrics
