// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/free_devices.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "berth/plugins/helper/device_taints.h"

namespace berth::whatif {
namespace {

constexpr std::size_t kNodesShownMax = 3;

framework::Objects DeviceObjects(const ClusterState& state) {
  using enum framework::ObjectKind;
  framework::Objects objects;
  for (const framework::AnyObject& object : state.objects) {
    const framework::ObjectKind kind = framework::KindOf(object);
    if (kind == kResourceSlice || kind == kResourceClaim || kind == kDeviceClass || kind == kDeviceTaintRule)
      objects.Set(object);
  }
  return objects;
}

}  // namespace

FreeDevices::FreeDevices(const ClusterState& state, const framework::Release& release)
    : state_(state), objects_(DeviceObjects(state)), devices_(objects_, release) {}

FreeDevices::OnNode FreeDevices::Count(const std::vector<plugins::DeviceSelectors::Ptr>& selectors,
                                       const api::ExactDeviceRequest& request,
                                       const std::shared_ptr<const api::Node>& node) {
  OnNode count{node->metadata.name};
  for (const plugins::ReachableDevice& device : devices_.slices.PoolsOf(node).devices) {
    if (!device.is_for_node || budget_.IsSpent() || ++looks_ > kLooksMax) continue;
    const bool is_one = std::ranges::all_of(selectors, [&](const plugins::DeviceSelectors::Ptr& selector) {
      const plugins::SelectorAnswer answer =
          selector->Matches(*device.slice->object, device.index, device.slice->memory);
      budget_.Charge(*selector, answer);
      return answer.matches.ok() && *answer.matches;
    });
    if (!is_one) continue;
    ++count.total;
    const plugins::DeviceUsage* const usage = devices_.claims.UsageOf(device.id());
    if (usage != nullptr && usage->IsAllocated() && !request.admin_access) continue;
    ++(plugins::HasUntoleratedTaint(device.device(), request) ? count.tainted : count.free);
  }
  return count;
}

std::string FreeDevices::Describe(const api::ExactDeviceRequest& request) {
  const std::string of_class = "of DeviceClass " + request.device_class_name;
  const std::int64_t wanted = std::max<std::int64_t>(request.count, 1);
  std::string text = request.allocation_mode == "All" ? "all devices " + of_class
                     : wanted == 1                    ? "a device " + of_class
                                                      : std::to_string(wanted) + " devices " + of_class;
  if (!request.selectors.empty()) text += " that its selectors match";
  std::vector<plugins::DeviceSelectors::Ptr> selectors = devices_.selectors.Get(request.selectors);
  if (const auto* device_class = objects_.Of<api::DeviceClass>().Find(request.device_class_name)) {
    for (auto& selector : devices_.selectors.Get(device_class->selectors)) selectors.push_back(std::move(selector));
  }
  std::vector<OnNode> counts;
  for (const auto& node : state_.nodes) {
    if (OnNode count = Count(selectors, request, node); count.total > 0) counts.push_back(std::move(count));
  }
  const bool is_complete = looks_ <= kLooksMax && !budget_.IsSpent();
  if (counts.empty()) return text + (is_complete ? "; no node has one" : "");
  std::ranges::sort(
      counts, [](const OnNode& a, const OnNode& b) { return a.free != b.free ? a.free > b.free : a.node < b.node; });
  text += "; free: ";
  for (std::size_t i = 0; i < std::min(counts.size(), kNodesShownMax); ++i) {
    const OnNode& each = counts[i];
    text += (i == 0 ? "" : ", ") + std::to_string(each.free) + " of " + std::to_string(each.total) + " on " + each.node;
    if (each.tainted > 0) text += " (" + std::to_string(each.tainted) + " tainted)";
  }
  if (counts.size() > kNodesShownMax) {
    const std::size_t others = counts.size() - kNodesShownMax;
    text += " and at most " + std::to_string(counts[kNodesShownMax - 1].free) + " on " +
            (others == 1 ? "another" : "each of " + std::to_string(others) + " others");
  }
  if (!is_complete) text += "; not all nodes were looked at";
  return text;
}

}  // namespace berth::whatif
