// SPDX-License-Identifier: Apache-2.0
// PodGroupVerdicts: the result of a cycle for a pod group and all groups within it. A group inside one that was not
// placed is not placed either. It shares that verdict, so that a reason added to one shows in both. Upstream:
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
  // `tried` are the verdicts of the trial, including that of `root`. Members of a PodGroup become kNotTried if it was
  // not tried, or, without `names_failed`, if it was placed inside a group that was refused.
  // `names_failed`: Release::names_failed_groups.
  PodGroupVerdicts(const framework::PodGroups& groups, const framework::PodGroupKey& root, const GroupVerdicts& tried,
                   std::span<GroupMember> members, bool names_failed = false);

  const GroupVerdict& root() const { return *verdicts_.at(root_); }
  // The verdict of a group within the root.
  const GroupVerdict& Of(const framework::PodGroupKey& group) const;
  // The verdict before anything was added.
  const GroupVerdict& AsTried(const framework::PodGroupKey& leaf) const;

  // Adds the reason to the verdict of each group. A verdict that several groups share gets it once for each of them, as
  // upstream does.
  void AddReason(const std::string& reason);
  // All groups fail with this error.
  void Fail(const std::string& error);

 private:
  using Shared = std::shared_ptr<GroupVerdict>;

  struct Above {
    framework::PodGroupKey group;
    Shared verdict;  // null: the group is the root
  };
  // `above` is the parent, or with `names_failed_` the nearest group above that has failed. PodGroups whose
  // members become kNotTried are added to `untried`.
  void Complete(const framework::PodGroups& groups, const framework::PodGroupKey& group, const Above& above,
                const GroupVerdicts& tried, std::set<framework::PodGroupKey>& untried);

  const framework::PodGroupKey root_;
  const bool names_failed_;
  std::map<framework::PodGroupKey, Shared> verdicts_;
  GroupVerdicts as_tried_;
};

}  // namespace berth::scheduler
