// SPDX-License-Identifier: Apache-2.0
// Measurements: what metrics-server and Prometheus say at one moment, for the strategies that depend on it. A source
// that cannot be asked, that says something impossible, or whose answer is old is an error of one line, and then
// nothing is to be moved: half of a picture is worse than none.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

// Measurements that are older, or this far in the future, do not count.
inline constexpr Duration kMeasurementAgeMax = std::chrono::minutes(3);
inline constexpr Duration kMeasurementFutureMax = std::chrono::minutes(1);
// A source that says that a node uses more than this many times its allocatable amount counts in another unit.
inline constexpr double kUseOfCapacityMax = 2;
// Of one answer of Prometheus.
inline constexpr std::size_t kMetricSamplesMax = 200'000;
inline constexpr std::size_t kMetricsBytesMax = std::size_t{64} << 20;

// One series of an instant vector.
struct MetricSample {
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;
};

struct Measurements {
  StringHashMap<MeasuredUse> nodes;  // of metrics-server, by name
  StringHashMap<MeasuredUse> pods;   // the same, by "namespace/name"; a pod may be missing
  std::map<std::string, std::vector<MetricSample>, std::less<>> answers;  // of Prometheus, by query
};

// Asks the sources. Each call has a deadline, and an answer is at most kMetricsBytesMax long.
class MetricsClient {
 public:
  virtual ~MetricsClient() = default;
  // The list of metrics.k8s.io/v1beta1: "nodes" or "pods".
  virtual Expected<std::string> ListMetrics(std::string_view resource) = 0;
  // The answer to an instant query of the policy's Prometheus.
  virtual Expected<std::string> Query(const std::string& query) = 0;
};

// What a policy needs to have measured.
struct MetricsNeeds {
  bool needs_metrics_server = false;
  std::set<std::string> queries;  // of Prometheus
  bool empty() const { return !needs_metrics_server && queries.empty(); }
};
MetricsNeeds MetricsNeedsOf(const Policy& policy);

// Asks for what the policy needs, and checks it. `now`: the time of day.
Expected<Measurements> ReadMeasurements(const Policy& policy, MetricsClient& client, Time now);

// The parsers behind ReadMeasurements(). Each error is one line.
Expected<StringHashMap<MeasuredUse>> ParseNodeUse(std::string_view body, Time now);
Expected<StringHashMap<MeasuredUse>> ParsePodUse(std::string_view body, Time now);
Expected<std::vector<MetricSample>> ParseSamples(std::string_view body, Time now);

// Adds measured use to the view, for the strategies that depend on it. Fails where `measurements` (null: none) lack a
// node.
Expected<void> AddMeasuredUse(ClusterView& view, const Policy& policy, const std::vector<NodeNumber>& nodes,
                              const Measurements* measurements);

}  // namespace berth::rebalance
