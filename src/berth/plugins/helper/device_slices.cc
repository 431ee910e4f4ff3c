// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_slices.h"

#include <algorithm>
#include <optional>
#include <set>

#include "berth/plugins/helper/device_claims.h"
#include "berth/plugins/helper/node_selector.h"

namespace berth::plugins {
namespace {

bool HasSelection(const api::DeviceNodes& nodes) {
  return (nodes.node_name && !nodes.node_name->empty()) || nodes.all_nodes || nodes.node_selector;
}

void SortByName(std::vector<PublishedSlicePtr>& slices) {
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a->name() < b->name(); });
}

// The first name that comes twice; empty when none does.
std::string FindDuplicateDevice(const std::vector<PublishedSlicePtr>& slices) {
  std::set<std::string_view> names;
  for (const PublishedSlicePtr& slice : slices) {
    for (const api::Device& device : slice->object->devices) {
      if (!names.insert(device.name).second) return device.name;
    }
  }
  return {};
}

// False when two sets have the same name.
bool CollectCounterSets(DevicePool& pool) {
  for (const PublishedSlicePtr& slice : pool.counter_slices) {
    for (const api::CounterSet& set : slice->object->shared_counters) {
      if (!pool.counter_sets.emplace(set.name, &set).second) return false;
    }
  }
  return true;
}

bool HasCounter(const api::CounterSet& set, const std::string& name) {
  return std::any_of(set.counters.begin(), set.counters.end(), [&](const auto& c) { return c.first == name; });
}

// Whether all counters that the devices consume are there.
bool AreCountersKnown(const DevicePool& pool, const std::vector<PublishedSlicePtr>& slices) {
  for (const PublishedSlicePtr& slice : slices) {
    for (const api::Device& device : slice->object->devices) {
      for (const api::CounterSet& consumed : device.consumes_counters) {
        const auto set = pool.counter_sets.find(consumed.name);
        if (set == pool.counter_sets.end()) return false;
        for (const auto& [name, amount] : consumed.counters) {
          if (!HasCounter(*set->second, name)) return false;
        }
      }
    }
  }
  return true;
}

bool HasBindingConditions(const DevicePool& pool) {
  for (const PublishedSlicePtr& slice : pool.slices) {
    for (const api::Device& device : slice->object->devices) {
      if (!device.binding_conditions.empty()) return true;
    }
  }
  return false;
}

// Upstream: applyPatches of the ResourceSlice tracker.
bool SelectsPool(const api::DeviceTaintRule& rule, const api::ResourceSlice& slice) {
  return rule.selector && rule.selector->driver.value_or(slice.driver) == slice.driver &&
         rule.selector->pool.value_or(slice.pool_name) == slice.pool_name;
}
bool SelectsDevice(const api::DeviceTaintRule& rule, const api::Device& device) {
  return rule.selector->device.value_or(device.name) == device.name;
}

void AddDevices(NodePools& pools, const api::Node& node) {
  for (std::size_t p = 0; p < pools.pools.size(); ++p) {
    for (const PublishedSlicePtr& slice : pools.pools[p].slices) {
      for (std::size_t i = 0; i < slice->object->devices.size(); ++i) {
        ReachableDevice reachable{slice.get(), static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p), true,
                                  false};
        if (slice->object->per_device_node_selection) {
          const auto match = AreForNode(slice->object->devices[i].nodes, node);
          reachable.has_selector_error = !match.ok();
          reachable.is_for_node = match.ok() && *match;
        }
        pools.devices.push_back(reachable);
      }
    }
  }
}

}  // namespace

Expected<bool> AreForNode(const api::DeviceNodes& nodes, const api::Node& node) {
  if (nodes.node_name && !nodes.node_name->empty()) return *nodes.node_name == node.metadata.name;
  if (nodes.all_nodes) return true;
  if (!nodes.node_selector) return false;
  const std::string errors = NodeSelectorErrors(*nodes.node_selector);
  if (!errors.empty()) return InvalidError("failed to parse node selector: " + errors);
  return NodeSelector(*nodes.node_selector).Matches(node.metadata.name, node.metadata.labels);
}

bool Selects(const api::DeviceTaintRule& rule, const api::ResourceSlice& slice) {
  return SelectsPool(rule, slice) &&
         std::any_of(slice.devices.begin(), slice.devices.end(),
                     [&](const api::Device& device) { return SelectsDevice(rule, device); });
}

DeviceSlices::DeviceSlices(const Store& store, const framework::DeviceRules& rules, const RuleStore* taint_rules)
    : store_(store), rules_(rules), taint_rules_(taint_rules) {
  for (const auto& [key, slice] : store) Changed(nullptr, slice);
}

