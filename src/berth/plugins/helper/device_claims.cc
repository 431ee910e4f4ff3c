// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_claims.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth::plugins {
namespace {

constexpr std::string_view kExtendedResourceClaimAnnotation = "resource.kubernetes.io/extended-resource-claim";

std::string KeyOf(const api::ResourceClaim& claim) {
  return DeviceClaims::Store::Key(claim.metadata.namespace_name, claim.metadata.name);
}

std::optional<std::int64_t> Version(const api::ResourceClaim& claim) {
  const std::string& text = claim.metadata.resource_version;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether `shown` is later than `assumed`. Versions that are no numbers cannot be compared: then what the API server
// shows counts.
bool IsNewer(const api::ResourceClaim& shown, const api::ResourceClaim& assumed) {
  if (shown.metadata.uid != assumed.metadata.uid) return true;
  const auto a = Version(shown);
  const auto b = Version(assumed);
  return !a || !b || *a > *b;
}

std::optional<NegativeUsage> FindNegativeUsage(const api::ResourceClaim& claim) {
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    for (const auto& [name, amount] : result.consumed_capacity) {
      if (amount.nanos() >= 0) continue;
      return NegativeUsage{KeyOf(claim), DeviceId(result.driver, result.pool, result.device), name, amount};
    }
  }
  return std::nullopt;
}

bool IsForExtendedResources(const api::ResourceClaim& claim) {
  const std::string* value = claim.metadata.annotations.Find(kExtendedResourceClaimAnnotation);
  return value != nullptr && *value == "true" && claim.metadata.controller.has_value();
}

}  // namespace

std::string DeviceId(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string id;
  id.reserve(driver.size() + pool.size() + device.size() + 2);
  return id.append(driver).append("/").append(pool).append("/").append(device);
}

DeviceClaims::DeviceClaims(const Store& store, const framework::DeviceRules& rules)
    : store_(store), has_shares_(rules.has_consumable_capacity), refuses_negative_usage_(rules.refuses_negative_usage) {
  for (const auto& [key, claim] : store) Replace(nullptr, claim);
}

void DeviceClaims::Changed(const Ptr& before, const Ptr& after) {
  const std::string key = KeyOf(after != nullptr ? *after : *before);
  const auto assumed = assumed_.find(key);
  const Ptr held = assumed != assumed_.end() ? assumed->second : before;
  if (after == nullptr) {
    if (assumed != assumed_.end()) assumed_.erase(assumed);
    Replace(held, nullptr);
    if (const auto awaited = awaited_.find(key); awaited != awaited_.end()) {
      RemovePending(awaited->second.uid);
      awaited_.erase(awaited);
    }
    return;
  }
  if (assumed == assumed_.end() || IsNewer(*after, *assumed->second)) {
    if (assumed != assumed_.end()) assumed_.erase(assumed);
    Replace(held, after);
  }
  const auto awaited = awaited_.find(key);
  if (awaited == awaited_.end()) return;
  const Awaited found = std::move(awaited->second);
  awaited_.erase(awaited);
  (void)Assume(found.claim);  // refused when the watch is ahead of it already
  RemovePending(found.uid);
}

DeviceClaims::Ptr DeviceClaims::Find(std::string_view namespace_name, std::string_view name) const {
  const std::string key = Store::Key(namespace_name, name);
  const auto it = assumed_.find(key);
  return it != assumed_.end() ? it->second : store_.Get(key);
}

DeviceClaims::Ptr DeviceClaims::FindExtendedResourceClaim(const framework::PodInfo& pod) const {
  const auto it = by_pod_.find(pod.uid);
  if (it == by_pod_.end()) return nullptr;
  for (const auto& [key, claim] : it->second) {
    if (claim->metadata.controller->name == pod.name) return claim;
  }
  return nullptr;
}

const api::AllocationResult* DeviceClaims::PendingAllocation(std::string_view uid) const {
  const auto it = pending_.find(uid);
  return it == pending_.end() || !it->second.claim->allocation ? nullptr : &*it->second.claim->allocation;
}

void DeviceClaims::AddPending(std::string uid, Ptr claim, std::string group) {
  RemovePending(uid);
  Count(*claim, +1);
  pending_.emplace(std::move(uid), Pending{std::move(claim), std::move(group)});
}

const api::AllocationResult* DeviceClaims::OpenAllocation(std::string_view uid, std::string_view group) const {
  const auto it = pending_.find(uid);
  if (group.empty() || it == pending_.end() || it->second.group != group) return nullptr;
  return it->second.claim->allocation ? &*it->second.claim->allocation : nullptr;
}

