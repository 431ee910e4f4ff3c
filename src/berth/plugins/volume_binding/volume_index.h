// SPDX-License-Identifier: Apache-2.0
// VolumeIndex: PersistentVolumes by storage class, kept up to date with the store, so that a claim looks at the free
// volumes of its class alone. Within turns only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/objects.h"
#include "berth/plugins/helper/storage_class.h"
#include "berth/plugins/volume_binding/volume_affinity.h"

namespace berth::plugins::volumes {

// spec.capacity.storage; 0 when it says nothing.
api::Quantity CapacityOf(const api::PersistentVolume& volume);

class VolumeIndex {
 public:
  using Ptr = std::shared_ptr<const api::PersistentVolume>;
  using Store = framework::ObjectStore<api::PersistentVolume>;

  struct FreeVolume {
    Ptr volume;
    VolumeAffinity affinity;
  };
  struct Class {
    // Available, without claimRef, not being deleted. Smallest first; equal ones by name.
    std::map<std::pair<api::Quantity, std::string>, FreeVolume> free;
    // Volumes with a claimRef, by "namespace/name" of the claim, then by name.
    std::map<std::string, std::map<std::string, Ptr>, std::less<>> claimed;
  };

  // `store` must outlive the index.
  static std::shared_ptr<const VolumeIndex> Make(const Store& store);

  // The volumes of the class, or null when it has none.
  const Class* Find(std::string_view storage_class) const;

 private:
  void Add(const Ptr& volume);
  void Remove(const Ptr& volume);

  std::map<std::string, Class, std::less<>> classes_;
};

}  // namespace berth::plugins::volumes
