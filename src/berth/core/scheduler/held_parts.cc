// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/held_parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "berth/base/check.h"

namespace berth::scheduler {

using framework::PodClass;

namespace {

bool Covers(const framework::Resource& room, const framework::Resource& asked) {
  return asked.cpu_milli <= room.cpu_milli && asked.memory_bytes <= room.memory_bytes &&
         asked.ephemeral_storage_bytes <= room.ephemeral_storage_bytes &&
         std::ranges::all_of(asked.scalars, [&](const auto& each) { return each.second <= room.Scalar(each.first); });
}

// Room that a smaller pod would take; of what few nodes have first.
std::array<std::uint64_t, 4> SizeOf(const framework::Resource& room) {
  std::uint64_t scalars = 0;
  for (const auto& [resource, amount] : room.scalars) scalars += static_cast<std::uint64_t>(amount);
  return {scalars, static_cast<std::uint64_t>(room.cpu_milli), static_cast<std::uint64_t>(room.memory_bytes),
          static_cast<std::uint64_t>(room.ephemeral_storage_bytes)};
}

}  // namespace

Fit FitOf(const PodClass& stand_in, const PodClass& pod) {
  if (stand_in.id == pod.id || (stand_in.placement_id != 0 && stand_in.placement_id == pod.placement_id))
    return Fit::kSame;
  if (stand_in.requests == pod.requests) {
    const bool is_kin =
        stand_in.spec.node_selector == pod.spec.node_selector && stand_in.spec.node_affinity == pod.spec.node_affinity;
    return is_kin ? Fit::kKin : Fit::kSameSize;
  }
  return Covers(stand_in.requests, pod.requests) ? Fit::kSmaller : Fit::kNone;
}

void HeldParts::Add(std::size_t part, const std::shared_ptr<const PodClass>& stand_in, const std::string& node_name) {
  const auto [at, is_new] = group_of_.try_emplace(stand_in.get(), groups_.size());
  if (is_new) groups_.push_back({stand_in, {}, {}});
  Group& group = groups_[at->second];
  const bool is_added = group.parts.insert(part).second;
  BERTH_CHECK(is_added, part, node_name);
  group.on_node[node_name].insert(part);
  ++on_node_[node_name];
}

void HeldParts::Remove(std::size_t part, const PodClass& stand_in, std::string_view node_name) {
  const auto at = group_of_.find(&stand_in);
  BERTH_CHECK(at != group_of_.end(), part, node_name);
  Group& group = groups_[at->second];
  const auto there = group.on_node.find(node_name);
  BERTH_CHECK(there != group.on_node.end() && group.parts.erase(part) == 1 && there->second.erase(part) == 1, part,
              node_name);
  if (there->second.empty()) group.on_node.erase(there);
  const auto count = on_node_.find(node_name);
  if (--count->second == 0) on_node_.erase(count);
  if (!group.parts.empty()) return;
  const std::size_t gone = at->second;
  group_of_.erase(at);
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (auto& [pod_class, index] : group_of_) index -= index > gone ? 1 : 0;
}

std::optional<std::size_t> HeldParts::BestFor(const framework::PodInfo& pod) const {
  // The fit, the size, whether it is on another node, the part.
  std::optional<std::tuple<Fit, std::array<std::uint64_t, 4>, bool, std::size_t>> best;
  for (const Group& group : groups_) {
    const Fit fit = FitOf(*group.stand_in, *pod.pod_class);
    if (best && std::get<Fit>(*best) < fit) continue;
    // The larger room is for a larger pod that may still come.
    const auto size = fit == Fit::kSmaller ? SizeOf(group.stand_in->requests) : std::array<std::uint64_t, 4>{};
    std::tuple found{fit, size, !pod.node_name.empty(), *group.parts.begin()};
    if (!pod.node_name.empty()) {
      const auto there = group.on_node.find(pod.node_name);
      if (there != group.on_node.end()) found = {fit, size, false, *there->second.begin()};
    }
    if (!best || found < *best) best = found;
  }
  return best ? std::optional(std::get<std::size_t>(*best)) : std::nullopt;
}

}  // namespace berth::scheduler
