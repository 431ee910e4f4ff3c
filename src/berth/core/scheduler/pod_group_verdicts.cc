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

}  // namespace

PodGroupVerdicts::PodGroupVerdicts(const framework::PodGroups& groups, const PodGroupKey& root,
                                   const GroupVerdicts& tried, std::span<GroupMember> members)
    : root_(root) {
  std::set<PodGroupKey> untried;
  Complete(groups, root, nullptr, tried, untried);
  for (const auto& [group, verdict] : verdicts_) as_tried_.emplace(group, *verdict);
  if (untried.empty()) return;
  for (GroupMember& member : members) {
    if (untried.contains(framework::GroupOf(*member.queued.pod))) BeUntried(member);
  }
}

void PodGroupVerdicts::Complete(const framework::PodGroups& groups, const PodGroupKey& group, const Shared& above,
                                const GroupVerdicts& tried, std::set<PodGroupKey>& untried) {
  const auto found = tried.find(group);
  const bool counts =
      found != tried.end() && (above == nullptr || above->IsScheduled() || !found->second.IsScheduled());
  const Shared verdict = counts ? std::make_shared<GroupVerdict>(found->second) : above;
  verdicts_.emplace(group, verdict);
  if (!group.is_composite) {
    if (!counts) untried.insert(group);
    return;
  }
  for (const PodGroupKey& child : groups.ChildrenOf(group)) Complete(groups, child, verdict, tried, untried);
}

const GroupVerdict& PodGroupVerdicts::Of(const PodGroupKey& leaf) const {
  const auto found = verdicts_.find(leaf);
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
