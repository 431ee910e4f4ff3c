// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_dry_run.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "berth/base/check.h"
#include "berth/core/scheduler/reserve_and_permit.h"
#include "berth/core/scheduler/scheduling_failure.h"

namespace berth::scheduler {

using framework::PodInfoPtr;
using framework::Status;

PodGroupTrialRun::PodGroupTrialRun(CoreState& state, Profile& profile, Random& random,
                                   const queue::QueuedPodGroup& group, std::span<const GroupMember> members)
    : state_(state),
      profile_(profile),
      random_(random),
      group_(group.root),
      waiting_since_(group.own.initial_attempt_timestamp.value_or(state.now)),
      members_(members),
      groups_(state.pod_groups.get()) {}

PodGroupTrialRun::~PodGroupTrialRun() {
  for (Change& change : changes_ | std::views::reverse) {
    if (change.place) {
      state_.cache.PutBack(std::move(change.pod), *change.place, change.was_assumed);
    } else {
      state_.cache.RemovePod(change.pod->uid);
    }
  }
}

void PodGroupTrialRun::RemovePod(const PodInfoPtr& pod) {
  const PodInfoPtr* const known = state_.cache.FindPod(pod->uid);
  if (known == nullptr) return;
  Change change{*known, {}, state_.cache.IsAssumed(pod->uid)};
  change.place = state_.cache.RemovePod(pod->uid);
  removed_.insert_or_assign(pod->uid, changes_.size());
  changes_.push_back(std::move(change));
}

void PodGroupTrialRun::RestorePod(const PodInfoPtr& pod) {
  const auto found = removed_.find(pod->uid);
  if (found == removed_.end()) return;
  const Change removal = changes_[found->second];
  removed_.erase(found);
  if (removal.was_assumed) {
    state_.cache.AssumePod(removal.pod);
  } else {
    state_.cache.SetPod(removal.pod);
  }
  restored_on_.push_back(removal.pod->node_name);
  // Other pods' anti-affinity reaches beyond their own node.
  has_restored_repellent_ |= !removal.pod->spec().pod_anti_affinity.required.empty();
  changes_.push_back({removal.pod, {}, removal.was_assumed});
}

Status PodGroupTrialRun::TryGroup(framework::NodeRanking* ranking) {
  std::vector<GroupMember> members;
  members.reserve(members_.size());
  for (const GroupMember& member : members_) members.emplace_back().queued = member.queued;
  PodGroupTrial trial(state_, profile_, random_);
  trial.RecordLocality();
  trial.RankBy(ranking);
  const GroupVerdict verdict = trial.Place(group_, members).at(group_);
  if (verdict.result == GroupVerdict::Result::kError) return Status::Error(verdict.Message());
  if (!verdict.IsScheduled()) return Status::Unschedulable(verdict.Message());
  assignments_.clear();
  assigned_nodes_.clear();
  restored_on_.clear();
  // As upstream, members that fitted count before 1.38 even if their PodGroup failed. They were not on their nodes when
  // others were tried.
  const bool counts_held_only = state_.release.ranks_nodes_by_victims;
  const auto is_free = [](const GroupMember& member) {
    return member.result == GroupMember::Result::kPlaced && !member.is_held;
  };
  are_filters_local_ = trial.is_local() && std::ranges::none_of(members, is_free);
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->is_held) Unreserve(state_, profile_, *member->assumed);
  }
  for (const GroupMember& member : members) {
    if (member.result != GroupMember::Result::kPlaced || (counts_held_only && !member.is_held)) continue;
    assignments_.push_back({member.queued.pod, member.assumed->node_name});
    assigned_nodes_.insert(member.assumed->node_name);
  }
  return {};
}

// If every assignment depends on its node alone, those on unchanged nodes still fit.
bool PodGroupTrialRun::DoAssignmentsFit() {
  const std::vector<std::string> restored_on = std::exchange(restored_on_, {});
  const auto is_assigned = [this](const std::string& node_name) { return assigned_nodes_.contains(node_name); };
  const bool is_local = are_filters_local_ && !std::exchange(has_restored_repellent_, false);
  if (is_local && std::ranges::none_of(restored_on, is_assigned)) return true;
  std::vector<PodInfoPtr> placed;
  bool do_fit = true;
  for (const framework::PodGroupAssignment& assignment : assignments_) {
    const bool is_changed = std::ranges::find(restored_on, assignment.node_name) != restored_on.end();
    if (is_local && !is_changed) continue;
    const framework::NodeIndex row = state_.cache.nodes().Find(assignment.node_name);
    state_.UpdateNominations();
    const std::uint64_t seed = random_.Next();
    const Status fits = profile_.evaluator.FitsOn(assignment.pod, state_.cache.nodes(), &state_.nominations.rows(), row,
                                                  seed, state_.WallNow());
    do_fit = fits.IsSuccess();
    if (!do_fit) break;
    placed.push_back(WithNode(*assignment.pod, assignment.node_name));
    state_.cache.AssumePod(placed.back(), row);
    // As upstream, the plugins' answers are ignored.
    static_cast<void>(RunReserve(state_, profile_, profile_.evaluator.cycle(), *placed.back(), false));
  }
  for (auto pod = placed.rbegin(); pod != placed.rend(); ++pod) Unreserve(state_, profile_, **pod);
  return do_fit;
}

}  // namespace berth::scheduler
