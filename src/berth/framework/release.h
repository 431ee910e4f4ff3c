// SPDX-License-Identifier: Apache-2.0
// Release: the differences between the releases of kube-scheduler that berth follows, one named switch for each, with
// the releases that have it, in each struct in the order of the releases that brought them. One that only consists in
// the default of a feature gate follows the gate (core/config/feature_gates.h). docs/reference/versions.md lists the
// switches with upstream's lines, and what berth does not follow; release_test.cc holds each switch to its releases.
// Plain values.
#pragma once

namespace berth::framework {

// The minor versions of Kubernetes 1.x whose kube-scheduler berth follows.
inline constexpr int kOldestRelease = 34;
inline constexpr int kNewestRelease = 38;
// The one that is followed where neither a cluster nor a flag says which.
inline constexpr int kDefaultRelease = 36;

// Since(37): this release is 1.37 or newer. Before(37): it is older. They make the switches below, and nothing that
// decides asks for the number.
struct ByRelease {
  constexpr explicit ByRelease(int minor_in) : minor(minor_in) {}
  constexpr bool Since(int first) const { return minor >= first; }
  constexpr bool Before(int first) const { return minor < first; }
  bool operator==(const ByRelease&) const = default;

  int minor;
};

// Feature gates of devices, with their defaults; FeatureGates sets what the user says.
struct DeviceGates : ByRelease {
  using ByRelease::ByRelease;

  // DRAPartitionableDevices: devices with counters or nodes of their own.
  bool has_partitionable_devices = Since(36);
  // DRAConsumableCapacity: devices that several claims share.
  bool has_consumable_capacity = Since(36);
  // DRADeviceTaints: tainted devices are for requests that tolerate the taints.
  bool has_device_taints = Since(36);
  // DRADeviceBindingConditions: pods wait until their devices are ready.
  bool has_binding_conditions = Since(36);
  // DRAExtendedResource: a DeviceClass may stand behind an extended resource.
  bool has_extended_resources = Since(36);
  // DRAFractionalCapacityRange: steps of shared capacity may be fractions.
  bool has_fractional_capacities = Since(38);

  // Upstream has a smaller allocator for the time in which nothing is shared and nothing waits. It knows nothing of
  // distinctAttribute, and does not look at requests for capacity. 1.34 never takes it.
  constexpr bool HasSmallAllocator() const { return Since(35) && !has_consumable_capacity && !has_binding_conditions; }

  bool operator==(const DeviceGates&) const = default;
};

// Differences in the allocation of devices.
struct DeviceRules : DeviceGates {
  constexpr DeviceRules() : DeviceRules(kDefaultRelease) {}
  constexpr explicit DeviceRules(int minor_in) : DeviceGates(minor_in) {}

  // --- 1.34 alone.
  // A pool that contradicts itself is an error where the search meets it, instead of being passed over.
  bool fails_on_invalid_pools = Before(35);
  // Slices for other nodes are not looked at: a pool that has some counts as being updated, and is used all the same.
  bool uses_incomplete_pools = Before(35);
  // Where devices cannot be partitioned, a slice with shared counters is still used for the devices that it has.
  bool uses_counter_slices = Before(35);
  // distinctAttribute compares places in memory instead of values, so that no two values are the same.
  bool distinct_is_always_met = Before(35);

  // --- 1.35.
  // The error about an alternative's request for capacity names the alternative, not the request.
  bool names_alternative_in_capacity_errors = Since(35);

  // --- 1.36.
  // An alternative that asks for all devices stays the one that is tried after its first device, and its selectors are
  // remembered as its own.
  bool keeps_to_alternative = Since(36);
  // The devices of one request are taken in ascending order. Before, the search began with the first device each time,
  // so that a request could have several shares of one device.
  bool takes_devices_in_order = Since(36);
  // A device that is given back, or refused by a taint or a constraint, returns its counters. Before, a refused and a
  // shared one kept them until the end of the search on the node.
  bool returns_all_counters = Since(36);
  // A device of which only shares are in use has taken its counters.
  bool counts_counters_of_shares = Since(36);

