// SPDX-License-Identifier: Apache-2.0
// CapacityIndex: CSIStorageCapacity objects by storage class, checked once and kept up to date with the store. Within
// turns only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/framework/objects.h"

namespace berth::plugins::volumes {

// The largest volume that the capacity allows, in bytes: maximumVolumeSize is more exact than capacity, and goes first.
std::optional<std::int64_t> VolumeLimitOf(const api::CsiStorageCapacity& capacity);

class CapacityIndex {
 public:
  using Ptr = std::shared_ptr<const api::CsiStorageCapacity>;
  using Store = framework::ObjectStore<api::CsiStorageCapacity>;

  struct Entry {
    std::int64_t limit_bytes = 0;
    // What is left, for scoring. Without a word about it, which kube-scheduler 1.37.2 crashes of, 0.
    std::int64_t capacity_bytes = 0;
    api::NodeSelectorTerm nodes;  // from which it can be used; no expressions: all
  };
  using Class = std::map<std::string, Entry>;

  // `store` must outlive the index.
  static std::shared_ptr<const CapacityIndex> Make(const Store& store);

  // The class's capacities that say how much there is and where; null when there are none.
  const Class* Find(std::string_view storage_class) const;

 private:
  void Add(const api::CsiStorageCapacity& capacity);
  void Remove(const api::CsiStorageCapacity& capacity);

  std::map<std::string, Class, std::less<>> classes_;
};

}  // namespace berth::plugins::volumes
