// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_state.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kKey = "DeviceState";

// Tells `part` of the state about each change, as long as the state lives.
template <typename T, typename Part>
void Follow(const framework::Objects& objects, const std::shared_ptr<DeviceState>& state, Part DeviceState::* part) {
  objects.Of<T>().Listen([weak = std::weak_ptr(state), part](const auto& before, const auto& after) {
    if (const auto alive = weak.lock()) ((*alive).*part).Changed(before, after);
  });
}

// As scoring sees it: a slice without any word about nodes counts on all of them.
Expected<bool> SliceCounts(const api::ResourceSlice& slice, const api::Node& node) {
  const api::DeviceNodes& nodes = slice.nodes;
  const std::string name = nodes.node_name.value_or("");
  if (nodes.all_nodes || name == node.metadata.name) return true;
  if (nodes.node_selector) return AreForNode(nodes, node);
  return name.empty();
}

// Upstream leaves out here whether the device can be shared: to selectors it is none that can.
Expected<bool> MatchesForCount(const DeviceSelector& selector, const PublishedSlice& slice, std::size_t index) {
  const api::Device& device = slice.object->devices[index];
  if (!device.allow_multiple_allocations) return selector.Matches(*slice.object, index, slice.memory).matches;
  api::Device exclusive = device;
  exclusive.allow_multiple_allocations = false;
  return selector.Matches(slice.object->driver, exclusive).matches;
}

}  // namespace

std::shared_ptr<DeviceState> DeviceState::Of(framework::Handle& handle) {
  return handle.Shared<DeviceState>(kKey, [&handle] {
    const auto state = std::make_shared<DeviceState>(handle.objects(), handle.release());
    Follow<api::DeviceClass>(handle.objects(), state, &DeviceState::classes);
    Follow<api::ResourceClaim>(handle.objects(), state, &DeviceState::claims);
    Follow<api::ResourceSlice>(handle.objects(), state, &DeviceState::slices);
    if (handle.release().reads_device_taint_rules) {
      handle.objects().Of<api::DeviceTaintRule>().Listen(
          [weak = std::weak_ptr(state)](const auto& before, const auto& after) {
            if (const auto alive = weak.lock()) alive->slices.RuleChanged(before, after);
          });
    }
    return state;
  });
}

DeviceState::DeviceState(const framework::Objects& objects, const framework::Release& release)
    : classes(release.devices),
      claims(objects.Of<api::ResourceClaim>(), release.devices),
      slices(objects.Of<api::ResourceSlice>(), release.devices,
             release.reads_device_taint_rules ? &objects.Of<api::DeviceTaintRule>() : nullptr),
      selectors({.shared_devices = !release.devices.HasSmallAllocator(),
                 .names_container = release.devices.names_container_in_selector_errors}),
      class_store_(objects.Of<api::DeviceClass>()) {
  for (const auto& [key, device_class] : class_store_) classes.Changed(nullptr, device_class);
}

DeviceState::Totals DeviceState::Count(const api::DeviceClass& device_class, const api::Node& node) {
  Totals totals;
  bool has_failed = false;
  const std::vector<DeviceSelectors::Ptr> wanted = selectors.Get(device_class.selectors);
  const auto count = [&](const PublishedSlice& slice, std::size_t index) {
    for (const DeviceSelectors::Ptr& selector : wanted) {
      const auto matches = MatchesForCount(*selector, slice, index);
      has_failed |= !matches.ok();
      if (!matches.ok() || !*matches) return;
    }
    ++totals.count;
    const DeviceUsage* usage = claims.UsageOf(slice.device_ids[index]);
    if (usage != nullptr && usage->IsAllocated()) ++totals.allocated_count;
  };
  slices.ForEachNear(node.metadata.name, [&](const PublishedSlice& slice) {
    if (has_failed) return;
    const bool is_per_device = slice.object->per_device_node_selection;
    if (!is_per_device) {
      const auto counts = SliceCounts(*slice.object, node);
      has_failed |= !counts.ok();
      if (!counts.ok() || !*counts) return;
    }
    for (std::size_t i = 0; i < slice.object->devices.size() && !has_failed; ++i) {
      if (is_per_device) {
        const auto match = AreForNode(slice.object->devices[i].nodes, node);
        has_failed |= !match.ok();
        if (!match.ok() || !*match) continue;
      }
      count(slice, i);
    }
  });
  return has_failed ? Totals{} : totals;
}

}  // namespace berth::plugins
