// SPDX-License-Identifier: Apache-2.0
// Release: what the code of kube-scheduler's releases does differently, one named switch for each difference. What a
// release only changes by the default of a feature gate follows the gate (core/config/feature_gates.h).
// docs/reference/versions.md lists the switches with upstream's lines. Plain values.
#pragma once

namespace berth::framework {

// The minor versions of Kubernetes 1.x whose kube-scheduler berth follows.
inline constexpr int kOldestRelease = 36;
inline constexpr int kNewestRelease = 37;

struct Release {
  int minor = kOldestRelease;

  // NodeName comes before NodeUnschedulable among the default plugins.
  bool is_node_name_first = false;
  // With container statuses a pod requests the largest of three sums (specs, allocated, actuated amounts), not the sum
  // of each container's largest amounts; ordinary init containers' statuses count as well.
  bool sums_requests_by_source = false;
  // ImageLocality's upper threshold grows with image volumes, as it does with containers.
  bool counts_image_volumes = false;
  // A term of the incoming pod matches pods of the namespaces that its namespaceSelector selects, and no others, also
  // where the selector matches an empty set of labels.
  bool resolves_namespace_selectors = false;
  // A pod that preempts says in its condition where it may run then, and how many victims there are.
  bool tells_placement_after_preemption = false;
  // A pod's violation of a budget is found at the first budget that it overdraws, and the others keep their count.
  bool stops_at_first_violated_budget = false;
  // The nomination of a pod that a PreEnqueue plugin holds back counts for other pods.
  bool nominates_gated_pods = false;
  // Wildcard events, the flush of pods that have waited long among them, reach pods that a PreEnqueue plugin holds
  // back, whatever that plugin has registered for; after a flush the time counts anew.
  bool wildcards_reach_gated_pods = false;
  // Plugins that register Node/Add hear of Node/UpdateNodeTaint, too.
  bool adds_node_taint_event = true;
  // DynamicResources' PostFilter gives no reason when it frees no claim.
  bool is_claim_release_silent = false;
  // Events about pods without a node are called UnscheduledPod, and TargetPod where the pod itself changed.
  bool names_target_pod_events = false;
  // Metrics count what waits and comes into the queue as scheduling entities, too; claims that are made for extended
  // resources are counted under another name.
  bool counts_entities = false;

  // Of the allocation of devices.
  struct Devices {
    // distinctAttribute compares with all devices of the constraint, not with the last one of each request.
    bool are_distinct_in_request = false;
    // Shared counters are those of a pool of one driver, not of all pools with the same name.
    bool counts_by_driver = false;
    // A slice with shared counters matters to a node by its node selection, as other slices do, so that a pool without
    // devices for the node is not looked at.
    bool selects_counter_slices = false;
    // The limit of devices per claim is checked request by request.
    bool checks_limit_by_request = false;
    // Errors of CEL selectors name the device, and say how to guard against a missing key.
    bool names_device_in_selector_errors = false;
    // An amount of capacity that cannot be represented, or is negative, is an error and not a device that does not fit.
    bool refuses_odd_capacities = false;
    // With allocationMode All, a device belongs to the request by the capacity that it has, not by what is left of it.
    bool collects_all_by_static_capacity = false;
    // A shared device that is in use without any capacity counts as in use: its counters are not taken twice.
    bool counts_shares_without_capacity = false;
    // A configuration that applies to all requests is written without naming them, and none is written twice.
    bool shortens_configurations = false;
    bool operator==(const Devices&) const = default;
  };
  Devices devices;

  // By feature gate StorageCapacityScoring: VolumeBinding scores nodes by what their storage has room for.
  bool scores_storage_capacity = false;
  // By feature gates. GenericWorkload: pods that name a PodGroup are scheduled as a group, and preempted as one.
  bool has_pod_groups = false;
  // TopologyAwareWorkloadScheduling: a group with topology constraints is placed within one domain.
  bool places_pod_groups_by_topology = false;
  // CompositePodGroup: groups of groups.
  bool has_composite_pod_groups = false;
  // PodGroupPreemptionPolicy: whether a group may preempt is the group's to say.
  bool has_pod_group_preemption_policy = false;
  // DRAWorkloadResourceClaims: ResourceClaims are reserved for a whole group.
  bool has_pod_group_claims = false;
  // By feature gate DRADeviceTaintRules: taints of DeviceTaintRules count like those of the devices' slices.
  bool reads_device_taint_rules = false;
  // By feature gate VolumeLimitScaling: a node without the driver of a new volume is refused, if the driver wants that.
  bool scales_volume_limits = false;

  bool operator==(const Release&) const = default;
};

// All switches of the minor version; those of gates are off.
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
