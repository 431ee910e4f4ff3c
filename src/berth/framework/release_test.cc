// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/release.h"

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

// A switch, the first and the last release that have it, and the line of Kubernetes where the difference is: of the
// newest release that has the code, below pkg/scheduler/framework/plugins/ unless it begins with another module's name
// or with pkg/.
template <typename Rules>
struct Row {
  const char* name;
  bool Rules::* is_on;
  int first;
  int last;
  const char* upstream;
};

constexpr int kOldest = kOldestRelease;
constexpr int kNewest = kNewestRelease;

constexpr Row<Release> kSwitches[] = {
    {"scores_devices", &Release::scores_devices, 35, kNewest,
     "1.35 pkg/scheduler/apis/config/v1/default_plugins.go:82"},
    {"scores_change_of_balance", &Release::scores_change_of_balance, 36, kNewest,
     "1.36 noderesources/balanced_allocation.go:204"},
    {"scores_image_volumes", &Release::scores_image_volumes, 36, kNewest, "1.36 imagelocality/image_locality.go:123"},
    {"hides_missing_features", &Release::hides_missing_features, 36, kNewest,
     "1.35 nodedeclaredfeatures/nodedeclaredfeatures.go:127"},
    {"retries_slow_allocations", &Release::retries_slow_allocations, 36, kNewest,
     "1.36 dynamicresources/dynamicresources.go:857"},
    {"capitalizes_claim_owner", &Release::capitalizes_claim_owner, 36, kNewest,
     "1.36 dynamic-resource-allocation/resourceclaim/resourceclaim.go:137"},
    {"checks_scoring_strategy", &Release::checks_scoring_strategy, 36, kNewest,
     "1.36 pkg/scheduler/apis/config/validation/validation_pluginargs.go:324"},
    {"asks_driver_to_prevent", &Release::asks_driver_to_prevent, 36, kNewest, "1.36 nodevolumelimits/csi.go:368"},
    {"relates_victims_to_preemptor", &Release::relates_victims_to_preemptor, kOldest, 35,
     "1.35 pkg/scheduler/framework/preemption/preemption.go:216"},
    {"is_node_name_first", &Release::is_node_name_first, 37, kNewest,
     "1.37 pkg/scheduler/apis/config/v1/default_plugins.go:35"},
    {"sums_requests_by_source", &Release::sums_requests_by_source, 37, kNewest,
     "1.37 component-helpers/resource/helpers.go, AggregateContainerRequests"},
    {"counts_image_volumes", &Release::counts_image_volumes, 37, kNewest, "1.37 imagelocality/image_locality.go:77"},
    {"resolves_namespace_selectors", &Release::resolves_namespace_selectors, 37, kNewest,
     "1.37 interpodaffinity/plugin.go:138"},
    {"tells_placement_after_preemption", &Release::tells_placement_after_preemption, 37, kNewest,
     "1.37 pkg/scheduler/framework/preemption/preemption.go:196"},
    {"stops_at_first_violated_budget", &Release::stops_at_first_violated_budget, 37, kNewest,
     "1.37 pkg/scheduler/framework/preemption/util.go:196"},
    {"nominates_gated_pods", &Release::nominates_gated_pods, 37, kNewest,
     "1.37 pkg/scheduler/backend/queue/scheduling_queue.go:885"},
    {"wildcards_reach_gated_pods", &Release::wildcards_reach_gated_pods, 37, kNewest,
     "1.37 pkg/scheduler/backend/queue/scheduling_queue.go:1306"},
    {"adds_node_taint_event", &Release::adds_node_taint_event, kOldest, 36, "1.36 pkg/scheduler/scheduler.go:497"},
    {"is_claim_release_silent", &Release::is_claim_release_silent, 37, kNewest,
     "1.37 dynamicresources/dynamicresources.go:1153"},
    {"names_target_pod_events", &Release::names_target_pod_events, 37, kNewest,
     "1.37 pkg/scheduler/framework/events.go:54"},
    {"counts_entities", &Release::counts_entities, 37, kNewest, "1.37 pkg/scheduler/metrics/metrics.go:326"},
    {"scores_pod_level_requests", &Release::scores_pod_level_requests, 38, kNewest, "1.38 noderesources/fit.go:205"},
    {"saturates_scores", &Release::saturates_scores, 38, kNewest,
     "1.38 noderesources/resource_allocation.go:191, requested_to_capacity_ratio.go:34"},
    {"spreads_by_empty_selectors", &Release::spreads_by_empty_selectors, 38, kNewest,
     "1.38 podtopologyspread/common.go:146"},
    {"heeds_empty_budgets", &Release::heeds_empty_budgets, 38, kNewest,
     "1.38 pkg/scheduler/framework/preemption/util.go:207"},
    {"requeues_from_shrunken_nodes", &Release::requeues_from_shrunken_nodes, 38, kNewest,
     "1.38 noderesources/fit.go:498"},
    {"refuses_nodes_without_victims", &Release::refuses_nodes_without_victims, 38, kNewest,
     "1.38 pkg/scheduler/framework/preemption/preemption.go:506"},
    {"orders_victims_by_uid", &Release::orders_victims_by_uid, 38, kNewest,
     "1.38 pkg/scheduler/framework/preemption/util.go, podIdentityLess"},
    {"ranks_victims_by_pod", &Release::ranks_victims_by_pod, 38, kNewest,
     "1.38 pkg/scheduler/framework/preemption/types.go:85"},
    {"checks_group_trees", &Release::checks_group_trees, 38, kNewest,
     "1.38 pkg/scheduler/schedule_one_podgroup.go:174"},
    {"names_failed_groups", &Release::names_failed_groups, 38, kNewest,
     "1.38 pkg/scheduler/schedule_one_podgroup.go:457, schedule_one.go:803, gangscheduling/gangscheduling.go:240"},
    {"holds_gangs_at_permit", &Release::holds_gangs_at_permit, kOldest, 37,
     "1.37 gangscheduling/gangscheduling.go, Permit"},
    {"ranks_nodes_by_victims", &Release::ranks_nodes_by_victims, 38, kNewest,
     "1.38 defaultpreemption/default_preemption.go:531, pkg/scheduler/framework/preemption/util.go, CompareVictimSets"},
    {"tries_nominated_domain_first", &Release::tries_nominated_domain_first, 38, kNewest,
     "1.38 pkg/scheduler/algorithm_podgroup.go, nominatedPlacement"},
    {"ignores_empty_domains", &Release::ignores_empty_domains, 38, kNewest,
     "1.38 topologyaware/topology_placement.go:80"},
    {"writes_composite_conditions", &Release::writes_composite_conditions, 38, kNewest,
     "1.38 pkg/scheduler/schedule_one_podgroup.go, submitCompositePodGroupResult"},
    // Defaults of feature gates.
    {"counts_pod_level_status", &Release::counts_pod_level_status, 36, kNewest,
     "InPlacePodLevelResourcesVerticalScaling"},
    {"announces_nominations", &Release::announces_nominations, 35, kNewest, "NominatedNodeNameForExpectation"},
    {"has_pod_group_preemption_policy", &Release::has_pod_group_preemption_policy, 38, kNewest,
     "PodGroupPreemptionPolicy, which 1.38 does not have"},
};

