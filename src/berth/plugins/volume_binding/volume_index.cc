// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_index.h"

namespace berth::plugins::volumes {
namespace {

constexpr std::string_view kAvailable = "Available";

std::string ClaimKey(const api::ClaimReference& claim) { return claim.namespace_name + "/" + claim.name; }

bool IsFree(const api::PersistentVolume& volume) {
  return volume.phase == kAvailable && !volume.metadata.deletion_time;
}

}  // namespace

api::Quantity CapacityOf(const api::PersistentVolume& volume) {
  const api::Quantity* capacity = api::FindResource(volume.spec.capacity, "storage");
  return capacity == nullptr ? api::Quantity() : *capacity;
}

std::shared_ptr<const VolumeIndex> VolumeIndex::Make(const Store& store) {
  const auto index = std::make_shared<VolumeIndex>();
  for (const auto& [key, volume] : store) index->Add(volume);
  store.Listen([weak = std::weak_ptr<VolumeIndex>(index)](const Ptr& before, const Ptr& after) {
    const auto self = weak.lock();
    if (!self) return;
    if (before) self->Remove(before);
    if (after) self->Add(after);
  });
  return index;
}

const VolumeIndex::Class* VolumeIndex::Find(std::string_view storage_class) const {
  const auto it = classes_.find(storage_class);
  return it == classes_.end() ? nullptr : &it->second;
}

void VolumeIndex::Add(const Ptr& volume) {
  if (volume->spec.claim_ref) {
    classes_[ClassOf(*volume)].claimed[ClaimKey(*volume->spec.claim_ref)][volume->metadata.name] = volume;
  } else if (IsFree(*volume)) {
    classes_[ClassOf(*volume)].free.insert_or_assign({CapacityOf(*volume), volume->metadata.name},
                                                     FreeVolume{volume, VolumeAffinity(volume->spec.node_affinity)});
  }
}

void VolumeIndex::Remove(const Ptr& volume) {
  const auto entry = classes_.find(ClassOf(*volume));
  if (entry == classes_.end()) return;
  Class& in = entry->second;
  if (volume->spec.claim_ref) {
    const auto claim = in.claimed.find(ClaimKey(*volume->spec.claim_ref));
    if (claim != in.claimed.end()) {
      claim->second.erase(volume->metadata.name);
      if (claim->second.empty()) in.claimed.erase(claim);
    }
  } else {
    in.free.erase({CapacityOf(*volume), volume->metadata.name});
  }
  if (in.free.empty() && in.claimed.empty()) classes_.erase(entry);
}

}  // namespace berth::plugins::volumes
