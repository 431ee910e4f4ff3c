// SPDX-License-Identifier: Apache-2.0
// PodGroupVerdicts: what a cycle comes to for a pod group and all groups within it. A group within one that was not
// placed is not placed either, and has then the same verdict: what is added to it shows with each of them. Upstream:
// completeCompositePodGroupAlgorithmResult, applyPodGroupPostFilterResult. Within turns only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "berth/core/scheduler/pod_group_trial.h"
#include "berth/framework/pod_groups.h"

namespace berth::scheduler {

class PodGroupVerdicts {
 public:
  // `tried`: of the trial, with that of `root`. Members of PodGroups whose trial counts no more are as if not tried.
  PodGroupVerdicts(const framework::PodGroups& groups, const framework::PodGroupKey& root, const GroupVerdicts& tried,
                   std::span<GroupMember> members);

  const GroupVerdict& root() const { return *verdicts_.at(root_); }
  // Of a PodGroup within it.
  const GroupVerdict& Of(const framework::PodGroupKey& leaf) const;
  // The same as it was before anything was added.
  const GroupVerdict& AsTried(const framework::PodGroupKey& leaf) const;

  // Each group's verdict gets the reason: one that several groups share gets it as often.
  void AddReason(const std::string& reason);
  // All of them fail.
  void Fail(const std::string& error);

 private:
  using Shared = std::shared_ptr<GroupVerdict>;

  // `above`: of the group that this one is in; null: it is the root. PodGroups whose trial counts no more go to
  // `untried`.
  void Complete(const framework::PodGroups& groups, const framework::PodGroupKey& group, const Shared& above,
                const GroupVerdicts& tried, std::set<framework::PodGroupKey>& untried);

  const framework::PodGroupKey root_;
  std::map<framework::PodGroupKey, Shared> verdicts_;
  GroupVerdicts as_tried_;
};

}  // namespace berth::scheduler
