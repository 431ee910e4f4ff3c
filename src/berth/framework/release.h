// SPDX-License-Identifier: Apache-2.0
// Release: the differences between the releases of kube-scheduler, one named switch for each. A difference that only
// consists in the default of a feature gate follows the gate (core/config/feature_gates.h). docs/reference/versions.md
// lists the switches with upstream's lines. Plain values.
#pragma once

namespace berth::framework {

// The minor versions of Kubernetes 1.x whose kube-scheduler berth follows.
inline constexpr int kOldestRelease = 36;
inline constexpr int kNewestRelease = 37;

struct Release {
  int minor = kOldestRelease;

  // NodeName comes before NodeUnschedulable among the default plugins.
  bool is_node_name_first = false;
  // With container statuses a pod requests the largest of three sums (specs, allocated, actuated amounts) instead of
  // the sum of each container's largest amounts; statuses of ordinary init containers count as well.
  bool sums_requests_by_source = false;
  // ImageLocality's upper threshold grows with image volumes, as it does with containers.
  bool counts_image_volumes = false;
  // A term of the incoming pod matches pods of exactly the namespaces that its namespaceSelector selects, even if the
  // selector matches an empty set of labels.
  bool resolves_namespace_selectors = false;
  // The condition of a pod that preempts says where it may run then, and how many victims there are.
  bool tells_placement_after_preemption = false;
  // The check of a pod stops at the first budget that it violates, so that later budgets are not decremented.
  bool stops_at_first_violated_budget = false;
  // The nomination of a gated pod counts for other pods.
  bool nominates_gated_pods = false;
  // Wildcard events, including the flush of unschedulable pods, reach gated pods whatever the gating plugin has
  // registered for; after a flush the time starts again.
  bool wildcards_reach_gated_pods = false;
  // Plugins that register Node/Add also get Node/UpdateNodeTaint.
  bool adds_node_taint_event = true;
  // DynamicResources' PostFilter gives no reason when it frees no claim.
  bool is_claim_release_silent = false;
  // Events about pods without a node are named UnscheduledPod, or TargetPod if the pod itself changed.
  bool names_target_pod_events = false;
  // Metrics also count scheduling entities that wait or enter the queue; claims made for extended resources are counted
  // under another name.
  bool counts_entities = false;

  // Differences in the allocation of devices.
  struct Devices {
    // distinctAttribute compares with all devices of the constraint instead of the last one of each request.
    bool are_distinct_in_request = false;
    // Shared counters belong to a pool of one driver instead of all pools with the same name.
    bool counts_by_driver = false;
    // The node selection of a slice with shared counters applies as for other slices, so that a pool without devices
    // for the node is ignored.
    bool selects_counter_slices = false;
    // The limit of devices per claim is checked for each request.
    bool checks_limit_by_request = false;
    // Errors of CEL selectors name the device, and explain how to guard against a missing key.
    bool names_device_in_selector_errors = false;
    // A capacity that cannot be represented or is negative is an error, instead of a device that does not fit.
    bool refuses_odd_capacities = false;
    // With allocationMode All, a device is selected by its total capacity instead of its remaining one.
    bool collects_all_by_static_capacity = false;
    // A shared device that is used without any capacity counts as in use: its counters are not consumed twice.
    bool counts_shares_without_capacity = false;
    // A configuration that applies to all requests is written without naming them, and no configuration is written
    // twice.
    bool shortens_configurations = false;
    bool operator==(const Devices&) const = default;
  };
  Devices devices;

  // Feature gate StorageCapacityScoring: VolumeBinding scores nodes by the free capacity of their storage.
  bool scores_storage_capacity = false;
  // Feature gates. GenericWorkload: pods that name a PodGroup are scheduled as a group, and preempted as one.
  bool has_pod_groups = false;
  // TopologyAwareWorkloadScheduling: a group with topology constraints is placed within one domain.
  bool places_pod_groups_by_topology = false;
  // CompositePodGroup: groups of groups.
  bool has_composite_pod_groups = false;
  // PodGroupPreemptionPolicy: a group's own policy decides if it may preempt.
  bool has_pod_group_preemption_policy = false;
  // DRAWorkloadResourceClaims: ResourceClaims are reserved for a whole group.
  bool has_pod_group_claims = false;
  // Feature gate DRADeviceTaintRules: taints of DeviceTaintRules count like those of the devices' slices.
  bool reads_device_taint_rules = false;
  // Feature gate VolumeLimitScaling: a node without the driver of a new volume is refused if the driver requests that.
  bool scales_volume_limits = false;

  bool operator==(const Release&) const = default;
};

// All switches of the minor version; those of feature gates are off.
constexpr Release ReleaseOf(int minor) {
  Release release;
  release.minor = minor;
  if (minor < 37) return release;
  release.is_node_name_first = true;
  release.sums_requests_by_source = true;
  release.counts_image_volumes = true;
  release.resolves_namespace_selectors = true;
  release.tells_placement_after_preemption = true;
  release.stops_at_first_violated_budget = true;
  release.nominates_gated_pods = true;
  release.wildcards_reach_gated_pods = true;
  release.adds_node_taint_event = false;
  release.is_claim_release_silent = true;
  release.names_target_pod_events = true;
  release.counts_entities = true;
  release.devices = {true, true, true, true, true, true, true, true, true};
  return release;
}

}  // namespace berth::framework