// Upstream: dynamic-resource-allocation/structured/internal/incubating, of 1.34 .../experimental.
constexpr Row<DeviceRules> kDeviceSwitches[] = {
    {"fails_on_invalid_pools", &DeviceRules::fails_on_invalid_pools, 34, 34, "1.34 allocator_experimental.go:998"},
    {"uses_incomplete_pools", &DeviceRules::uses_incomplete_pools, 34, 34, "1.34 pools_experimental.go:122"},
    {"uses_counter_slices", &DeviceRules::uses_counter_slices, 34, 34, "1.34 pools_experimental.go:59"},
    {"distinct_is_always_met", &DeviceRules::distinct_is_always_met, 34, 34, "1.34 constraint.go:98"},
    {"names_alternative_in_capacity_errors", &DeviceRules::names_alternative_in_capacity_errors, 35, kNewest,
     "1.35 allocator_experimental.go:216"},
    {"keeps_to_alternative", &DeviceRules::keeps_to_alternative, 36, kNewest,
     "1.35 allocator_incubating.go:906 and 187"},
    {"takes_devices_in_order", &DeviceRules::takes_devices_in_order, 36, kNewest, "1.36 allocator_incubating.go:889"},
    {"returns_all_counters", &DeviceRules::returns_all_counters, 36, kNewest, "1.36 allocator_incubating.go:1338"},
    {"counts_counters_of_shares", &DeviceRules::counts_counters_of_shares, 36, kNewest,
     "1.36 allocator_incubating.go:1583"},
    {"are_distinct_in_request", &DeviceRules::are_distinct_in_request, 37, kNewest, "1.37 constraint.go:40"},
    {"counts_by_driver", &DeviceRules::counts_by_driver, 37, kNewest, "1.37 allocator_incubating.go:1570"},
    {"selects_counter_slices", &DeviceRules::selects_counter_slices, 37, kNewest, "1.37 pools_incubating.go:78"},
    {"checks_limit_by_request", &DeviceRules::checks_limit_by_request, 37, kNewest, "1.37 allocator_incubating.go:262"},
    {"names_device_in_selector_errors", &DeviceRules::names_device_in_selector_errors, 37, kNewest,
     "1.37 allocator_incubating.go:1296"},
    {"refuses_odd_capacities", &DeviceRules::refuses_odd_capacities, 37, kNewest, "1.37 consumable_capacity.go:45"},
    {"collects_all_by_static_capacity", &DeviceRules::collects_all_by_static_capacity, 37, kNewest,
     "1.37 allocator_incubating.go:593"},
    {"counts_shares_without_capacity", &DeviceRules::counts_shares_without_capacity, 37, kNewest,
     "1.37 allocator_incubating.go:1687"},
    {"shortens_configurations", &DeviceRules::shortens_configurations, 37, kNewest, "1.37 allocator_incubating.go:448"},
    {"names_container_in_selector_errors", &DeviceRules::names_container_in_selector_errors, kOldest, 37,
     "1.38 cel.dev/cel-go@v0.33.2/checker/errors.go:112, undeclaredReferenceWithSymbols"},
    {"rules_out_node_by_pool", &DeviceRules::rules_out_node_by_pool, 38, kNewest, "1.38 allocator_incubating.go:626"},
    {"completes_capacity_names", &DeviceRules::completes_capacity_names, 38, kNewest,
     "1.38 consumable_capacity.go, resolveCapacityRequests"},
    {"refuses_negative_requests", &DeviceRules::refuses_negative_requests, 38, kNewest,
     "1.38 consumable_capacity.go, calculateConsumedCapacity"},
    {"keeps_shared_devices", &DeviceRules::keeps_shared_devices, 38, kNewest, "1.38 allocator_incubating.go:1680"},
    {"refuses_negative_usage", &DeviceRules::refuses_negative_usage, 38, kNewest,
     "1.38 pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go:89"},
    {"remembers_losing_classes", &DeviceRules::remembers_losing_classes, 38, kNewest,
     "1.38 dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go:177"},
    // Defaults of feature gates.
    {"has_partitionable_devices", &DeviceRules::has_partitionable_devices, 36, kNewest, "DRAPartitionableDevices"},
    {"has_consumable_capacity", &DeviceRules::has_consumable_capacity, 36, kNewest, "DRAConsumableCapacity"},
    {"has_device_taints", &DeviceRules::has_device_taints, 36, kNewest, "DRADeviceTaints"},
    {"has_binding_conditions", &DeviceRules::has_binding_conditions, 36, kNewest, "DRADeviceBindingConditions"},
    {"has_extended_resources", &DeviceRules::has_extended_resources, 36, kNewest, "DRAExtendedResource"},
    {"has_fractional_capacities", &DeviceRules::has_fractional_capacities, 38, kNewest, "DRAFractionalCapacityRange"},
};

