// SPDX-License-Identifier: Apache-2.0
// PodGroupCycle: one scheduling cycle of a pod group that the queue has handed out. All its waiting members are tried;
// all are bound, or none is. In a composite group this holds for each PodGroup within it. Within turns only.
//
//   TakePoppedGroup --> valid? --> members that are deleted or assumed are dropped --> PodGroupTrial
//                         | no                                                           |
//                         v                             refused: room is made            | placed: Permit, then
//        every member fails, condition SchedulerError   for the group (PostFilter)       | BindingStarter
//                         |                                   v                          v
//                         +-----------------------------> condition of the group, EndGroup
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/base/random.h"
#include "berth/core/scheduler/core_interfaces.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/pod_group_conditions.h"
#include "berth/core/scheduler/pod_group_trial.h"
#include "berth/core/scheduler/pod_group_verdicts.h"

namespace berth::scheduler {

class PodGroupCycle {
 public:
  // All arguments must outlive it.
  PodGroupCycle(CoreState& state, BindingStarter& bindings, PodGroupConditions& conditions)
      : state_(state), bindings_(bindings), conditions_(conditions) {}

  // The queue has just popped a group.
  void Run(Random& random);

 private:
  // Why the members' profile cannot be told.
  std::string WhyWithoutProfile(const framework::PodInfo& first) const;
  std::string WhyDeferred(std::span<const GroupMember> members);
  void FailAll(std::vector<GroupMember>&& members, const std::string& why);
  void DropStale(const Profile& profile, std::vector<GroupMember>& members);
  // The outcome of the PodGroupPostFilter plugins.
  struct Room {
    framework::Code code = framework::Code::kUnschedulable;  // kSuccess: the group waits for what a plugin has begun
    bool is_tried_soon = false;
  };
  Room MakeRoom(Profile& profile, Random& random, const queue::QueuedPodGroup& group, std::span<GroupMember> members,
                PodGroupVerdicts& verdicts);
  Room AskForRoom(Profile& profile, Random& random, const queue::QueuedPodGroup& group, std::span<GroupMember> members,
                  PodGroupVerdicts& verdicts);
  framework::PodGroupPostFilterResult Ask(const framework::PodGroupPostFilterPlugin& plugin, Profile& profile,
                                          Random& random, const queue::QueuedPodGroup& group,
                                          std::span<GroupMember> members);
  void ObservePreemption(const framework::PodGroupKey& root, const framework::PodGroupPostFilterResult& result,
                         Time began);
  void Submit(Profile& profile, const PodGroupVerdicts& verdicts, bool is_waiting, GroupMember&& member);
  void Bind(Profile& profile, GroupMember&& member);
  void RecordDecision(const GroupMember& member, const std::string& message);
  void SetCondition(const framework::PodGroupKey& group, const GroupVerdict& verdict);

  CoreState& state_;
  BindingStarter& bindings_;
  PodGroupConditions& conditions_;
};

}  // namespace berth::scheduler
