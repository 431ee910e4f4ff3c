// SPDX-License-Identifier: Apache-2.0
// DeviceClasses: which DeviceClass stands behind the name of an extended resource. Within turns only.
// Upstream: dynamic-resource-allocation/deviceclass/extendedresourcecache.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/api/resource_claim.h"
#include "berth/base/hash_map.h"
#include "berth/framework/release.h"

namespace berth::plugins {

// The prefix of the name by which every class is an extended resource of its own.
inline constexpr std::string_view kDeviceClassResourcePrefix = "deviceclass.resource.kubernetes.io/";

// Names that a class can stand behind.
bool IsDeviceBackedResourceName(std::string_view name);

class DeviceClasses {
 public:
  using Ptr = std::shared_ptr<const api::DeviceClass>;

  explicit DeviceClasses(const framework::DeviceRules& rules = framework::DeviceRules())
      : has_extended_resources_(rules.has_extended_resources), remembers_losers_(rules.remembers_losing_classes) {}

  // The store's listener: null before an addition, null after a deletion. Before DeviceRules::remembers_losing_classes
  // the mapping depends on the order of the changes, as upstream's does: a class that loses an extended resource's name
  // to a newer one does not get the name of its own either, and gets neither back when the winner is deleted.
  void Changed(const Ptr& before, const Ptr& after);

  // The class that provides the resource, or null.
  Ptr Find(std::string_view resource) const {
    const auto it = by_resource_.find(resource);
    return it == by_resource_.end() ? nullptr : it->second;
  }
  bool empty() const { return by_resource_.empty(); }
  // Grows with each change.
  std::uint64_t version() const { return version_; }

 private:
  // Gives the resource to the best of its candidates.
  void ChooseHolder(const std::string& resource);

  const bool has_extended_resources_;
  const bool remembers_losers_;
  StringHashMap<Ptr> by_resource_;
  // The classes that want the resource, by its name and theirs. Empty unless losers are remembered.
  StringHashMap<std::map<std::string, Ptr>> candidates_;
  std::uint64_t version_ = 0;
};

}  // namespace berth::plugins
