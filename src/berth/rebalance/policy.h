// SPDX-License-Identifier: Apache-2.0
// Policy: which pods are to be moved, as a DeschedulerPolicy (descheduler/v1alpha2, of descheduler 0.36) says it.
// Plain values; policy_reader.h makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/selector.h"
#include "berth/base/time.h"
#include "berth/rebalance/own_args.h"
#include "berth/rebalance/pod_selection.h"

namespace berth::rebalance {

// Pods of this priority and above are critical to the system.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;

// Percent of allocatable, by resource.
using Thresholds = std::map<std::string, double, std::less<>>;

// --- Where use is measured -------------------------------------------------------------------------------------------

enum class MetricsSource : std::uint8_t { kKubernetes, kPrometheus };
// As a policy has it: "KubernetesMetrics", "Prometheus".
std::string_view ToString(MetricsSource source);

// Use as it is measured, in place of what pods request.
struct MetricsUse {
  MetricsSource source = MetricsSource::kKubernetes;
  std::string query;  // of Prometheus: a vector of shares from 0 to 1, each with the label "instance", a node's name
  auto operator<=>(const MetricsUse&) const = default;
};

// The resource that thresholds name when a query of Prometheus is what counts.
inline constexpr std::string_view kMetricResource = "MetricResource";

struct PrometheusProvider {
  std::string url;
  // The Secret that has the bearer token, both or none.
  std::string secret_namespace;
  std::string secret_name;
  bool operator==(const PrometheusProvider&) const = default;
};

// --- Strategies ------------------------------------------------------------------------------------------------------

struct RemoveDuplicatesArgs {
  PodSelection pods;  // namespaces alone
  std::vector<std::string> exclude_owner_kinds;
  bool operator==(const RemoveDuplicatesArgs&) const = default;
};

struct NodeAffinityArgs {
  PodSelection pods;
  // "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution".
  std::vector<std::string> types;
  bool operator==(const NodeAffinityArgs&) const = default;
};

struct NodeTaintsArgs {
  PodSelection pods;
  bool include_prefer_no_schedule = false;
  // "key" or "key=value".
  std::vector<std::string> excluded_taints;
  std::optional<std::vector<std::string>> included_taints;  // absent: all; empty: none
  bool operator==(const NodeTaintsArgs&) const = default;
};

struct InterPodAntiAffinityArgs {
  PodSelection pods;
  bool operator==(const InterPodAntiAffinityArgs&) const = default;
};

struct TopologySpreadArgs {
  PodSelection pods;
  std::vector<api::UnsatisfiableConstraintAction> constraints = {api::UnsatisfiableConstraintAction::kDoNotSchedule};
  bool topology_balance_node_fit = true;
  bool operator==(const TopologySpreadArgs&) const = default;
};

struct PodConditionFilter {
  std::string type;  // of these, what is empty is not asked for
  std::string status;
  std::string reason;
  std::optional<std::uint64_t> min_seconds_since_transition;
  bool operator==(const PodConditionFilter&) const = default;
};

struct PodLifeTimeArgs {
  PodSelection pods;
  std::vector<std::string> include_owner_kinds;
  std::vector<std::string> exclude_owner_kinds;
  std::optional<std::uint64_t> max_seconds;
  std::vector<std::string> states;
  std::vector<PodConditionFilter> conditions;
  std::vector<std::int32_t> exit_codes;
  bool including_init_containers = false;
  bool including_ephemeral_containers = false;
  bool operator==(const PodLifeTimeArgs&) const = default;
};

struct FailedPodsArgs {
  PodSelection pods;
  std::vector<std::string> exclude_owner_kinds;
  std::uint64_t min_seconds = 3600;
  std::vector<std::string> reasons;
  std::vector<std::int32_t> exit_codes;
  bool including_init_containers = false;
  bool operator==(const FailedPodsArgs&) const = default;
};

struct TooManyRestartsArgs {
  PodSelection pods;
  std::int32_t threshold = 0;
  bool including_init_containers = false;
  std::vector<std::string> states;
  bool operator==(const TooManyRestartsArgs&) const = default;
};

struct LowNodeUtilizationArgs {
  bool use_deviation_thresholds = false;
  Thresholds thresholds;
  Thresholds target_thresholds;
  std::int64_t number_of_nodes = 0;
  std::vector<std::string> excluded_namespaces;
  std::optional<std::uint64_t> node_limit;  // evictionLimits.node
  std::optional<MetricsUse> metrics;        // absent: use is what pods request
  bool operator==(const LowNodeUtilizationArgs&) const = default;
};

struct HighNodeUtilizationArgs {
  Thresholds thresholds;
  std::int64_t number_of_nodes = 0;
  bool only_thresholding_resources = false;  // an eviction mode
  std::vector<std::string> excluded_namespaces;
  bool operator==(const HighNodeUtilizationArgs&) const = default;
};

using StrategyArgs =
    std::variant<RemoveDuplicatesArgs, NodeAffinityArgs, NodeTaintsArgs, InterPodAntiAffinityArgs, TopologySpreadArgs,
                 PodLifeTimeArgs, FailedPodsArgs, TooManyRestartsArgs, LowNodeUtilizationArgs, HighNodeUtilizationArgs,
                 BackToSpotArgs, CheaperNodeArgs, BetterScoreArgs, ConsolidateArgs, CustomMetricArgs, ZoneRepairArgs>;

// The name under which policies have it: "RemoveDuplicates".
std::string_view NameOf(const StrategyArgs& args);
// One of berth's (own_args.h), and not of the descheduler's.
bool IsOwn(const StrategyArgs& args);

// --- Which pods may be evicted at all --------------------------------------------------------------------------------

struct PriorityThreshold {
  std::optional<std::int32_t> value;
  std::string name;  // of a PriorityClass, in place of the value
  bool operator==(const PriorityThreshold&) const = default;
};

// The arguments of DefaultEvictor. What protects pods is one of the two ways of saying it, the deprecated one
// (evictLocalStoragePods) read as the other (podProtections).
struct EvictorArgs {
  std::string node_selector;
  std::optional<api::LabelSelector> labels;
  std::optional<api::LabelSelector> namespace_labels;
  PriorityThreshold priority;
  bool node_fit = false;
  std::uint64_t min_replicas = 0;
  std::optional<Duration> min_pod_age;
  bool no_eviction_is_mandatory = false;

