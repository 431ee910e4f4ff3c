// SPDX-License-Identifier: Apache-2.0
// DeviceClaims: ResourceClaims as the scheduler sees them, and which devices they hold. That is what the API server
// last showed, what this scheduler wrote since (assumed), and what it decided and has not written yet (pending). Within
// turns only. Upstream: claimTracker, allocatedDevices and the assume cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/resource_claim.h"
#include "berth/base/hash_map.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::plugins {

// "driver/pool/device"
std::string DeviceId(std::string_view driver, std::string_view pool, std::string_view device);

// Exact amounts, in 1e-9 units, by name.
using DeviceAmounts = std::map<std::string, api::Quantity::Nanos, std::less<>>;

// What is taken of a device by claims without admin access.
struct DeviceUsage {
  int exclusive_count = 0;        // claims that have it for themselves
  int share_count = 0;            // claims that have a share of it
  int consuming_share_count = 0;  // ... and of its capacity
  DeviceAmounts consumed;
  bool IsAllocated() const { return exclusive_count > 0 || share_count > 0; }
};

// A claim's share of a capacity that is less than nothing.
struct NegativeUsage {
  std::string claim;   // "namespace/name"
  std::string device;  // DeviceId
  std::string capacity;
  api::Quantity amount;
};

class DeviceClaims {
 public:
  using Ptr = std::shared_ptr<const api::ResourceClaim>;
  using Store = framework::ObjectStore<api::ResourceClaim>;

  // `store` must outlive it. Without DeviceRules::has_consumable_capacity, who has a share of a device has it for
  // itself.
  explicit DeviceClaims(const Store& store, const framework::DeviceRules& rules = framework::DeviceRules());

  // The store's listener.
  void Changed(const Ptr& before, const Ptr& after);

  // The claim, or null when there is none.
  Ptr Find(std::string_view namespace_name, std::string_view name) const;
  // The claim that was made for the pod's extended resources in an earlier cycle.
  Ptr FindExtendedResourceClaim(const framework::PodInfo& pod) const;

  // The pending allocation of the claim with that uid; null when it has none.
  const api::AllocationResult* PendingAllocation(std::string_view uid) const;
  // `claim` has the allocation in it. Pods of `group` may share it until ClosePending(); empty: none may.
  void AddPending(std::string uid, Ptr claim, std::string group = {});
  void RemovePending(std::string_view uid);
  // The allocation, if it is pending and pods of the group may share it; else null.
  const api::AllocationResult* OpenAllocation(std::string_view uid, std::string_view group) const;
  // Another pod shares it, or has to do with it no more; the last one takes it away. What is pending has one to begin
  // with. False: nothing is pending any more; and, of ReleasePending, others share it still.
  bool SharePending(std::string_view uid);
  bool ReleasePending(std::string_view uid);
  // A pod with it is being bound.
  void ClosePending(std::string_view uid);

  // Whoever writes to a claim that pods share does it alone. Null: somebody does; the turn ends with the last copy.
  using WriteTurn = std::shared_ptr<const std::string>;
  WriteTurn TakeWriteTurn(const std::string& uid);

  // The API server's answer to a write counts until the watch shows it, or something newer. False when the watch has
  // not shown such a claim, or a newer one already.
  bool Assume(const Ptr& claim);
  // Back to what the API server showed.
  void Restore(std::string_view namespace_name, std::string_view name);
  // Assumes a claim that was just created. What is pending under `uid` stays until the watch shows the claim.
  void AssumeWhenSeen(std::string uid, const Ptr& claim);
  // Ends the wait of AssumeWhenSeen: the watch never showed the claim.
  void StopWaitingFor(std::string_view uid);

  // Who uses the device; null when it is free.
  const DeviceUsage* UsageOf(std::string_view device_id) const;
  // Claims that use less than nothing, which makes it impossible to say what is in use
  // (DeviceRules::refuses_negative_usage); by uid.
  const std::map<std::string, NegativeUsage, std::less<>>& negative_usages() const { return negative_usages_; }
  // Grows whenever a device is taken or given back.
  std::uint64_t revision() const { return revision_; }

 private:
  struct Awaited {
    std::string uid;
    Ptr claim;
  };
  struct Pending {
    Ptr claim;
    std::string group;  // of the pods that may share it
    std::size_t sharer_count = 1;
  };

  void Replace(const Ptr& before, const Ptr& after);
  void Count(const api::ResourceClaim& claim, int sign);

  const Store& store_;
  const bool has_shares_;
  const bool refuses_negative_usage_;
  std::map<std::string, Ptr, std::less<>> assumed_;                                   // by key
  std::map<std::string, Pending, std::less<>> pending_;                               // by the claim's uid
  std::map<std::string, std::weak_ptr<const std::string>, std::less<>> write_turns_;  // by the claim's uid
  std::map<std::string, Awaited, std::less<>> awaited_;                               // by key
  // Claims for extended resources, by the uid of their pod: key and claim.
  std::map<std::string, std::map<std::string, Ptr>, std::less<>> by_pod_;
  StringHashMap<DeviceUsage> usage_;
  std::map<std::string, NegativeUsage, std::less<>> negative_usages_;
  std::uint64_t revision_ = 0;
};

}  // namespace berth::plugins