DeviceSlices::Ptr DeviceSlices::Tainted(const Ptr& slice) const {
  if (taint_rules_ == nullptr || taint_rules_->empty()) return slice;
  std::shared_ptr<api::ResourceSlice> tainted;  // made for the first rule that selects a device
  for (const auto& [key, rule] : *taint_rules_) {
    if (!SelectsPool(*rule, *slice)) continue;
    for (std::size_t i = 0; i < slice->devices.size(); ++i) {
      if (!SelectsDevice(*rule, slice->devices[i])) continue;
      if (tainted == nullptr) tainted = std::make_shared<api::ResourceSlice>(*slice);
      tainted->devices[i].taints.push_back(rule->taint);
    }
  }
  return tainted == nullptr ? slice : tainted;
}

// The taints of slices that either selects change, or may.
void DeviceSlices::RuleChanged(const RulePtr& before, const RulePtr& after) {
  if (before != nullptr && after != nullptr && before->selector == after->selector && before->taint == after->taint)
    return;
  for (const auto& [key, slice] : store_) {
    if ((before != nullptr && Selects(*before, *slice)) || (after != nullptr && Selects(*after, *slice)))
      Changed(slice, slice);
  }
}

// True when the slice's devices are for one node alone.
bool DeviceSlices::IsLocal(const api::ResourceSlice& slice) const {
  return slice.nodes.node_name && !slice.nodes.node_name->empty() && !CountsAnywhere(slice);
}

// Counters are needed wherever the pool is used. Where they are selected like devices, a pool with devices for the node
// gets them with the rest of its slices.
bool DeviceSlices::CountsAnywhere(const api::ResourceSlice& slice) const {
  return !slice.shared_counters.empty() && rules_.has_partitionable_devices && !rules_.selects_counter_slices;
}

bool DeviceSlices::IsIgnored(const api::ResourceSlice& slice) const {
  if (rules_.has_partitionable_devices) return false;
  return slice.per_device_node_selection || (!slice.shared_counters.empty() && !rules_.uses_counter_slices);
}

// Whether the slice matters to the node; nullopt: it says nothing that we know about nodes, and is passed over.
Expected<std::optional<bool>> DeviceSlices::IsRelevant(const api::ResourceSlice& slice, const api::Node& node) const {
  if (CountsAnywhere(slice)) return std::optional<bool>(true);
  if (HasSelection(slice.nodes)) {
    const auto match = AreForNode(slice.nodes, node);
    if (match.ok()) return std::optional<bool>(*match);
    return InvalidError("failed to perform node selection for slice " + slice.metadata.name + ": " +
                        match.error().message);
  }
  if (!slice.per_device_node_selection) return std::optional<bool>();
  for (const api::Device& device : slice.devices) {
    const auto match = AreForNode(device.nodes, node);
    if (!match.ok()) {
      return InvalidError("failed to perform node selection for device " + device.name + " in slice " +
                          slice.metadata.name + ": " + match.error().message);
    }
    if (*match) return std::optional<bool>(true);
  }
  return std::optional<bool>(false);
}

void DeviceSlices::Changed(const Ptr& before, const Ptr& after) {
  ++version_;
  if (before != nullptr) {
    Forget(*before);
    const std::string& name = before->metadata.name;
    if (IsLocal(*before)) {
      const auto node = on_node_.find(*before->nodes.node_name);
      node->second.erase(name);
      if (node->second.empty()) on_node_.erase(node);
    } else {
      shared_.erase(name);
    }
    const auto pool = by_pool_.find({before->driver, before->pool_name});
    pool->second.erase(name);
    if (pool->second.empty()) by_pool_.erase(pool);
  }
  if (after == nullptr) return;
  auto published = std::make_shared<PublishedSlice>();
  published->object = Tainted(after);
  published->device_ids.reserve(after->devices.size());
  for (const api::Device& device : after->devices) {
    published->device_ids.push_back(DeviceId(after->driver, after->pool_name, device.name));
  }
  const std::string& name = after->metadata.name;
  (IsLocal(*after) ? on_node_[*after->nodes.node_name] : shared_)[name] = published;
  by_pool_[{after->driver, after->pool_name}][name] = published;
  Forget(*after);
}

// Forgets the pools of all nodes that the slice, or another one of its pool, can matter to.
void DeviceSlices::Forget(const api::ResourceSlice& slice) {
  const auto pool = by_pool_.find({slice.driver, slice.pool_name});
  if (pool == by_pool_.end()) return;
  for (const auto& [name, other] : pool->second) {
    if (!IsLocal(*other->object)) {
      kept_.clear();
      return;
    }
  }
  for (const auto& [name, other] : pool->second) {
    const auto node = kept_.find(*other->object->nodes.node_name);
    if (node != kept_.end()) kept_.erase(node);
  }
}

