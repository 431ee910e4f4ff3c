// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/pod_group_preemption.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "berth/plugins/default_preemption/executor.h"
#include "berth/plugins/default_preemption/victim_ranking.h"
#include "berth/plugins/default_preemption/victim_units.h"

namespace berth::plugins {

using framework::PodInfoPtr;
using framework::Status;

namespace {

struct Candidate {
  VictimUnit unit;
  std::int64_t violations = 0;  // of its pods, that overdraw a budget
};

// Units of which a pod overdraws a budget come first, each part in the order that it had. `violations`: of each unit.
std::vector<Candidate> ViolatingFirst(std::vector<VictimUnit>&& units, std::span<const std::int64_t> violations) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < units.size(); ++i) candidates.push_back({std::move(units[i]), violations[i]});
  std::ranges::stable_partition(candidates, [](const Candidate& candidate) { return candidate.violations > 0; });
  return candidates;
}

}  // namespace

PodGroupVictims SelectPodGroupVictims(const framework::PodGroups& groups, std::int32_t priority,
                                      DisruptionBudgets& budgets, framework::PodGroupDryRun& dry_run,
                                      const framework::Release& release) {
  std::vector<VictimUnit> units = UnitsBelow(dry_run.nodes(), groups, priority, release);
  if (units.empty()) {
    const std::string why = "No preemption victims found for incoming preemptor";
    return {release.ranks_nodes_by_victims ? Status::Unschedulable(why) : Status::UnschedulableAndUnresolvable(why),
            {},
            {}};
  }
  for (const VictimUnit& unit : units) {
    for (const PodInfoPtr& pod : unit.pods) dry_run.RemovePod(pod);
  }
  const Time now = dry_run.wall_now();
  const auto is_more_important = [now, &release](const VictimUnit& a, const VictimUnit& b) {
    return IsMoreImportantUnit(a, b, now, release);
  };
  std::ranges::stable_sort(units, is_more_important);
  const std::vector<std::int64_t> violations = CountViolations(units, budgets);
  {
    VictimRanking ranking(units, violations);
    Status status = dry_run.TryGroup(release.ranks_nodes_by_victims ? &ranking : nullptr);
    if (!status.IsSuccess()) return {std::move(status), {}, {}};
  }
  PodGroupVictims found;
  std::vector<VictimUnit> victims;
  for (Candidate& candidate : ViolatingFirst(std::move(units), violations)) {
    VictimUnit& unit = candidate.unit;
    for (const PodInfoPtr& pod : unit.pods) dry_run.RestorePod(pod);
    if (dry_run.DoAssignmentsFit()) continue;
    for (const PodInfoPtr& pod : unit.pods) dry_run.RemovePod(pod);
    found.toll.pdb_violations += candidate.violations;
    ++found.toll.units.at(static_cast<std::size_t>(unit.kind));
    victims.push_back(std::move(unit));
  }
  std::ranges::stable_sort(victims, is_more_important);
  for (const VictimUnit& unit : victims) found.victims.insert(found.victims.end(), unit.pods.begin(), unit.pods.end());
  found.toll.victims = found.victims.size();
  return found;
}

bool IsPreemptionOngoing(const framework::PodGroups& groups, std::int32_t priority,
                         std::span<const framework::PodGroupMember> members, const framework::PodGroupDryRun& dry_run,
                         const PreemptionExecutor& executor, const framework::Release& release) {
  std::set<std::string_view> nominated;
  for (const framework::PodGroupMember& member : members) {
    if (!member.nominated_node_name.empty()) nominated.insert(member.nominated_node_name);
  }
  for (const std::string_view name : nominated) {
    const framework::NodeIndex row = dry_run.nodes().Find(name);
    if (row == framework::kNoNode) continue;
    for (const PodInfoPtr& pod : dry_run.nodes().Info(row).pods()) {
      const bool is_leaving = pod->deletion_time ? pod->is_preempted : executor.HasDeleted(pod->uid);
      if (is_leaving && VictimPriority(groups, *pod, release) < priority) return true;
    }
  }
  return false;
}

}  // namespace berth::plugins
