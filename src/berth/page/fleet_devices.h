// SPDX-License-Identifier: Apache-2.0
// FleetDevices: devices of Dynamic Resource Allocation as a Fleet counts them: so many of a driver that a node has, by
// its ResourceSlices, and so many that a pod holds, by the claims that are reserved for it. As resources of nodes and
// pods they are called DRIVER/devices. Devices that several may share, and those of no node of their own, are not
// counted. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/resource_claim.h"
#include "berth/framework/objects.h"
#include "berth/page/fleet.h"

namespace berth::page {

class FleetDevices {
 public:
  // `fleet` must outlive it.
  explicit FleetDevices(Fleet& fleet) : fleet_(fleet) {}

  void SetSlice(const api::ResourceSlice& slice);
  void RemoveSlice(std::string_view name);
  void SetClaim(const api::ResourceClaim& claim);
  void RemoveClaim(std::string_view namespace_name, std::string_view name);
  // Objects of other kinds are passed over; `key` is as framework::KeyOf has it.
  void Set(const framework::AnyObject& object);
  void Remove(framework::ObjectKind kind, const std::string& key);

 private:
  // What a claim's devices are, and the pod that holds them.
  struct Held {
    std::string namespace_name, pod, uid;  // of the pod; empty: nobody holds it
    framework::Resource devices;
  };

  // What is kept of a ResourceSlice.
  struct Slice {
    std::string driver, pool;
    std::int64_t generation = 0;
    std::map<std::string, std::int64_t> devices;  // by node
  };

  static Slice SliceOf(const api::ResourceSlice& slice);
  static Held HeldBy(const api::ResourceClaim& claim);
  // With mutex_ held.
  void TellNode(const std::string& node) const;
  void TellPod(const Held& holder) const;

  Fleet& fleet_;
  std::mutex mutex_;                                        // guards what follows
  std::map<std::string, Slice, std::less<>> slices_;        // by name
  std::map<std::string, std::set<std::string>> slices_of_;  // names, by node
  std::map<std::string, Held, std::less<>> held_;           // by NAMESPACE/NAME of the claim
  std::map<std::string, std::set<std::string>> claims_of_;  // keys, by the pod's uid
};

}  // namespace berth::page