  // --- 1.37.
  // distinctAttribute compares with all devices of the constraint instead of the last one of each request.
  bool are_distinct_in_request = Since(37);
  // Shared counters belong to a pool of one driver instead of all pools with the same name.
  bool counts_by_driver = Since(37);
  // The node selection of a slice with shared counters applies as for other slices, so that a pool without devices
  // for the node is ignored.
  bool selects_counter_slices = Since(37);
  // The limit of devices per claim is checked for each request.
  bool checks_limit_by_request = Since(37);
  // Errors of CEL selectors name the device, and explain how to guard against a missing key.
  bool names_device_in_selector_errors = Since(37);
  // A capacity that cannot be represented or is negative is an error, instead of a device that does not fit.
  bool refuses_odd_capacities = Since(37);
  // With allocationMode All, a device is selected by its total capacity instead of its remaining one.
  bool collects_all_by_static_capacity = Since(37);
  // A shared device that is used without any capacity counts as in use: its counters are not consumed twice.
  bool counts_shares_without_capacity = Since(37);
  // A configuration that applies to all requests is written without naming them, and no configuration is written
  // twice.
  bool shortens_configurations = Since(37);

  // --- 1.38.
  // Until 1.37, errors of CEL selectors about an unknown name say in which container it was looked for.
  bool names_container_in_selector_errors = Before(38);
  // With allocationMode All, a pool that is invalid or being updated rules out the node instead of ending the cycle.
  bool rules_out_node_by_pool = Since(38);
  // A request's capacity may be named with the driver as its domain where the device names it without, and the other
  // way round.
  bool completes_capacity_names = Since(38);
  // A request for a negative capacity is an error even if the device's policy would round it up.
  bool refuses_negative_requests = Since(38);
  // A device that is no longer shared is not given to anybody while a share of it is in use.
  bool keeps_shared_devices = Since(38);
  // A share of less than nothing, which hides what others use, is an error for all pods whose claims need devices.
  bool refuses_negative_usage = Since(38);
  // Classes that want the name of one extended resource are all remembered: the next one takes it when its holder goes,
  // and each keeps the name of its own.
  bool remembers_losing_classes = Since(38);

  bool operator==(const DeviceRules&) const = default;
};

// Other feature gates, as FeatureGates (core/config/feature_gates.h) sets them. Those that are false here have their
// default there.
struct ReleaseGates : ByRelease {
  using ByRelease::ByRelease;

  // StorageCapacityScoring: VolumeBinding scores nodes by the free capacity of their storage.
  bool scores_storage_capacity = false;
  // InPlacePodLevelResourcesVerticalScaling: what a running pod has been given as a whole counts.
  bool counts_pod_level_status = Since(36);
  // NominatedNodeNameForExpectation: the node of a pod that binds slowly is announced before it is bound.
  bool announces_nominations = Since(35);
  // GenericWorkload: pods that name a PodGroup are scheduled as a group, and preempted as one.
  bool has_pod_groups = false;
  // TopologyAwareWorkloadScheduling: a group with topology constraints is placed within one domain.
  bool places_pod_groups_by_topology = false;
  // CompositePodGroup: groups of groups.
  bool has_composite_pod_groups = false;
  // PodGroupPreemptionPolicy, which 1.38 no longer asks for: a group's own policy decides if it may preempt.
  bool has_pod_group_preemption_policy = Since(38);
  // DRAWorkloadResourceClaims: ResourceClaims are reserved for a whole group.
  bool has_pod_group_claims = false;
  // DRADeviceTaintRules: taints of DeviceTaintRules count like those of the devices' slices.
  bool reads_device_taint_rules = false;
  // VolumeLimitScaling: a node without the driver of a new volume is refused if the driver requests that.
  bool scales_volume_limits = false;

  bool operator==(const ReleaseGates&) const = default;
};

// What 1.35 and 1.36 brought.
struct SwitchesUntil136 : ReleaseGates {
  using ReleaseGates::ReleaseGates;

  // --- 1.35.
  // DynamicResources scores nodes by the alternatives that their devices satisfy.
  bool scores_devices = Since(35);

  // --- 1.36.
  // NodeResourcesBalancedAllocation scores what the pod changes in the balance, instead of the balance with it.
  bool scores_change_of_balance = Since(36);
  // ImageLocality counts the images of volumes.
  bool scores_image_volumes = Since(36);
  // NodeDeclaredFeatures does not name the features that a node lacks.
  bool hides_missing_features = Since(36);
  // A pod for which the search for devices took too long is tried again after its back-off, instead of waiting for an
  // event.
  bool retries_slow_allocations = Since(36);
  // Texts write the kind of a claim's owner with a capital letter.
  bool capitalizes_claim_owner = Since(36);
  // The type of a scoring strategy is required, and requestedToCapacityRatio is refused beside another one.
  bool checks_scoring_strategy = Since(36);
  // VolumeLimitScaling refuses a node without the driver only if the CSIDriver asks for that.
  bool asks_driver_to_prevent = Since(36);
  // kubernetes_build_info is a metric of the stage BETA instead of ALPHA, as its help says.
  bool is_build_info_beta = Since(36);
  // Preemption, until 1.35: a victim's event Preempted has the preemptor as `related`; since, in its text.
  bool relates_victims_to_preemptor = Before(36);

