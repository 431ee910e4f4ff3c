// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victim_units.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace berth::plugins {

using framework::PodGroupKey;
using framework::PodGroups;
using framework::PodInfo;
using framework::PodInfoPtr;

namespace {

bool IsDisruptedWhole(const PodGroups& groups, const PodGroupKey& key) {
  return framework::ReadGroup(groups, key, false, [](const auto& group) { return group.is_disrupted_whole; });
}

// The highest of the pod's groups that is disrupted whole.
std::optional<PodGroupKey> WholeGroupOf(const PodGroups& groups, const PodInfo& pod) {
  std::optional<PodGroupKey> whole;
  if (pod.pod_group_name.empty()) return whole;
  for (PodGroupKey& key : framework::AncestryOf(groups, framework::GroupOf(pod))) {
    if (IsDisruptedWhole(groups, key)) whole = std::move(key);
  }
  return whole;
}

VictimUnit UnitOfPod(const PodInfoPtr& pod, std::int32_t priority) {
  // As important as a group, upstream: NewPodVictim.
  const bool is_member = !pod->pod_group_name.empty();
  return {is_member ? VictimUnit::Kind::kPodGroup : VictimUnit::Kind::kPod, priority, {pod}};
}

VictimUnit EmptyUnitOf(const PodGroupKey& group, std::int32_t priority) {
  return {group.is_composite ? VictimUnit::Kind::kCompositePodGroup : VictimUnit::Kind::kPodGroup, priority, {}};
}

Time EarliestStart(const VictimUnit& unit, Time now) {
  Time earliest = Time::max();
  for (const PodInfoPtr& pod : unit.pods) earliest = std::min(earliest, pod->start_time.value_or(now));
  return earliest;
}

}  // namespace

std::int32_t VictimPriority(const PodGroups& groups, const PodInfo& pod) {
  if (pod.pod_group_name.empty()) return pod.priority();
  const std::vector<PodGroupKey> ancestry = framework::AncestryOf(groups, framework::GroupOf(pod));
  return ancestry.empty() ? pod.priority() : framework::PriorityOf(groups, ancestry.back());
}

std::vector<VictimUnit> UnitsOn(const framework::NodeInfo& node, const PodGroups& groups) {
  std::vector<VictimUnit> units;
  std::vector<PodGroupKey> seen;  // a node has pods of few groups
  for (const PodInfoPtr& pod : node.pods()) {
    const std::int32_t priority = VictimPriority(groups, *pod);
    const std::optional<PodGroupKey> whole = WholeGroupOf(groups, *pod);
    if (!whole) {
      units.push_back(UnitOfPod(pod, priority));
      continue;
    }
    if (std::ranges::find(seen, *whole) != seen.end()) continue;
    seen.push_back(*whole);
    VictimUnit unit = EmptyUnitOf(*whole, priority);
    for (const PodGroupKey& leaf : framework::LeavesOf(groups, *whole))
      std::ranges::move(groups.ScheduledPods(leaf), std::back_inserter(unit.pods));
    units.push_back(unit.pods.empty() ? UnitOfPod(pod, priority) : std::move(unit));
  }
  return units;
}

std::vector<VictimUnit> UnitsBelow(const framework::NodeList& nodes, const PodGroups& groups,
                                   std::int32_t priority_limit) {
  std::vector<VictimUnit> units;
  absl::flat_hash_map<PodGroupKey, std::size_t> unit_of;  // by the group that is disrupted whole
  for (const framework::NodeIndex row : nodes.rows()) {
    for (const PodInfoPtr& pod : nodes.Info(row).pods()) {
      const std::int32_t priority = VictimPriority(groups, *pod);
      if (priority >= priority_limit) continue;
      const std::optional<PodGroupKey> whole = WholeGroupOf(groups, *pod);
      if (!whole) {
        units.push_back(UnitOfPod(pod, priority));
        continue;
      }
      const auto [found, is_new] = unit_of.try_emplace(*whole, units.size());
      if (is_new) units.push_back(EmptyUnitOf(*whole, priority));
      units[found->second].pods.push_back(pod);
    }
  }
  return units;
}

bool IsMoreImportantUnit(const VictimUnit& a, const VictimUnit& b, Time now) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.kind != b.kind) return a.kind > b.kind;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  return EarliestStart(a, now) < EarliestStart(b, now);
}

}  // namespace berth::plugins
