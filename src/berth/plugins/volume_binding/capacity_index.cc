// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/capacity_index.h"

#include <algorithm>

namespace berth::plugins::volumes {
namespace {

std::string KeyOf(const api::CsiStorageCapacity& capacity) {
  return CapacityIndex::Store::Key(capacity.metadata.namespace_name, capacity.metadata.name);
}

}  // namespace

std::optional<std::int64_t> VolumeLimitOf(const api::CsiStorageCapacity& capacity) {
  const auto& limit = capacity.maximum_volume_size ? capacity.maximum_volume_size : capacity.capacity;
  return limit ? std::optional(limit->Value()) : std::nullopt;
}

std::shared_ptr<const CapacityIndex> CapacityIndex::Make(const Store& store) {
  const auto index = std::make_shared<CapacityIndex>();
  for (const auto& [key, capacity] : store) index->Add(*capacity);
  store.Listen([weak = std::weak_ptr<CapacityIndex>(index)](const Ptr& before, const Ptr& after) {
    const auto self = weak.lock();
    if (!self) return;
    if (before) self->Remove(*before);
    if (after) self->Add(*after);
  });
  return index;
}

const CapacityIndex::Class* CapacityIndex::Find(std::string_view storage_class) const {
  const auto it = classes_.find(storage_class);
  return it == classes_.end() ? nullptr : &it->second;
}

void CapacityIndex::Add(const api::CsiStorageCapacity& capacity) {
  const auto limit = VolumeLimitOf(capacity);
  if (!limit || !capacity.node_topology) return;
  const auto& requirements = capacity.node_topology->requirements;
  // A selector that is none selects no node.
  if (!std::all_of(requirements.begin(), requirements.end(), [](const auto& r) { return r.Validate().ok(); })) return;
  classes_[capacity.storage_class_name].insert_or_assign(
      KeyOf(capacity), Entry{*limit, capacity.capacity ? capacity.capacity->Value() : 0, {requirements, {}}});
}

void CapacityIndex::Remove(const api::CsiStorageCapacity& capacity) {
  const auto it = classes_.find(capacity.storage_class_name);
  if (it == classes_.end()) return;
  it->second.erase(KeyOf(capacity));
  if (it->second.empty()) classes_.erase(it);
}

}  // namespace berth::plugins::volumes
