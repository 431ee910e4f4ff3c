// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_devices.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace berth::page {
namespace {

framework::Resource Devices(const std::map<std::string, std::int64_t>& by_driver) {
  framework::Resource devices;
  for (const auto& [driver, count] : by_driver) devices.scalars.emplace_back(driver + "/devices", count);
  return devices;
}

std::string KeyOf(std::string_view namespace_name, std::string_view name) {
  return std::string(namespace_name) + "/" + std::string(name);
}

}  // namespace

void FleetDevices::SetSlice(const api::ResourceSlice& slice) {
  const std::string& name = slice.metadata.name;
  Slice now = SliceOf(slice);
  const std::lock_guard lock(mutex_);
  Slice& known = slices_[name];
  const Slice before = std::exchange(known, std::move(now));
  for (const auto& [node, count] : known.devices) slices_of_[node].insert(name);
  for (const auto& [node, count] : before.devices) {
    if (known.devices.contains(node)) continue;
    slices_of_[node].erase(name);
    TellNode(node);
  }
  for (const auto& [node, count] : known.devices) TellNode(node);
}

void FleetDevices::RemoveSlice(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = slices_.find(name);
  if (known == slices_.end()) return;
  const Slice before = std::move(known->second);
  for (const auto& [node, count] : before.devices) slices_of_[node].erase(known->first);
  slices_.erase(known);
  for (const auto& [node, count] : before.devices) {
    TellNode(node);
    if (slices_of_[node].empty()) slices_of_.erase(node);
  }
}

void FleetDevices::SetClaim(const api::ResourceClaim& claim) {
  Held held = HeldBy(claim);
  if (held.uid.empty()) return RemoveClaim(claim.metadata.namespace_name, claim.metadata.name);
  std::string key = KeyOf(claim.metadata.namespace_name, claim.metadata.name);
  const std::lock_guard lock(mutex_);
  Held& known = held_[key];
  const Held before = std::exchange(known, held);
  if (!before.uid.empty() && before.uid != held.uid) {
    claims_of_[before.uid].erase(key);
    TellPod(before);
  }
  claims_of_[held.uid].insert(std::move(key));
  TellPod(held);
}

void FleetDevices::RemoveClaim(std::string_view namespace_name, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = held_.find(KeyOf(namespace_name, name));
  if (known == held_.end()) return;
  const Held before = std::move(known->second);
  claims_of_[before.uid].erase(known->first);
  held_.erase(known);
  TellPod(before);
  if (claims_of_[before.uid].empty()) claims_of_.erase(before.uid);
}

void FleetDevices::Set(const framework::AnyObject& object) {
  if (const auto* const slice = std::get_if<std::shared_ptr<const api::ResourceSlice>>(&object)) SetSlice(**slice);
  if (const auto* const claim = std::get_if<std::shared_ptr<const api::ResourceClaim>>(&object)) SetClaim(**claim);
}

void FleetDevices::Remove(framework::ObjectKind kind, const std::string& key) {
  if (kind == framework::ObjectKind::kResourceSlice) RemoveSlice(key);
  if (kind != framework::ObjectKind::kResourceClaim) return;
  const std::size_t slash = key.find('/');
  RemoveClaim(key.substr(0, slash), key.substr(slash + 1));
}

FleetDevices::Held FleetDevices::HeldBy(const api::ResourceClaim& claim) {
  const auto pod = std::ranges::find(claim.reserved_for, "pods", &api::ClaimConsumer::resource);
  if (!claim.allocation || pod == claim.reserved_for.end()) return {};
  std::map<std::string, std::int64_t> count;
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    if (!result.admin_access && !result.share_id) ++count[result.driver];
  }
  // Others that it is reserved for hold the same devices.
  return {claim.metadata.namespace_name, pod->name, pod->uid, Devices(count)};
}

FleetDevices::Slice FleetDevices::SliceOf(const api::ResourceSlice& slice) {
  Slice kept{slice.driver, slice.pool_name, slice.pool_generation, {}};
  for (const api::Device& device : slice.devices) {
    const api::DeviceNodes& nodes = slice.per_device_node_selection ? device.nodes : slice.nodes;
    if (nodes.node_name && !device.allow_multiple_allocations) ++kept.devices[*nodes.node_name];
  }
  return kept;
}

void FleetDevices::TellNode(const std::string& node) const {
  // Slices of an older generation of their pool are about to go.
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> newest;
  const std::set<std::string>& names = slices_of_.at(node);
  for (const std::string& name : names) {
    const Slice& slice = slices_.find(name)->second;
    std::int64_t& generation = newest[{slice.driver, slice.pool}];
    generation = std::max(generation, slice.generation);
  }
  std::map<std::string, std::int64_t> count;
  for (const std::string& name : names) {
    const Slice& slice = slices_.find(name)->second;
    if (slice.generation == newest[{slice.driver, slice.pool}]) count[slice.driver] += slice.devices.at(node);
  }
  fleet_.SetNodeDevices(node, Devices(count));
}

void FleetDevices::TellPod(const Held& holder) const {
  framework::Resource devices;
  for (const std::string& claim : claims_of_.at(holder.uid)) devices.Add(held_.find(claim)->second.devices);
  fleet_.SetPodDevices(holder.namespace_name, holder.pod, holder.uid, std::move(devices));
}

}  // namespace berth::page
