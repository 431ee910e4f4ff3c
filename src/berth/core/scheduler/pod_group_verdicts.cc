// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_verdicts.h"

#include <utility>

namespace berth::scheduler {

using framework::PodGroupKey;

namespace {

void BeUntried(GroupMember& member) {
  member.result = GroupMember::Result::kNotTried;
  member.assumed = nullptr;
  member.failure = {};
  member.refusals.clear();
}

// The verdict of a group that the group above it takes down.
GroupVerdict BelowFailed(const PodGroupKey& above, const GroupVerdict& verdict) {
  const std::string who = "ancestor composite pod group \"" + above.name + "\" ";
  if (verdict.result == GroupVerdict::Result::kError) return GroupVerdict::Failed(who + "encountered an error");
  return GroupVerdict::Refused({who + "is unschedulable"});
}

}  // namespace

PodGroupVerdicts::PodGroupVerdicts(const framework::PodGroups& groups, const PodGroupKey& root,
                                   const GroupVerdicts& tried, std::span<GroupMember> members, bool names_failed)
    : root_(root), names_failed_(names_failed) {
  std::set<PodGroupKey> untried;
  Complete(groups, root, {}, tried, untried);
  for (const auto& [group, verdict] : verdicts_) as_tried_.emplace(group, *verdict);
  if (untried.empty()) return;
  for (GroupMember& member : members) {
    if (untried.contains(framework::GroupOf(*member.queued.pod))) BeUntried(member);
  }
}

void PodGroupVerdicts::Complete(const framework::PodGroups& groups, const PodGroupKey& group, const Above& above,
                                const GroupVerdicts& tried, std::set<PodGroupKey>& untried) {
  const auto found = tried.find(group);
  const bool is_below_failed = above.verdict != nullptr && !above.verdict->IsScheduled();
  bool counts = found != tried.end() && (!is_below_failed || !found->second.IsScheduled());
  Shared verdict;
  if (names_failed_ && is_below_failed) {
    using enum GroupVerdict::Result;
    if (counts && above.verdict->result == kError) counts = found->second.result == kError;
    if (!counts) verdict = std::make_shared<GroupVerdict>(BelowFailed(above.group, *above.verdict));
  }
  if (verdict == nullptr) verdict = counts ? std::make_shared<GroupVerdict>(found->second) : above.verdict;
  verdicts_.emplace(group, verdict);
  if (!group.is_composite) {
    // Since 1.38 members keep what became of them, whatever the groups above say.
    if (names_failed_ ? found == tried.end() : !counts) untried.insert(group);
    return;
  }
  const Above here = names_failed_ && !counts ? above : Above{group, verdict};
  for (const PodGroupKey& child : groups.ChildrenOf(group)) Complete(groups, child, here, tried, untried);
}

const GroupVerdict& PodGroupVerdicts::Of(const PodGroupKey& group) const {
  const auto found = verdicts_.find(group);
  return found == verdicts_.end() ? root() : *found->second;
}

const GroupVerdict& PodGroupVerdicts::AsTried(const PodGroupKey& leaf) const {
  const auto found = as_tried_.find(leaf);
  return found == as_tried_.end() ? as_tried_.at(root_) : found->second;
}

void PodGroupVerdicts::AddReason(const std::string& reason) {
  for (const auto& [group, verdict] : verdicts_) verdict->reasons.push_back(reason);
}

void PodGroupVerdicts::Fail(const std::string& error) {
  for (const auto& [group, verdict] : verdicts_) *verdict = GroupVerdict::Failed(error);
}

}  // namespace berth::scheduler
