// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/simulated_claims.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "berth/api/resource_claim.h"
#include "berth/framework/object_kinds.h"

namespace berth::whatif {
namespace {

using Claims = framework::ObjectStore<api::PersistentVolumeClaim>;

constexpr std::string_view kExtendedResourceClaim = "resource.kubernetes.io/extended-resource-claim";

// The keys of the PersistentVolumeClaims that the pod uses.
std::set<std::string> VolumeClaimsOf(const api::Pod& pod) {
  std::set<std::string> keys;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.source.kind == api::VolumeKind::kPersistentVolumeClaim)
      keys.insert(Claims::Key(pod.metadata.namespace_name, volume.source.id));
    if (volume.source.kind == api::VolumeKind::kEphemeral)
      keys.insert(Claims::Key(pod.metadata.namespace_name, pod.metadata.name + '-' + volume.name));
  }
  return keys;
}

}  // namespace

SimulatedClaims::SimulatedClaims(OfflineCluster& cluster) : cluster_(cluster) {
  for (const auto& [key, claim] : cluster.objects().Of<api::PersistentVolumeClaim>()) {
    if (claim->volume_name.empty()) waiting_claims_.emplace(key, claim);
  }
  for (const auto& [name, volume] : cluster.objects().Of<api::PersistentVolume>()) {
    if (volume->phase != "Bound") free_volumes_.emplace(name, volume);
  }
}

void SimulatedClaims::Release(const api::Pod& pod, const api::Pod* anew) {
  const auto is_its = [&](const api::ClaimConsumer& consumer) { return consumer.uid == pod.metadata.uid; };
  const auto is_owned_by_pod = [&](const api::ResourceClaim& claim) {
    return claim.metadata.controller && claim.metadata.controller->uid == pod.metadata.uid;
  };
  // Pointers of their own: what follows changes the store.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const auto& [key, claim] : cluster_.objects().Of<api::ResourceClaim>()) {
    if (is_owned_by_pod(*claim) || std::ranges::any_of(claim->reserved_for, is_its)) claims.push_back(claim);
  }
  for (const auto& claim : claims) {
    const bool is_owned = is_owned_by_pod(*claim);
    // The scheduler itself makes the claim of an extended resource, and makes another one for another pod.
    const bool is_of_extended_resource = claim->metadata.annotations.Find(kExtendedResourceClaim) != nullptr;
    if (is_owned && (anew == nullptr || is_of_extended_resource)) {
      cluster_.RemoveObject(framework::ObjectKind::kResourceClaim, framework::KeyOf(framework::AnyObject(claim)));
      continue;
    }
    auto released = std::make_shared<api::ResourceClaim>(*claim);
    // Without a newer version it would not replace what the plugin remembers to have written.
    released->metadata.resource_version = cluster_.NextVersion();
    std::erase_if(released->reserved_for, is_its);
    if (released->reserved_for.empty()) {
      released->allocation.reset();
      released->devices.clear();
    }
    if (is_owned) {
      released->metadata.controller->uid = anew->metadata.uid;
      for (api::OwnerReference& owner : released->owners) {
        if (owner.uid == pod.metadata.uid) owner.uid = anew->metadata.uid;
      }
    }
    cluster_.SetObject(std::shared_ptr<const api::ResourceClaim>(std::move(released)));
  }
}

void SimulatedClaims::UnbindVolumes(const std::vector<PodPtr>& pending, const std::vector<PodPtr>& placed) {
  std::set<std::string> unused;
  for (const PodPtr& pod : pending) unused.merge(VolumeClaimsOf(*pod));
  if (unused.empty()) return;
  for (const PodPtr& pod : placed) {
    for (const std::string& key : VolumeClaimsOf(*pod)) unused.erase(key);
  }
  for (const std::string& key : unused) {
    const auto before = waiting_claims_.find(key);
    const auto bound = cluster_.objects().Of<api::PersistentVolumeClaim>().Get(key);
    if (before == waiting_claims_.end() || bound == nullptr || bound == before->second) continue;
    auto claim = std::make_shared<api::PersistentVolumeClaim>(*before->second);
    claim->metadata.resource_version = cluster_.NextVersion();
    cluster_.SetObject(std::shared_ptr<const api::PersistentVolumeClaim>(std::move(claim)));
    if (cluster_.objects().Of<api::PersistentVolume>().Find(bound->volume_name) == nullptr) continue;
    const auto free = free_volumes_.find(bound->volume_name);
    if (free == free_volumes_.end()) {  // it was provisioned
      cluster_.RemoveObject(framework::ObjectKind::kPersistentVolume, bound->volume_name);
      continue;
    }
    auto volume = std::make_shared<api::PersistentVolume>(*free->second);
    volume->metadata.resource_version = cluster_.NextVersion();
    cluster_.SetObject(std::shared_ptr<const api::PersistentVolume>(std::move(volume)));
  }
}

}  // namespace berth::whatif