  bool protects_local_storage = true;
  bool protects_daemon_sets = true;
  bool protects_system_critical = true;
  bool protects_failed_bare = true;
  bool protects_claims = false;                        // PodsWithPVC
  std::vector<std::string> protected_storage_classes;  // of protects_claims; empty: all
  bool protects_without_budget = false;
  bool protects_resource_claims = false;
  bool operator==(const EvictorArgs&) const = default;
};

// --- The whole -------------------------------------------------------------------------------------------------------

struct PolicyProfile {
  std::string name;
  EvictorArgs evictor;
  // Those that are enabled, in the order in which they run.
  std::vector<StrategyArgs> deschedule;
  std::vector<StrategyArgs> balance;
  bool operator==(const PolicyProfile&) const = default;
};

// Of evictions; absent: no limit.
struct EvictionLimits {
  std::optional<std::uint64_t> per_node;
  std::optional<std::uint64_t> per_namespace;
  std::optional<std::uint64_t> total;
  bool operator==(const EvictionLimits&) const = default;
};

struct Policy {
  std::vector<PolicyProfile> profiles;
  std::string node_selector;  // of the nodes that are looked at; empty: all
  EvictionLimits limits;
  std::optional<std::int64_t> grace_period_seconds;  // of evictions; absent: the pod's own
  std::optional<PrometheusProvider> prometheus;
  bool operator==(const Policy&) const = default;
};

// All strategies, as they run: those of each profile that deschedule, then those that balance.
std::vector<const StrategyArgs*> StrategiesOf(const Policy& policy);

}  // namespace berth::rebalance
