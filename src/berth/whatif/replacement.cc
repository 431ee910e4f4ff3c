// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/replacement.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/whatif/own_claims.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/workload_view.h"

namespace berth::whatif {
namespace {

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

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
  const WorkloadView workload = WorkloadViewOf(pod);
  return {std::string(workload.kind), std::string(workload.name)};
}

std::string NoProfileCalled(const std::string& scheduler_name) {
  return "no profile is called \"" + scheduler_name + "\" (--config gives a configuration that has it)";
}

Replacement MakeReplacement(scheduler::Overlay& overlay, const api::Pod& pod, const std::string& name) {
  const OwnClaims claims(pod, overlay.objects(), false);
  if (!claims.missing().empty()) return {nullptr, claims.missing()};
  api::Pod fresh = AsNew(pod, name);
  std::vector<framework::AnyObject> objects;
  claims.Give(fresh, name, objects);
  framework::PodInfoPtr made = overlay.MakePod(fresh);
  if (overlay.ProfileOf(*made) == nullptr) return {nullptr, NoProfileCalled(pod.spec.scheduler_name)};
  for (framework::AnyObject& object : objects) overlay.SetObject(std::move(object));
  return {std::move(made), {}, !objects.empty()};
}

void RemoveWithClaims(scheduler::Overlay& overlay, const api::Pod& pod) {
  overlay.RemovePod(pod.metadata.uid);
  ReleaseResourceClaims(overlay, pod, overlay.mark());
}

}  // namespace berth::whatif