  bool operator==(const SwitchesUntil136&) const = default;
};

// What 1.37 brought.
struct SwitchesOf137 : SwitchesUntil136 {
  using SwitchesUntil136::SwitchesUntil136;

  // NodeName comes before NodeUnschedulable among the default plugins.
  bool is_node_name_first = Since(37);
  // With container statuses a pod requests the largest of three sums (specs, allocated, actuated amounts) instead of
  // the sum of each container's largest amounts; statuses of ordinary init containers count as well.
  bool sums_requests_by_source = Since(37);
  // ImageLocality's upper threshold grows with image volumes, as it does with containers.
  bool counts_image_volumes = Since(37);
  // A term of the incoming pod matches pods of exactly the namespaces that its namespaceSelector selects, even if the
  // selector matches an empty set of labels.
  bool resolves_namespace_selectors = Since(37);
  // The condition of a pod that preempts says where it may run then, and how many victims there are.
  bool tells_placement_after_preemption = Since(37);
  // Preemption: the check of a victim stops at the first budget that it violates; later ones are not decremented.
  bool stops_at_first_violated_budget = Since(37);
  // The nomination of a gated pod counts for other pods.
  bool nominates_gated_pods = Since(37);
  // Wildcard events, including the flush of unschedulable pods, reach gated pods whatever the gating plugin has
  // registered for; after a flush the time starts again.
  bool wildcards_reach_gated_pods = Since(37);
  // Until 1.36, plugins that register Node/Add also get Node/UpdateNodeTaint.
  bool adds_node_taint_event = Before(37);
  // DynamicResources' PostFilter gives no reason when it frees no claim.
  bool is_claim_release_silent = Since(37);
  // Events about pods without a node are named UnscheduledPod, or TargetPod if the pod itself changed.
  bool names_target_pod_events = Since(37);
  // Metrics also count scheduling entities that wait or enter the queue; claims made for extended resources are counted
  // under another name.
  bool counts_entities = Since(37);

  bool operator==(const SwitchesOf137&) const = default;
};

// All switches.
struct Release : SwitchesOf137 {
  constexpr Release() : Release(kDefaultRelease) {}
  constexpr explicit Release(int minor_in) : SwitchesOf137(minor_in) {}

  // --- 1.38.
  // NodeResourcesFit scores by what a pod requests as a whole, where it does.
  bool scores_pod_level_requests = Since(38);
  // Sums of amounts that are scored stop at the largest number, and shares of them are exact.
  bool saturates_scores = Since(38);
  // An empty labelSelector of a spreading constraint counts all pods of the namespace, where it counted none.
  bool spreads_by_empty_selectors = Since(38);
  // Preemption: a PodDisruptionBudget with an empty selector holds for all pods of the namespace, and budgets hold for
  // pods without labels.
  bool heeds_empty_budgets = Since(38);
  // A pod waits no longer for its nominated node when that has become too small for it.
  bool requeues_from_shrunken_nodes = Since(38);
  // A node on which the pod would fit without victims is refused for preemption, instead of being an error.
  bool refuses_nodes_without_victims = Since(38);
  // Preemption: of victims that started at the same time, the one with the smaller UID is the more important.
  bool orders_victims_by_uid = Since(38);
  // A victim has the priority of its pod, and not of its pod group; evicted alone, it ranks below pod groups.
  bool ranks_victims_by_pod = Since(38);
  // Pod groups are checked as trees: all pods and groups agree with the root, and a gang has no groups without a
  // minimum.
  bool checks_group_trees = Since(38);
  // Of a group that cannot be placed, pods and the groups below say its name, and it says how many of its members fail.
  bool names_failed_groups = Since(38);
  // Until 1.37, GangScheduling holds the pods of a gang back at Permit until enough of them are there.
  bool holds_gangs_at_permit = Before(38);
  // When room is made for a pod group, its pods go first to the nodes where the least has to be evicted for them.
  bool ranks_nodes_by_victims = Since(38);
  // A pod group with topology constraints is tried first in the one domain that its pods are nominated for.
  bool tries_nominated_domain_first = Since(38);
  // A node whose topology label is empty is in no domain of a pod group.
  bool ignores_empty_domains = Since(38);
  // CompositePodGroups get a condition, too.
  bool writes_composite_conditions = Since(38);

  DeviceRules devices{minor};

  bool operator==(const Release&) const = default;
};

// All switches of the minor version.
constexpr Release ReleaseOf(int minor) { return Release(minor); }

}  // namespace berth::framework
