// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/own_claims.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "berth/whatif/pod_templates.h"

namespace berth::whatif {
namespace {

// Annotations that are written when a claim is bound or a node is chosen for it.
constexpr std::array<std::string_view, 5> kOfBinding = {
    "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"};

std::shared_ptr<const api::PersistentVolumeClaim> Unbound(const api::PersistentVolumeClaim& claim) {
  auto fresh = std::make_shared<api::PersistentVolumeClaim>(claim);
  fresh->volume_name.clear();
  fresh->phase = "Pending";
  api::StringMap annotations;
  for (const auto& [key, value] : claim.metadata.annotations) {
    if (std::ranges::find(kOfBinding, key) == kOfBinding.end()) annotations.Set(key, value);
  }
  fresh->metadata.annotations = std::move(annotations);
  return fresh;
}

std::shared_ptr<api::ResourceClaim> Unallocated(const api::ResourceClaim& claim) {
  auto fresh = std::make_shared<api::ResourceClaim>(claim);
  fresh->allocation.reset();
  fresh->reserved_for.clear();
  fresh->devices.clear();
  return fresh;
}

// The name of the claim behind an entry of spec.resourceClaims; empty: it has none (yet).
std::string ClaimNameOf(const api::Pod& pod, const api::PodResourceClaim& entry) {
  if (entry.claim_name) return *entry.claim_name;
  for (const api::PodResourceClaimStatus& status : pod.status.resource_claim_statuses) {
    if (status.name == entry.name) return status.claim_name.value_or("");
  }
  return {};
}

// A name for what is made anew: uids are too long for it, and claims of one pod have different ends.
void Rename(api::ObjectMeta& meta, const std::string& name, std::string_view kind) {
  meta.name = name;
  meta.uid = SimulatedUid(kind, meta.namespace_name, name);
  meta.controller.reset();
  meta.resource_version.clear();
}

}  // namespace

OwnClaims::OwnClaims(const api::Pod& pod, const framework::Objects& objects, bool of_set) {
  const std::string& space = pod.metadata.namespace_name;
  const bool is_of_set = of_set && pod.metadata.controller && pod.metadata.controller->kind == "StatefulSet";
  for (const api::Volume& volume : pod.spec.volumes) {
    std::string name;
    if (volume.source.kind == api::VolumeKind::kEphemeral) {
      name = pod.metadata.name + '-' + volume.name;
    } else if (is_of_set && volume.source.kind == api::VolumeKind::kPersistentVolumeClaim &&
               volume.source.id == volume.name + '-' + pod.metadata.name) {
      name = volume.source.id;
    }
    if (name.empty()) continue;
    const auto* const claim = objects.Of<api::PersistentVolumeClaim>().Find(space, name);
    if (claim != nullptr) volumes_.emplace_back(volume.name, Unbound(*claim));
  }
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (!entry.template_name) continue;
    const std::string name = ClaimNameOf(pod, entry);
    const auto* const claim = objects.Of<api::ResourceClaim>().Find(space, name);
    if (claim != nullptr) {
      auto fresh = Unallocated(*claim);
      fresh->finalizers.clear();
      fresh->owners.clear();
      resources_.emplace_back(entry.name, std::move(fresh));
    } else if (missing_.empty()) {
      missing_ = "the claim of its ResourceClaimTemplate " + *entry.template_name + " is not known";
    }
  }
}

void OwnClaims::Give(api::Pod& pod, const std::string& name, std::vector<framework::AnyObject>& objects) const {
  for (const auto& [volume, of] : volumes_) {
    const auto at = std::ranges::find(pod.spec.volumes, volume, &api::Volume::name);
    if (at == pod.spec.volumes.end()) continue;
    auto claim = std::make_shared<api::PersistentVolumeClaim>(*of);
    Rename(claim->metadata, name + '-' + volume, "pvc");
    at->source = {};
    at->source.kind = api::VolumeKind::kPersistentVolumeClaim;
    at->source.id = claim->metadata.name;
    objects.emplace_back(std::shared_ptr<const api::PersistentVolumeClaim>(std::move(claim)));
  }
  std::erase_if(pod.spec.volumes,
                [](const api::Volume& each) { return each.source.kind == api::VolumeKind::kEphemeral; });
  for (const auto& [entry, of] : resources_) {
    const auto at = std::ranges::find(pod.spec.resource_claims, entry, &api::PodResourceClaim::name);
    if (at == pod.spec.resource_claims.end()) continue;
    auto claim = std::make_shared<api::ResourceClaim>(*of);
    Rename(claim->metadata, name + '-' + entry, "claim");
    at->template_name.reset();
    at->claim_name = claim->metadata.name;
    objects.emplace_back(std::shared_ptr<const api::ResourceClaim>(std::move(claim)));
  }
}

void ReleaseResourceClaims(scheduler::Overlay& overlay, const api::Pod& pod, std::size_t serial) {
  std::vector<std::string> names;
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) names.push_back(ClaimNameOf(pod, entry));
  if (pod.status.extended_resource_claim_status) names.push_back(pod.status.extended_resource_claim_status->claim_name);
  for (const std::string& name : names) {
    const std::string key = pod.metadata.namespace_name + '/' + name;
    const auto claim = overlay.objects().Of<api::ResourceClaim>().Get(key);
    if (claim == nullptr) continue;
    auto released = std::make_shared<api::ResourceClaim>(*claim);
    std::erase_if(released->reserved_for, [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; });
    if (released->reserved_for.empty()) {
      released = Unallocated(*claim);
      // Another uid: the allocation that a plugin has in mind for it does not count any more.
      released->metadata.uid += "-again-" + std::to_string(serial);
    }
    overlay.SetObject(std::shared_ptr<const api::ResourceClaim>(std::move(released)));
  }
}

}  // namespace berth::whatif
