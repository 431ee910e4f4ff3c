// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_classes.h"

#include "berth/framework/pod_requests.h"

namespace berth::plugins {
namespace {

std::string OwnResource(const api::DeviceClass& device_class) {
  return std::string(kDeviceClassResourcePrefix) + device_class.metadata.name;
}

// Whether `candidate` takes the name from its holder: the newer class does, then the smaller name.
bool TakesOver(const api::DeviceClass& candidate, const api::DeviceClass& holder) {
  const Time a = candidate.metadata.creation_time.value_or(Time{});
  const Time b = holder.metadata.creation_time.value_or(Time{});
  return a != b ? a > b : candidate.metadata.name < holder.metadata.name;
}

}  // namespace

bool IsDeviceBackedResourceName(std::string_view name) {
  return name.starts_with(kDeviceClassResourcePrefix) || framework::IsExtendedResourceName(name);
}

void DeviceClasses::ChooseHolder(const std::string& resource) {
  const auto wanted = candidates_.find(resource);
  Ptr best;
  for (const auto& [name, candidate] : wanted->second) {
    if (best == nullptr || TakesOver(*candidate, *best)) best = candidate;
  }
  if (best == nullptr) {
    candidates_.erase(wanted);
    by_resource_.erase(resource);
  } else {
    by_resource_[resource] = best;
  }
}

void DeviceClasses::Changed(const Ptr& before, const Ptr& after) {
  ++version_;
  if (!has_extended_resources_) return;
  if (remembers_losers_) {
    if (before != nullptr && before->extended_resource_name) {
      candidates_[*before->extended_resource_name].erase(before->metadata.name);
      ChooseHolder(*before->extended_resource_name);
    }
    if (after != nullptr && after->extended_resource_name) {
      candidates_[*after->extended_resource_name][after->metadata.name] = after;
      ChooseHolder(*after->extended_resource_name);
    }
    if (after != nullptr) {
      by_resource_[OwnResource(*after)] = after;
    } else {
      by_resource_.erase(OwnResource(*before));
    }
    return;
  }
  if (after != nullptr && after->extended_resource_name) {
    const auto holder = by_resource_.find(*after->extended_resource_name);
    if (holder != by_resource_.end() && !TakesOver(*after, *holder->second)) return;
  }
  if (before != nullptr) {
    by_resource_.erase(OwnResource(*before));
    if (before->extended_resource_name) by_resource_.erase(*before->extended_resource_name);
  }
  if (after == nullptr) return;
  if (after->extended_resource_name) by_resource_[*after->extended_resource_name] = after;
  by_resource_[OwnResource(*after)] = after;
}

}  // namespace berth::plugins
