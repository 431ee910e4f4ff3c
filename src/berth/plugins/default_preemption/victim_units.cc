// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/victim_units.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

using framework::PodGroupKey;
using framework::PodGroups;
using framework::Release;

namespace {

// What a pod is as a victim.
struct Standing {
  std::optional<std::int32_t> priority;  // none: the pod's own
  std::optional<PodGroupKey> whole;      // the highest of its groups that is disrupted whole
};

Standing StandingOf(const PodGroups& groups, const PodGroupKey& group) {
  Standing standing;
  std::vector<PodGroupKey> ancestry = framework::AncestryOf(groups, group);
  if (ancestry.empty()) return standing;
  standing.priority = framework::PriorityOf(groups, ancestry.back());
  for (PodGroupKey& key : ancestry) {
    if (framework::IsDisruptedWhole(groups, key)) standing.whole = std::move(key);
  }
  return standing;
}

// Asks each group once: thousands of pods are in some hundred groups. Whoever uses it keeps the pods.
class Standings {
 public:
  Standings(const PodGroups& groups, const Release& release)
      : groups_(groups), has_own_priority_(release.ranks_victims_by_pod) {}

  // The reference is good until the next call.
  const Standing& Of(const PodInfo& pod) {
    if (pod.pod_group_name.empty()) return alone_;
    const auto [found, is_new] = known_.try_emplace(Name(pod.namespace_name(), pod.pod_group_name));
    if (is_new) {
      found->second = StandingOf(groups_, framework::GroupOf(pod));
      if (has_own_priority_) found->second.priority.reset();
    }
    return found->second;
  }

 private:
  using Name = std::pair<std::string_view, std::string_view>;  // namespace and name

  const PodGroups& groups_;
  const bool has_own_priority_;
  const Standing alone_;
  absl::flat_hash_map<Name, Standing> known_;
};

VictimUnit UnitOfPod(const PodInfoPtr& pod, std::int32_t priority, const Release& release) {
  // In older releases as important as a group, upstream: NewPodVictim.
  const bool is_member = !pod->pod_group_name.empty() && !release.ranks_victims_by_pod;
  return {is_member ? VictimUnit::Kind::kPodGroup : VictimUnit::Kind::kPod, priority, {pod}};
}

VictimUnit EmptyUnitOf(const PodGroupKey& group, std::int32_t priority) {
  return {group.is_composite ? VictimUnit::Kind::kCompositePodGroup : VictimUnit::Kind::kPodGroup, priority, {}};
}

bool HasStarted(const VictimUnit& unit) {
  return std::ranges::any_of(unit.pods, [](const PodInfoPtr& pod) { return pod->start_time.has_value(); });
}

Time EarliestStart(const VictimUnit& unit, Time now) {
  Time earliest = Time::max();
  for (const PodInfoPtr& pod : unit.pods) earliest = std::min(earliest, pod->start_time.value_or(now));
  return earliest;
}

// False: there is no unit below the limit. That is seen by a look at each node and each group, not at each pod. True
// may be wrong: where of a pod in a group only the group's priority counts, nodes know the pods' own.
bool MayHaveUnitBelow(const NodeList& nodes, const PodGroups& groups, std::int32_t priority_limit,
                      const Release& release) {
  const auto has_lower = [&](NodeIndex row) { return nodes.Info(row).lowest_priority() < priority_limit; };
  if (std::ranges::any_of(nodes.rows(), has_lower)) return true;
  return !release.ranks_victims_by_pod && std::ranges::any_of(groups.GroupsOfPods(), [&](const PodGroupKey& group) {
    return StandingOf(groups, group).priority.value_or(priority_limit) < priority_limit;
  });
}

}  // namespace

std::int32_t VictimPriority(const PodGroups& groups, const PodInfo& pod, const Release& release) {
  if (pod.pod_group_name.empty() || release.ranks_victims_by_pod) return pod.priority();
  return StandingOf(groups, framework::GroupOf(pod)).priority.value_or(pod.priority());
}

std::vector<VictimUnit> UnitsOn(const NodeInfo& node, const PodGroups& groups, const Release& release) {
  std::vector<VictimUnit> units;
  Standings standings(groups, release);
  std::vector<PodGroupKey> seen;  // a node has pods of few groups
  for (const PodInfoPtr& pod : node.pods()) {
    const auto& [group_priority, whole] = standings.Of(*pod);
    const std::int32_t priority = group_priority.value_or(pod->priority());
    if (!whole) {
      units.push_back(UnitOfPod(pod, priority, release));
      continue;
    }
    if (std::ranges::find(seen, *whole) != seen.end()) continue;
    seen.push_back(*whole);
    VictimUnit unit = EmptyUnitOf(*whole, priority);
    for (const PodGroupKey& leaf : framework::LeavesOf(groups, *whole))
      std::ranges::move(groups.ScheduledPods(leaf), std::back_inserter(unit.pods));
    units.push_back(unit.pods.empty() ? UnitOfPod(pod, priority, release) : std::move(unit));
  }
  return units;
}

std::vector<VictimUnit> UnitsBelow(const NodeList& nodes, const PodGroups& groups, std::int32_t priority_limit,
                                   const Release& release) {
  std::vector<VictimUnit> units;
  if (!MayHaveUnitBelow(nodes, groups, priority_limit, release)) return units;
  Standings standings(groups, release);
  constexpr std::size_t kNotBelow = std::numeric_limits<std::size_t>::max();
  absl::flat_hash_map<PodGroupKey, std::size_t> unit_of;  // by the group that is disrupted whole
  for (const NodeIndex row : nodes.rows()) {
    for (const PodInfoPtr& pod : nodes.Info(row).pods()) {
      const auto& [group_priority, whole] = standings.Of(*pod);
      const std::int32_t priority = group_priority.value_or(pod->priority());
      const bool is_below = priority < priority_limit;
      if (!whole) {
        if (is_below) units.push_back(UnitOfPod(pod, priority, release));
        continue;
      }
      // The first pod of a unit speaks for the others.
      const auto [found, is_new] = unit_of.try_emplace(*whole, is_below ? units.size() : kNotBelow);
      if (found->second == kNotBelow) continue;
      if (is_new) units.push_back(EmptyUnitOf(*whole, priority));
      units[found->second].pods.push_back(pod);
    }
  }
  return units;
}

bool IsMoreImportantUnit(const VictimUnit& a, const VictimUnit& b, Time now, const Release& release) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.kind != b.kind) return a.kind > b.kind;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  const Time start_a = EarliestStart(a, now);
  const Time start_b = EarliestStart(b, now);
  if (start_a != start_b || !release.orders_victims_by_uid) return start_a < start_b;
  const bool has_started = HasStarted(a);
  if (has_started != HasStarted(b)) return has_started;
  return has_started && a.pods.front()->uid < b.pods.front()->uid;
}

}  // namespace berth::plugins
