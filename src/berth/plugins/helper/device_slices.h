// SPDX-License-Identifier: Apache-2.0
// DeviceSlices: the published devices, and which of them a node can reach. Within turns only.
// Upstream: pools_incubating.go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/resource_claim.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/framework/objects.h"
#include "berth/framework/release.h"
#include "berth/plugins/helper/device_selectors.h"

namespace berth::plugins {

// Whether the rule is for some device of the slice.
bool Selects(const api::DeviceTaintRule& rule, const api::ResourceSlice& slice);

// A slice with what is derived from it once.
struct PublishedSlice {
  std::shared_ptr<const api::ResourceSlice> object;  // with the taints of DeviceTaintRules
  std::vector<std::string> device_ids;               // DeviceId of each device
  mutable SelectorMemory memory;

  const std::string& name() const { return object->metadata.name; }
};
using PublishedSlicePtr = std::shared_ptr<const PublishedSlice>;

// Whether devices with that selection are for the node. An error when their node selector does not parse.
Expected<bool> AreForNode(const api::DeviceNodes& nodes, const api::Node& node);

// One device in the pools of a node.
struct ReachableDevice {
  const PublishedSlice* slice = nullptr;
  std::uint32_t index = 0;  // in the slice
  std::uint32_t pool = 0;   // in NodePools::pools
  bool is_for_node = true;  // false: its slice reaches the node, but this device does not
  bool has_selector_error = false;

  const api::Device& device() const { return slice->object->devices[index]; }
  const std::string& id() const { return slice->device_ids[index]; }
};

// A pool as one node sees it.
struct DevicePool {
  DevicePool() = default;
  DevicePool(std::string driver_in, std::string name_in)
      : driver(std::move(driver_in)), name(std::move(name_in)), id(driver + "/" + name) {}

  std::string driver;
  std::string name;
  std::string id;                               // "driver/name"
  bool is_incomplete = false;                   // not all of its slices are there
  bool is_invalid = false;                      // it contradicts itself
  std::string duplicate;                        // a name that several of its devices have; empty: none
  std::vector<PublishedSlicePtr> slices;        // with devices for the node, by name
  std::vector<PublishedSlicePtr> other_slices;  // where counters are shared: the rest of the pool
  std::map<std::string, const api::CounterSet*, std::less<>> counter_sets;
  std::vector<PublishedSlicePtr> counter_slices;  // they own the counter sets
};

struct NodePools {
  std::string error;  // not empty: the slices say something about nodes that cannot be understood
  // Sorted by driver and name. Pools with devices that must be prepared before a pod is bound come last.
  std::vector<DevicePool> pools;
  // The devices of the usable pools, in the order in which they are tried.
  std::vector<ReachableDevice> devices;
  bool has_invalid = false;
};

class DeviceSlices {
 public:
  using Ptr = std::shared_ptr<const api::ResourceSlice>;
  using Store = framework::ObjectStore<api::ResourceSlice>;
  using RulePtr = std::shared_ptr<const api::DeviceTaintRule>;
  using RuleStore = framework::ObjectStore<api::DeviceTaintRule>;

  // Nodes whose pools are kept. All are forgotten when there are more.
  static constexpr std::size_t kNodesMax = std::size_t{1} << 16;

  // `taint_rules` taint devices beside their slices; null: there are none. The stores must outlive it.
  explicit DeviceSlices(const Store& store, const framework::DeviceRules& rules = framework::DeviceRules(),
                        const RuleStore* taint_rules = nullptr);

  // The stores' listeners.
  void Changed(const Ptr& before, const Ptr& after);
  void RuleChanged(const RulePtr& before, const RulePtr& after);

  // The node's pools, kept until a slice or the node changes. Valid until then.
  const NodePools& PoolsOf(const std::shared_ptr<const api::Node>& node);
  // The pools as PoolsOf gives them, computed without its cache.
  NodePools GatherPools(const api::Node& node) const;

  // Slices that are not for another node alone, for those who count devices.
  template <typename Visit>
  void ForEachNear(std::string_view node_name, const Visit& visit) const {
    if (const auto local = on_node_.find(node_name); local != on_node_.end()) {
      for (const auto& [name, slice] : local->second) visit(*slice);
    }
    for (const auto& [name, slice] : shared_) visit(*slice);
  }
  bool empty() const { return by_pool_.empty(); }
  std::uint64_t version() const { return version_; }

 private:
  using PoolId = std::pair<std::string, std::string>;  // driver, pool
  using ByName = std::map<std::string, PublishedSlicePtr, std::less<>>;
  struct KeptPools {
    std::shared_ptr<const api::Node> node;
    NodePools pools;
  };

  // The slice with the taints of the rules that select some of its devices.
  Ptr Tainted(const Ptr& slice) const;
  void Forget(const api::ResourceSlice& slice);
  // Whether the slice is left out, as it needs a feature that is off.
  bool IsIgnored(const api::ResourceSlice& slice) const;
  DevicePool MakePool(const PoolId& id, std::vector<PublishedSlicePtr> slices,
                      const std::vector<PublishedSlicePtr>& all) const;

  bool IsLocal(const api::ResourceSlice& slice) const;
  bool CountsAnywhere(const api::ResourceSlice& slice) const;
  Expected<std::optional<bool>> IsRelevant(const api::ResourceSlice& slice, const api::Node& node) const;

  const Store& store_;
  const framework::DeviceRules rules_;
  const RuleStore* const taint_rules_;
  StringHashMap<ByName> on_node_;  // by node: IsLocal()
  ByName shared_;                  // the others
  std::map<PoolId, ByName> by_pool_;
  StringHashMap<KeptPools> kept_;  // by node
  std::uint64_t version_ = 0;
};

}  // namespace berth::plugins