const NodePools& DeviceSlices::PoolsOf(const std::shared_ptr<const api::Node>& node) {
  if (kept_.size() >= kNodesMax) kept_.clear();
  KeptPools& kept = kept_[node->metadata.name];
  if (kept.node != node) kept = {node, GatherPools(*node)};
  return kept.pools;
}

NodePools DeviceSlices::GatherPools(const api::Node& node) const {
  NodePools result;
  // The slices of the highest generation that matters to the node, by driver and pool.
  std::map<PoolId, std::vector<PublishedSlicePtr>> found;
  const auto add = [&](const ByName& slices) {
    for (const auto& [name, slice] : slices) {
      const api::ResourceSlice& object = *slice->object;
      if (IsIgnored(object)) continue;
      const auto relevant = IsRelevant(object, node);
      if (!relevant.ok()) {
        result.error = "gather pool information: " + relevant.error().message;
        return;
      }
      if (!relevant->value_or(false)) continue;
      std::vector<PublishedSlicePtr>& pool = found[{object.driver, object.pool_name}];
      if (!pool.empty() && object.pool_generation < pool.front()->object->pool_generation) continue;
      if (!pool.empty() && object.pool_generation > pool.front()->object->pool_generation) pool.clear();
      pool.push_back(slice);
    }
  };
  if (const auto local = on_node_.find(node.metadata.name); local != on_node_.end()) add(local->second);
  if (result.error.empty()) add(shared_);
  if (!result.error.empty()) return result;

  std::vector<DevicePool> last;
  for (auto& [id, slices] : found) {
    const std::int64_t generation = slices.front()->object->pool_generation;
    const auto wanted = static_cast<std::uint64_t>(slices.front()->object->pool_slice_count);
    std::vector<PublishedSlicePtr> all;
    if (slices.size() != wanted && !rules_.uses_incomplete_pools) {
      // Slices of the pool that do not matter to the node make it complete, or tell that it is being replaced: then
      // the old devices are no longer given away.
      bool is_obsolete = false;
      for (const auto& [name, slice] : by_pool_.at(id)) {
        is_obsolete |= slice->object->pool_generation > generation;
        if (slice->object->pool_generation == generation) all.push_back(slice);
      }
      if (is_obsolete) continue;
      if (all.size() != wanted) {
        DevicePool incomplete(id.first, id.second);
        incomplete.is_incomplete = true;
        result.pools.push_back(std::move(incomplete));
        continue;
      }
    }
    const bool is_incomplete = all.empty() && slices.size() != wanted;
    DevicePool pool = MakePool(id, std::move(slices), all);
    pool.is_incomplete = is_incomplete;
    result.has_invalid |= pool.is_invalid;
    (!rules_.HasSmallAllocator() && HasBindingConditions(pool) ? last : result.pools).push_back(std::move(pool));
  }
  std::move(last.begin(), last.end(), std::back_inserter(result.pools));
  AddDevices(result, node);
  return result;
}

// `all` is the whole pool where `slices` are only what matters to the node, and empty otherwise.
DevicePool DeviceSlices::MakePool(const PoolId& id, std::vector<PublishedSlicePtr> slices,
                                  const std::vector<PublishedSlicePtr>& all) const {
  DevicePool pool(id.first, id.second);
  SortByName(slices);
  for (const PublishedSlicePtr& slice : slices) {
    const bool has_devices = slice->object->shared_counters.empty() || !rules_.has_partitionable_devices;
    (has_devices ? pool.slices : pool.counter_slices).push_back(slice);
  }
  pool.duplicate = FindDuplicateDevice(pool.slices);
  if (!rules_.has_partitionable_devices) {
    pool.is_invalid = !pool.duplicate.empty();
    if (pool.is_invalid) pool.slices.clear();
    return pool;
  }
  for (const PublishedSlicePtr& slice : all) {
    if (std::find(slices.begin(), slices.end(), slice) != slices.end()) continue;
    const bool is_of_counters = rules_.selects_counter_slices && !slice->object->shared_counters.empty();
    (is_of_counters ? pool.counter_slices : pool.other_slices).push_back(slice);
  }
  pool.is_invalid = !pool.duplicate.empty() || !CollectCounterSets(pool) || !AreCountersKnown(pool, slices) ||
                    !AreCountersKnown(pool, pool.other_slices);
  if (!pool.is_invalid) return pool;
  DevicePool invalid(id.first, id.second);
  invalid.is_invalid = true;
  invalid.duplicate = std::move(pool.duplicate);
  return invalid;
}

}  // namespace berth::plugins