bool DeviceClaims::SharePending(std::string_view uid) {
  const auto it = pending_.find(uid);
  if (it == pending_.end()) return false;
  ++it->second.sharer_count;
  return true;
}

bool DeviceClaims::ReleasePending(std::string_view uid) {
  const auto it = pending_.find(uid);
  if (it == pending_.end() || --it->second.sharer_count > 0) return false;
  RemovePending(uid);
  return true;
}

void DeviceClaims::ClosePending(std::string_view uid) {
  if (const auto it = pending_.find(uid); it != pending_.end()) it->second.group.clear();
}

DeviceClaims::WriteTurn DeviceClaims::TakeWriteTurn(const std::string& uid) {
  std::erase_if(write_turns_, [](const auto& turn) { return turn.second.expired(); });
  if (write_turns_.contains(uid)) return nullptr;
  auto turn = std::make_shared<const std::string>(uid);
  write_turns_.emplace(uid, turn);
  return turn;
}

void DeviceClaims::RemovePending(std::string_view uid) {
  const auto it = pending_.find(uid);
  if (it == pending_.end()) return;
  Count(*it->second.claim, -1);
  pending_.erase(it);
}

bool DeviceClaims::Assume(const Ptr& claim) {
  const std::string key = KeyOf(*claim);
  const auto it = assumed_.find(key);
  const Ptr held = it != assumed_.end() ? it->second : store_.Get(key);
  if (held == nullptr || held->metadata.uid != claim->metadata.uid) return false;
  const auto version = Version(*claim);
  const auto held_version = Version(*held);
  if (!version || !held_version || *version < *held_version) return false;
  Replace(held, claim);
  assumed_[key] = claim;
  return true;
}

void DeviceClaims::Restore(std::string_view namespace_name, std::string_view name) {
  const auto it = assumed_.find(Store::Key(namespace_name, name));
  if (it == assumed_.end()) return;
  Replace(it->second, store_.Get(it->first));
  assumed_.erase(it);
}

void DeviceClaims::AssumeWhenSeen(std::string uid, const Ptr& claim) {
  const std::string key = KeyOf(*claim);
  if (store_.Get(key) == nullptr) {
    awaited_[key] = {std::move(uid), claim};
    return;
  }
  (void)Assume(claim);
  RemovePending(uid);
}

void DeviceClaims::StopWaitingFor(std::string_view uid) {
  const auto it =
      std::find_if(awaited_.begin(), awaited_.end(), [&](const auto& entry) { return entry.second.uid == uid; });
  if (it == awaited_.end()) return;
  awaited_.erase(it);
  RemovePending(uid);
}

const DeviceUsage* DeviceClaims::UsageOf(std::string_view device_id) const {
  const auto it = usage_.find(device_id);
  return it == usage_.end() ? nullptr : &it->second;
}

void DeviceClaims::Replace(const Ptr& before, const Ptr& after) {
  if (before != nullptr) Count(*before, -1);
  if (after != nullptr) Count(*after, +1);
  if (before != nullptr && IsForExtendedResources(*before)) {
    const auto it = by_pod_.find(before->metadata.controller->uid);
    if (it != by_pod_.end()) {
      it->second.erase(KeyOf(*before));
      if (it->second.empty()) by_pod_.erase(it);
    }
  }
  if (after != nullptr && IsForExtendedResources(*after)) {
    by_pod_[after->metadata.controller->uid][KeyOf(*after)] = after;
  }
}

// Devices that a claim has with admin access are not taken. Unlike upstream's sets, counts survive that two claims
// hold the same device: giving one back does not make it free.
void DeviceClaims::Count(const api::ResourceClaim& claim, int sign) {
  if (!claim.allocation) return;
  std::optional<NegativeUsage> negative;
  if (refuses_negative_usage_) negative = FindNegativeUsage(claim);
  const bool is_negative = negative.has_value();
  if (is_negative && sign > 0) negative_usages_[claim.metadata.uid] = *std::move(negative);
  if (sign < 0) negative_usages_.erase(claim.metadata.uid);
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    if (result.admin_access) continue;
    ++revision_;
    const std::string id = DeviceId(result.driver, result.pool, result.device);
    DeviceUsage& usage = usage_[id];
    if (!result.share_id || !has_shares_) {
      usage.exclusive_count += sign;
    } else {
      usage.share_count += sign;
      if (!result.consumed_capacity.empty()) usage.consuming_share_count += sign;
      if (is_negative) continue;
      for (const auto& [name, amount] : result.consumed_capacity) usage.consumed[name] += sign * amount.nanos();
    }
    if (!usage.IsAllocated()) usage_.erase(id);
  }
}

}  // namespace berth::plugins
