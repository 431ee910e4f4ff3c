// SPDX-License-Identifier: Apache-2.0
// Pod. Private to this folder.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/fields_storage.h"
#include "berth/api/pod.h"

namespace berth::api::internal {

// --- Containers ------------------------------------------------------------------------------------------------------

template <>
inline constexpr auto kFields<ContainerPort> = Fields{
    Field{"hostPort", 2, &ContainerPort::host_port},
    Field{"protocol", 4, &ContainerPort::protocol},
    Field{"hostIP", 5, &ContainerPort::host_ip},
};

struct ContainerRestartRule {
  std::string_view action;
};
template <>
inline constexpr auto kFields<ContainerRestartRule> = Fields{Field{"action", 1, &ContainerRestartRule::action}};

inline void SetRestartPolicy(Container& out, std::string_view policy) { out.restart_always = policy == "Always"; }
inline void RecordRestartRule(Container& out, ContainerRestartRule&& rule) {
  if (rule.action == "RestartAllContainers") out.restarts_all_containers = true;
}
template <>
inline constexpr auto kFields<Container> = Fields{
    Field{"name", 1, &Container::name},
    Field{"image", 2, &Container::image},
    Field{"ports", 6, &Container::ports},
    Field{"resources", 8, As<ResourceRequirements>(&Container::requests)},
    Field{"restartPolicy", 24, &SetRestartPolicy},
    Field{"restartPolicyRules", 25, Each{&RecordRestartRule}},
};

// --- Affinity, tolerations, spreading --------------------------------------------------------------------------------

inline constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
inline constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

template <>
inline constexpr auto kFields<PreferredSchedulingTerm> = Fields{
    Field{"weight", 1, &PreferredSchedulingTerm::weight},
    Field{"preference", 2, &PreferredSchedulingTerm::preference},
};
template <>
inline constexpr auto kFields<NodeAffinity> = Fields{
    Field{kRequired, 1, As<NodeSelector>(&NodeAffinity::required)},
    Field{kPreferred, 2, &NodeAffinity::preferred},
};

template <>
inline constexpr auto kFields<PodAffinityTerm> = Fields{
    Field{"labelSelector", 1, &PodAffinityTerm::selector},
    Field{"namespaces", 2, &PodAffinityTerm::namespaces},
    Field{"topologyKey", 3, &PodAffinityTerm::topology_key},
    Field{"namespaceSelector", 4, &PodAffinityTerm::namespace_selector},
};
template <>
inline constexpr auto kFields<WeightedPodAffinityTerm> = Fields{
    Field{"weight", 1, &WeightedPodAffinityTerm::weight},
    Field{"podAffinityTerm", 2, &WeightedPodAffinityTerm::term},
};
// Also the fields of a PodAntiAffinity.
template <>
inline constexpr auto kFields<PodAffinity> = Fields{
    Field{kRequired, 1, &PodAffinity::required},
    Field{kPreferred, 2, &PodAffinity::preferred},
};

template <>
inline constexpr auto kFields<Toleration> = Fields{
    Field{"key", 1, &Toleration::key},
    Field{"operator", 2, &Toleration::op},
    Field{"value", 3, &Toleration::value},
    Field{"effect", 4, &Toleration::effect},
};

template <>
inline constexpr auto kFields<TopologySpreadConstraint> = Fields{
    Field{"maxSkew", 1, &TopologySpreadConstraint::max_skew},
    Field{"topologyKey", 2, &TopologySpreadConstraint::topology_key},
    Field{"whenUnsatisfiable", 3, &TopologySpreadConstraint::when_unsatisfiable},
    Field{"labelSelector", 4, &TopologySpreadConstraint::selector},
    Field{"minDomains", 5, &TopologySpreadConstraint::min_domains},
    Field{"nodeAffinityPolicy", 6, &TopologySpreadConstraint::node_affinity_policy},
    Field{"nodeTaintsPolicy", 7, &TopologySpreadConstraint::node_taints_policy},
    Field{"matchLabelKeys", 8, &TopologySpreadConstraint::match_label_keys},
};

// --- Volumes ---------------------------------------------------------------------------------------------------------

// Stored as its reference.
struct ImageVolumeSource;
template <>
inline constexpr auto kFields<ImageVolumeSource> = Fields{Field{"reference", 1, Self{}}};

struct VolumeParts {
  std::string_view name;
  VolumeSource source;
  std::optional<std::string_view> image;
};
template <VolumeKind kVolumeKind>
inline constexpr auto kPodSource = As<SourceOf<kVolumeKind>>(&VolumeParts::source);
template <>
inline constexpr auto kFields<VolumeParts> = Fields{
    Field{"name", 1, &VolumeParts::name},
    Inlined{2,
            Fields{
                Field{"gcePersistentDisk", 3, kPodSource<VolumeKind::kGcePersistentDisk>},
                Field{"awsElasticBlockStore", 4, kPodSource<VolumeKind::kAwsElasticBlockStore>},
                Field{"iscsi", 8, kPodSource<VolumeKind::kIscsi>},
                Field{"persistentVolumeClaim", 10, kPodSource<VolumeKind::kPersistentVolumeClaim>},
                Field{"rbd", 11, kPodSource<VolumeKind::kRbd>},
                Field{"cinder", 13, kPodSource<VolumeKind::kCinder>},
                Field{"azureFile", 18, kPodSource<VolumeKind::kAzureFile>},
                Field{"vsphereVolume", 20, kPodSource<VolumeKind::kVsphere>},
                Field{"azureDisk", 22, kPodSource<VolumeKind::kAzureDisk>},
                Field{"portworxVolume", 24, kPodSource<VolumeKind::kPortworx>},
                Field{"csi", 28, kPodSource<VolumeKind::kCsi>},
                Field{"ephemeral", 29, kPodSource<VolumeKind::kEphemeral>},
                Field{"image", 30, As<ImageVolumeSource>(&VolumeParts::image)},
            }},
};
// Keeps only volumes whose kind matters to scheduling.
inline void KeepVolume(PodSpec& out, VolumeParts&& volume) {
  if (volume.image) out.image_volumes.emplace_back(*volume.image);
  if (volume.source.kind == VolumeKind::kOther) return;
  out.volumes.push_back({std::string(volume.name), std::move(volume.source)});
}
inline void ForgetVolumes(PodSpec& out) {
  out.volumes.clear();
  out.image_volumes.clear();
}

// --- Spec ------------------------------------------------------------------------------------------------------------

// Stored as its name.
struct PodSchedulingGate;
template <>
inline constexpr auto kFields<PodSchedulingGate> = Fields{Field{"name", 1, Self{}}};

template <>
inline constexpr auto kFields<PodResourceClaim> = Fields{
    Field{"name", 1, &PodResourceClaim::name},
    Field{"resourceClaimName", 3, &PodResourceClaim::claim_name},
    Field{"resourceClaimTemplateName", 4, &PodResourceClaim::template_name},
};

template <>
inline constexpr auto kFields<PodSpec> = Fields{
    Field{"volumes", 1, Each{&KeepVolume, &ForgetVolumes}},
    Field{"containers", 2, &PodSpec::containers},
    Field{"nodeSelector", 7, &PodSpec::node_selector},
    Field{"nodeName", 10, &PodSpec::node_name},
    Field{"hostNetwork", 11, &PodSpec::host_network},
    Field{"affinity", 18,
          Fields{
              Field{"nodeAffinity", 1, &PodSpec::node_affinity},
              Field{"podAffinity", 2, &PodSpec::pod_affinity},
              Field{"podAntiAffinity", 3, &PodSpec::pod_anti_affinity},
          }},
    Field{"schedulerName", 19, &PodSpec::scheduler_name},
    Field{"initContainers", 20, &PodSpec::init_containers},
    Field{"tolerations", 22, &PodSpec::tolerations},
    Field{"priority", 25, &PodSpec::priority},
    Field{"preemptionPolicy", 31, &PodSpec::preemption_policy},
    Field{"overhead", 32, &PodSpec::overhead},
    Field{"topologySpreadConstraints", 33, &PodSpec::topology_spread_constraints},
    Field{"hostUsers", 37, &PodSpec::host_users},
    Field{"schedulingGates", 38, ListOf<PodSchedulingGate>(&PodSpec::scheduling_gates)},
    Field{"resourceClaims", 39, &PodSpec::resource_claims},
    Field{"resources", 40, As<ResourceRequirements>(&PodSpec::requests)},
    Field{"schedulingGroup", 43, Fields{Field{"podGroupName", 1, &PodSpec::pod_group_name}}},
};

// --- Status ----------------------------------------------------------------------------------------------------------

struct PodConditionParts {
  std::string_view type;
  std::string_view status;
  std::string_view reason;
  std::string_view message;
};
template <>
inline constexpr auto kFields<PodConditionParts> = Fields{
    Field{"type", 1, &PodConditionParts::type},
    Field{"status", 2, &PodConditionParts::status},
    Field{"reason", 5, &PodConditionParts::reason},
    Field{"message", 6, &PodConditionParts::message},
};
// Keeps only conditions that scheduling reads.
inline void KeepCondition(PodStatus& out, PodConditionParts&& c) {
  if (c.type != "PodScheduled" && c.type != "DisruptionTarget" && c.type != "PodResizePending") return;
  out.conditions.push_back({std::string(c.type), std::string(c.status), std::string(c.reason), std::string(c.message)});
}

struct ContainerStatusParts {
  std::string_view name;
  std::optional<ResourceList> requests;
  std::optional<ResourceList> allocated_resources;
};
template <>
inline constexpr auto kFields<ContainerStatusParts> = Fields{
    Field{"name", 1, &ContainerStatusParts::name},
    Field{"allocatedResources", 10, &ContainerStatusParts::allocated_resources},
    // If `resources` has no requests, the container requests nothing, because upstream reads a nil map.
    Field{"resources", 11, As<ResourceRequirements>(&ContainerStatusParts::requests)},
};
// Keeps only statuses with resources.
inline void KeepContainerStatus(PodStatus& out, ContainerStatusParts&& status) {
  if (!status.requests && !status.allocated_resources) return;
  out.container_statuses.push_back(
      {std::string(status.name), std::move(status.requests), std::move(status.allocated_resources)});
}

template <>
inline constexpr auto kFields<PodResourceClaimStatus> = Fields{
    Field{"name", 1, &PodResourceClaimStatus::name},
    Field{"resourceClaimName", 2, &PodResourceClaimStatus::claim_name},
};
template <>
inline constexpr auto kFields<ContainerExtendedResourceRequest> = Fields{
    Field{"containerName", 1, &ContainerExtendedResourceRequest::container_name},
    Field{"resourceName", 2, &ContainerExtendedResourceRequest::resource_name},
    Field{"requestName", 3, &ContainerExtendedResourceRequest::request_name},
};
template <>
inline constexpr auto kFields<PodExtendedResourceClaimStatus> = Fields{
    Field{"requestMappings", 1, &PodExtendedResourceClaimStatus::request_mappings},
    Field{"resourceClaimName", 2, &PodExtendedResourceClaimStatus::claim_name},
};

template <>
inline constexpr auto kFields<PodStatus> = Fields{
    Field{"phase", 1, &PodStatus::phase},
    Field{"conditions", 2, Each{&KeepCondition}},
    Field{"startTime", 7, &PodStatus::start_time},
    Field{"containerStatuses", 8, Each{&KeepContainerStatus}},
    Field{"initContainerStatuses", 10, Each{&KeepContainerStatus}},
    Field{"nominatedNodeName", 11, &PodStatus::nominated_node_name},
    Field{"resourceClaimStatuses", 15, &PodStatus::resource_claim_statuses},
    Field{"extendedResourceClaimStatus", 18, &PodStatus::extended_resource_claim_status},
    Field{"allocatedResources", 19, Via{&PodStatus::pod_resources, &ContainerStatus::allocated_resources}},
    Field{"resources", 20, As<ResourceRequirements>(Via{&PodStatus::pod_resources, &ContainerStatus::requests})},
};
// Sorted by name, because JSON and protobuf have the two lists of statuses in different orders.
template <>
inline constexpr auto kAfter<PodStatus> = [](PodStatus& out) {
  const auto by_name = [](const ContainerStatus& a, const ContainerStatus& b) { return a.name < b.name; };
  auto& statuses = out.container_statuses;
  if (!std::is_sorted(statuses.begin(), statuses.end(), by_name)) {
    std::stable_sort(statuses.begin(), statuses.end(), by_name);
  }
};

template <>
inline constexpr std::string_view kKind<Pod> = "Pod";
template <>
inline constexpr auto kFields<Pod> = Fields{
    Field{"metadata", 1, &Pod::metadata},
    Field{"spec", 2, &Pod::spec},
    Field{"status", 3, &Pod::status},
};

}  // namespace berth::api::internal
