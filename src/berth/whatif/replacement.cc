// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/replacement.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/whatif/placement.h"

namespace berth::whatif {
namespace {

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::string_view kTemplateHash = "pod-template-hash";

}  // namespace

bool IsMirrorPod(const api::Pod& pod) { return pod.metadata.annotations.Find(kMirrorAnnotation) != nullptr; }

PodKind KindOf(const api::Pod& pod) {
  if (IsMirrorPod(pod)) return PodKind::kStatic;
  if (!pod.metadata.controller) return PodKind::kBare;
  const api::OwnerReference& owner = *pod.metadata.controller;
  return owner.kind == "DaemonSet" && owner.api_version == "apps/v1" ? PodKind::kDaemon : PodKind::kOwned;
}

std::string OwnerOf(const api::Pod& pod) {
  return pod.metadata.controller ? pod.metadata.controller->kind + " " + pod.metadata.controller->name : "";
}

TopOwner TopOwnerOf(const api::Pod& pod) {
  if (!pod.metadata.controller) return {};
  const api::OwnerReference& owner = *pod.metadata.controller;
  const std::string* const hash = pod.metadata.labels.Find(kTemplateHash);
  if (owner.kind == "ReplicaSet" && hash != nullptr && !hash->empty() && owner.name.ends_with("-" + *hash))
    return {"Deployment", owner.name.substr(0, owner.name.size() - hash->size() - 1)};
  return {owner.kind, owner.name};
}

std::string NoProfileCalled(const std::string& scheduler_name) {
  return "no profile is called \"" + scheduler_name + "\" (--config gives a configuration that has it)";
}

void DropOwnVolumes(api::Pod& pod) {
  std::erase_if(pod.spec.volumes,
                [](const api::Volume& volume) { return volume.source.kind == api::VolumeKind::kEphemeral; });
}

Replacement MakeReplacement(scheduler::Overlay& overlay, const api::Pod& pod) {
  if (std::ranges::any_of(pod.spec.resource_claims, [](const auto& claim) { return claim.template_name.has_value(); }))
    return {nullptr, "its resource claims are made anew for each pod"};
  api::Pod fresh = AsNew(pod, "replacement-of-" + pod.metadata.uid);
  DropOwnVolumes(fresh);
  framework::PodInfoPtr made = overlay.MakePod(fresh);
  if (overlay.ProfileOf(*made) == nullptr) return {nullptr, NoProfileCalled(pod.spec.scheduler_name)};
  return {std::move(made), {}};
}

}  // namespace berth::whatif
