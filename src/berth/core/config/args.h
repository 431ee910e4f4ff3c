// SPDX-License-Identifier: Apache-2.0
// The arguments of the default plugins, decoded and with upstream's defaults in place. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/time.h"

namespace berth::config {

struct ResourceSpec {
  std::string name;
  std::int64_t weight = 0;  // 0 in a file: 1
  bool operator==(const ResourceSpec&) const = default;
};

// CPU and memory, each with weight 1.
std::vector<ResourceSpec> DefaultResources();

struct UtilizationShapePoint {
  std::int32_t utilization = 0;  // percent
  std::int32_t score = 0;        // 0..10
  bool operator==(const UtilizationShapePoint&) const = default;
};

enum class ScoringStrategyType : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

struct ScoringStrategy {
  ScoringStrategyType type = ScoringStrategyType::kLeastAllocated;
  std::vector<ResourceSpec> resources = DefaultResources();
  // requestedToCapacityRatio.shape: set if and only if the type is kRequestedToCapacityRatio.
  std::optional<std::vector<UtilizationShapePoint>> shape;
  bool operator==(const ScoringStrategy&) const = default;
};

struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  ScoringStrategy scoring_strategy;
  bool operator==(const NodeResourcesFitArgs&) const = default;
};

struct NodeResourcesBalancedAllocationArgs {
  std::vector<ResourceSpec> resources = DefaultResources();
  bool operator==(const NodeResourcesBalancedAllocationArgs&) const = default;
};

struct NodeAffinityArgs {
  std::optional<api::NodeAffinity> added_affinity;
  bool operator==(const NodeAffinityArgs&) const = default;
};

struct InterPodAffinityArgs {
  std::int32_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
  bool operator==(const InterPodAffinityArgs&) const = default;
};

// A default constraint. Its label selector is derived for each pod.
struct TopologySpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::string when_unsatisfiable;  // DoNotSchedule, ScheduleAnyway
  std::optional<std::int32_t> min_domains;
  std::string node_affinity_policy;  // empty: unset
  std::string node_taints_policy;    // empty: unset
  std::vector<std::string> match_label_keys;
  bool operator==(const TopologySpreadConstraint&) const = default;
};

struct PodTopologySpreadArgs {
  bool is_list_defaulting = false;  // defaultingType: List instead of System
  std::vector<TopologySpreadConstraint> default_constraints;
  bool operator==(const PodTopologySpreadArgs&) const = default;
};

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
  bool operator==(const DefaultPreemptionArgs&) const = default;
};

struct VolumeBindingArgs {
  std::int64_t bind_timeout_seconds = 600;
  std::optional<std::vector<UtilizationShapePoint>> shape;
  bool operator==(const VolumeBindingArgs&) const = default;
};

struct DynamicResourcesArgs {
  Duration filter_timeout = std::chrono::seconds(10);  // 0: no limit
  Duration binding_timeout = std::chrono::seconds(600);
  bool operator==(const DynamicResourcesArgs&) const = default;
};

// Arguments of a plugin that is not upstream's; its factory reads them.
struct RawArgs {
  std::string json;
  bool operator==(const RawArgs&) const = default;
};

// monostate: the plugin takes no arguments.
using PluginArgs = std::variant<std::monostate, NodeResourcesFitArgs, NodeResourcesBalancedAllocationArgs,
                                NodeAffinityArgs, InterPodAffinityArgs, PodTopologySpreadArgs, DefaultPreemptionArgs,
                                VolumeBindingArgs, DynamicResourcesArgs, RawArgs>;

}  // namespace berth::config
