// SPDX-License-Identifier: Apache-2.0
// PodGroupTrial: tries to place the members of a pod group, one after the other, each as a scheduling cycle does, on
// the live cache: a member that fits is assumed and reserved, so that the next one sees it. What did not lead to a
// placing of the group is taken back, the last one first. With topology placements (gate
// TopologyAwareWorkloadScheduling) it does so on each placement by itself, with all other nodes hidden, and places the
// group where that scores best. A composite group tries its children in the same way, each on the nodes of the
// placement that is tried for it, and each with all that is within the child. Upstream:
// podGroupSchedulingDefaultAlgorithm, podGroupSchedulingPlacementAlgorithm, podGroupSchedulingRecursiveAlgorithm.
// Within turns only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/framework/pod_groups.h"

namespace berth::scheduler {

// What a cycle comes to for a group, as upstream's Status.
struct GroupVerdict {
  enum class Result : std::uint8_t { kScheduled, kRefused, kError };

  Result result = Result::kScheduled;
  std::string error;  // of kError: what went wrong; of kRefused: what stands before the reasons, if anything does
  std::vector<std::string> reasons;

  bool IsScheduled() const { return result == Result::kScheduled; }
  std::string Message() const;

  static GroupVerdict Refused(std::vector<std::string> reasons, std::string_view in_front = {});
  static GroupVerdict Failed(std::string error);
};

// Of a group and all groups within it; those that were not tried, or whose trial counts no more, are not in it.
using GroupVerdicts = std::map<framework::PodGroupKey, GroupVerdict>;

// What stands before the reasons of a group that was refused as a whole.
inline constexpr std::string_view kPodGroupUnschedulable = "pod group is unschedulable";

// A member in a cycle.
struct GroupMember {
  enum class Result : std::uint8_t { kNotTried, kPlaced, kRefused, kFailed };

  queue::QueuedPodInfo queued;
  std::string nominated_before;  // its node before the cycle; empty: none
  Result result = Result::kNotTried;
  framework::CycleState state;  // what plugins wrote for it
  // Of kPlaced:
  framework::PodInfoPtr assumed;
  framework::NodeIndex row = framework::kNoNode;
  bool is_held = false;  // it is assumed and reserved now
  // Of kRefused and kFailed: what the pod is told.
  SchedulingFailure failure;
  // For the decision log.
  std::uint64_t seed = 0;
  std::int64_t total = 0;
  std::uint32_t node_count = 0;
  std::uint32_t feasible_count = 0;
  std::vector<std::pair<framework::Status, std::size_t>> refusals;
};

class PodGroupTrial {
 public:
  // All must outlive it.
  PodGroupTrial(CoreState& state, Profile& profile, Random& random);

  // Tries the members of a group, which come in the order of framework::LeavesOf(). The verdict of the group itself is
  // always among those that it returns. Members are held where the verdict of their PodGroup and of all groups above is
  // kScheduled; others that fitted say kPlaced all the same. A group of which no member is new to its node is not
  // scheduled.
  GroupVerdicts Place(const framework::PodGroupKey& group, std::span<GroupMember> members);

  // Notes from now on whether the filters of the members that are tried look at one node alone.
  void RecordLocality() { is_local_ = true; }
  bool is_local() const { return is_local_.value_or(false); }

 private:
  using Nodes = std::map<std::string, std::shared_ptr<const api::Node>>;
  // A placement on which the group was tried. What was found out about members and groups within it is kept for the
  // first placement, and for those that may be the best until so many members are kept; the best one is tried once more
  // if it is not among these.
  static constexpr std::size_t kTriedMembersMax = 20'000;
  struct Tried {
    GroupVerdicts verdicts;
    std::vector<GroupMember> members;  // empty: not kept
    std::vector<framework::PodGroupAssignment> assignments;
  };

  // Each writes the verdict of the group, and those of groups within it.
  void PlaceGroup(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  void PlaceHere(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  void PlaceBest(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  framework::Status Generate(const framework::PodGroupKey& group,
                             std::vector<framework::PodGroupPlacement>& placements) const;
  std::vector<Tried> TryPlacements(const framework::PodGroupKey& group, std::span<const GroupMember> members,
                                   std::span<const framework::PodGroupPlacement> placements);
  framework::Status ChooseBest(const framework::PodGroupKey& group,
                               std::span<const framework::PodGroupPlacement> placements, std::span<const Tried> tried,
                               std::size_t& best);
  framework::Status ScorePlacements(const framework::PodGroupKey& group,
                                    std::span<const framework::PodGroupPlacement> placements,
                                    std::span<const Tried> tried, std::span<const std::size_t> candidates,
                                    std::span<std::int64_t> totals) const;
  // What has ended began at `began`.
  void ObservePoint(instruments::Point point, framework::Code code, Time began) const;
  void Assume(GroupMember& member);
  void Reserve(GroupMember& member, const framework::Cycle& cycle);
  void TakeBack(std::span<GroupMember> members);
  GroupVerdict TryMembers(const framework::PodGroupKey& group, std::span<GroupMember> members);
  GroupVerdict TryChildren(const framework::PodGroupKey& group, std::span<GroupMember> members,
                           GroupVerdicts& verdicts);
  framework::Status AskFeasible(const framework::PodGroupKey& group,
                                const framework::PlacementProgress& progress) const;
  void PlaceMember(GroupMember& member);

  CoreState& state_;
  Profile& profile_;
  Random& random_;
  const framework::PlacementGeneratePlugin* generator_ = nullptr;  // null: all nodes are one placement
  const Nodes* all_nodes_ = nullptr;                               // while some are hidden
  std::optional<bool> is_local_;                                   // nullopt: nobody asks
};

}  // namespace berth::scheduler