TEST(Release, EachSwitchHasItsReleases) {
  for (int minor = kOldestRelease; minor <= kNewestRelease; ++minor) {
    const Release release = ReleaseOf(minor);
    EXPECT_EQ(release.minor, minor);
    EXPECT_EQ(release.devices.minor, minor);
    for (const auto& row : kSwitches)
      EXPECT_EQ(release.*row.is_on, row.first <= minor && minor <= row.last) << row.name << " in 1." << minor;
    for (const auto& row : kDeviceSwitches)
      EXPECT_EQ(release.devices.*row.is_on, row.first <= minor && minor <= row.last) << row.name << " in 1." << minor;
  }
}

// A release becomes another one by the switches of the tables alone: none is missing there.
TEST(Release, TheTablesHaveAllSwitches) {
  for (int minor = kOldestRelease; minor < kNewestRelease; ++minor) {
    Release made = ReleaseOf(minor);
    const Release next = ReleaseOf(minor + 1);
    made.minor = made.devices.minor = minor + 1;
    for (const auto& row : kSwitches) made.*row.is_on = next.*row.is_on;
    for (const auto& row : kDeviceSwitches) made.devices.*row.is_on = next.devices.*row.is_on;
    EXPECT_TRUE(made == next) << "1." << minor + 1;
  }
}

TEST(Release, TheSmallAllocatorIsForTheTimeWithoutShares) {
  EXPECT_FALSE(ReleaseOf(34).devices.HasSmallAllocator());
  EXPECT_TRUE(ReleaseOf(35).devices.HasSmallAllocator());
  EXPECT_FALSE(ReleaseOf(36).devices.HasSmallAllocator());
  DeviceRules rules(36);
  rules.has_consumable_capacity = false;
  EXPECT_FALSE(rules.HasSmallAllocator()) << "devices may still wait";
  rules.has_binding_conditions = false;
  EXPECT_TRUE(rules.HasSmallAllocator());
}

}  // namespace
}  // namespace berth::framework
