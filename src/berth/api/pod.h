// SPDX-License-Identifier: Apache-2.0
// Pod: what scheduling reads of a core/v1 Pod. A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/selector.h"

namespace berth::api {

struct ContainerPort {
  std::int32_t host_port = 0;
  std::string host_ip;
  std::string protocol;  // empty counts as TCP
  bool operator==(const ContainerPort&) const = default;
};

struct Container {
  std::string name;
  std::string image;
  std::vector<ContainerPort> ports;
  ResourceList requests;
  // A restartable init container (sidecar): restartPolicy Always.
  bool restart_always = false;
  // One of its restartPolicyRules has the action RestartAllContainers.
  bool restarts_all_containers = false;
  bool operator==(const Container&) const = default;
};

struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
  bool operator==(const PreferredSchedulingTerm&) const = default;
};

struct NodeAffinity {
  // nullopt: no requirement. Empty: matches no node.
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<PreferredSchedulingTerm> preferred;
  bool operator==(const NodeAffinity&) const = default;
};

enum class TaintEffect : std::uint8_t { kNone, kNoSchedule, kPreferNoSchedule, kNoExecute, kUnknown };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNone;
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;
  std::string op;  // "", "Equal", "Exists"
  std::string value;
  TaintEffect effect = TaintEffect::kNone;  // kNone tolerates every effect
  bool operator==(const Toleration&) const = default;

  // corev1.Toleration.ToleratesTaint.
  bool Tolerates(const Taint& taint) const;
};

enum class PreemptionPolicy : std::uint8_t { kPreemptLowerPriority, kNever };

// A term of podAffinity or podAntiAffinity. It lacks matchLabelKeys and mismatchLabelKeys, which the API server has
// merged into the selector.
struct PodAffinityTerm {
  std::optional<LabelSelector> selector;  // nullopt: matches no pod
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  // nullopt: none; empty: all namespaces
  std::string topology_key;
  bool operator==(const PodAffinityTerm&) const = default;
};

struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm term;
  bool operator==(const WeightedPodAffinityTerm&) const = default;
};

// spec.affinity.podAffinity or podAntiAffinity.
struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  bool empty() const { return required.empty() && preferred.empty(); }
  bool operator==(const PodAffinity&) const = default;
};

enum class UnsatisfiableConstraintAction : std::uint8_t { kDoNotSchedule, kScheduleAnyway, kUnknown };
enum class NodeInclusionPolicy : std::uint8_t { kHonor, kIgnore };

struct TopologySpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  UnsatisfiableConstraintAction when_unsatisfiable = UnsatisfiableConstraintAction::kDoNotSchedule;
  std::optional<LabelSelector> selector;  // nullopt: matches no pod
  std::optional<std::int32_t> min_domains;
  std::optional<NodeInclusionPolicy> node_affinity_policy;  // nullopt: Honor
  std::optional<NodeInclusionPolicy> node_taints_policy;    // nullopt: Ignore
  std::vector<std::string> match_label_keys;
  bool operator==(const TopologySpreadConstraint&) const = default;
};

// The kinds of volume that matter to scheduling.
enum class VolumeKind : std::uint8_t {
  kOther,
  kPersistentVolumeClaim,
  kEphemeral,  // a claim created for the pod, named POD-VOLUME
  kCsi,
  kLocal,
  kGcePersistentDisk,
  kAwsElasticBlockStore,
  kIscsi,
  kRbd,
  kAzureDisk,
  kAzureFile,
  kCinder,
  kPortworx,
  kVsphere,
};

// Identifies the storage behind a volume of a pod, or behind a PersistentVolume.
struct VolumeSource {
  VolumeKind kind = VolumeKind::kOther;
  // Depends on the kind: the claim's name, the CSI volumeHandle, the local path, pdName, volumeID, iqn, the RBD image,
  // diskURI, volumePath, or "secretName#shareName" for kAzureFile.
  std::string id;
  std::string driver;                 // kCsi
  std::string pool;                   // kRbd
  std::vector<std::string> monitors;  // kRbd
  bool read_only = false;
  std::optional<std::string> disk_kind = {};  // kAzureDisk: Shared, Dedicated, Managed
  bool operator==(const VolumeSource&) const = default;
};

struct Volume {
  std::string name;
  VolumeSource source;
  bool operator==(const Volume&) const = default;
};

// spec.resourceClaims: a claim by name, or by a template.
struct PodResourceClaim {
  std::string name;
  std::optional<std::string> claim_name;
  std::optional<std::string> template_name;
  bool operator==(const PodResourceClaim&) const = default;
};

struct PodSpec {
  std::string node_name;
  std::string scheduler_name;
  std::optional<std::int32_t> priority;
  PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  StringMap node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::vector<Toleration> tolerations;
  std::vector<Container> init_containers;
  std::vector<Container> containers;
  std::vector<std::string> image_volumes;  // references of image volumes
  ResourceList overhead;
  ResourceList requests;  // pod-level spec.resources.requests
  std::vector<std::string> scheduling_gates;
  std::string pod_group_name;  // schedulingGroup.podGroupName; empty: no group
  PodAffinity pod_affinity;
  PodAffinity pod_anti_affinity;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<Volume> volumes;  // without kOther
  std::vector<PodResourceClaim> resource_claims;
  bool host_network = false;
  bool host_users = true;
  bool operator==(const PodSpec&) const = default;
};

// Requests that the kubelet reports, for in-place resize. Only statuses with such requests are kept.
struct ContainerStatus {
  std::string name;
  std::optional<ResourceList> requests;             // status.resources.requests (actuated)
  std::optional<ResourceList> allocated_resources;  // status.allocatedResources
  bool operator==(const ContainerStatus&) const = default;
};

// status.resourceClaimStatuses: the claim created from a template; nullopt: none was needed.
struct PodResourceClaimStatus {
  std::string name;
  std::optional<std::string> claim_name;
  bool operator==(const PodResourceClaimStatus&) const = default;
};

// status.extendedResourceClaimStatus: the claim for extended resources, and the part of each container.
struct ContainerExtendedResourceRequest {
  std::string container_name;
  std::string resource_name;
  std::string request_name;
  bool operator==(const ContainerExtendedResourceRequest&) const = default;
};
struct PodExtendedResourceClaimStatus {
  std::string claim_name;
  std::vector<ContainerExtendedResourceRequest> request_mappings;
  bool operator==(const PodExtendedResourceClaimStatus&) const = default;
};

enum class PodPhase : std::uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };

struct PodCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  bool operator==(const PodCondition&) const = default;
};

struct PodStatus {
  PodPhase phase = PodPhase::kUnknown;
  std::string nominated_node_name;
  std::optional<Time> start_time;
  // PodScheduled, DisruptionTarget and PodResizePending only.
  std::vector<PodCondition> conditions;
  std::vector<ContainerStatus> container_statuses;  // of containers and init containers
  std::optional<ContainerStatus> pod_resources;     // pod-level status.resources and status.allocatedResources
  std::vector<PodResourceClaimStatus> resource_claim_statuses;
  std::optional<PodExtendedResourceClaimStatus> extended_resource_claim_status;

  const PodCondition* FindCondition(std::string_view type) const;
  bool operator==(const PodStatus&) const = default;
};

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  bool operator==(const Pod&) const = default;
};

inline constexpr std::string_view kDefaultSchedulerName = "default-scheduler";

}  // namespace berth::api
