// SPDX-License-Identifier: Apache-2.0
// PodGroupTrial: tries to place the members of a pod group one after the other on the live cache, each as a scheduling
// cycle does. A member that fits is assumed and reserved, so that the next one sees it. If the group is not placed,
// this is taken back in reverse order. With topology placements (gate TopologyAwareWorkloadScheduling) it tries them
// separately, with all other nodes hidden, until the group fits on as many as the profile wants, and uses the one with
// the best score. A composite group tries its children in the same way, each on the nodes of the placement being tried,
// with all groups and members within the child. Upstream: podGroupSchedulingDefaultAlgorithm,
// podGroupSchedulingPlacementAlgorithm, podGroupSchedulingRecursiveAlgorithm. Within turns only.
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
#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/pod_groups.h"

namespace berth::scheduler {

// The result of a cycle for a group, as upstream's Status.
struct GroupVerdict {
  enum class Result : std::uint8_t { kScheduled, kRefused, kError };

  Result result = Result::kScheduled;
  std::string error;  // kError: what went wrong; kRefused: prefix of the reasons, may be empty
  std::vector<std::string> reasons;
  // With Release::names_failed_groups: members that were not tried name their group instead of these reasons.
  bool is_named_by_members = true;

  bool IsScheduled() const { return result == Result::kScheduled; }
  std::string Message() const;

  static GroupVerdict Refused(std::vector<std::string> reasons, std::string_view in_front = {});
  static GroupVerdict Failed(std::string error);
};

// Verdicts of a group and of all groups within it, except those that were not tried or whose trial was discarded.
using GroupVerdicts = std::map<framework::PodGroupKey, GroupVerdict>;

// Prefix of the reasons of a group that was refused as a whole.
inline constexpr std::string_view kPodGroupUnschedulable = "pod group is unschedulable";
// Prefix of a pod's message with Release::names_failed_groups, when its group is the reason.
inline constexpr std::string_view kParentPodGroup = "parent pod group ";

// A member of the group in this cycle.
struct GroupMember {
  enum class Result : std::uint8_t { kNotTried, kPlaced, kRefused, kFailed };

  queue::QueuedPodInfo queued;
  std::string nominated_before;  // its node before the cycle; empty: none
  Result result = Result::kNotTried;
  framework::CycleState state;  // plugins' data about this member
  // Set when the result is kPlaced.
  framework::PodInfoPtr assumed;
  framework::NodeIndex row = framework::kNoNode;
  bool is_held = false;  // it is assumed and reserved at present
  // Set when the result is kRefused or kFailed.
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
  // All arguments must outlive it.
  PodGroupTrial(CoreState& state, Profile& profile, Random& random);

  // Tries the members of a group, which must be in the order of framework::LeavesOf(). The result always contains the
  // verdict of the group itself. Members are held if the verdict of their PodGroup and of all groups above it is
  // kScheduled; other members that fitted have kPlaced all the same. A group is not scheduled if none of its members is
  // new to its node.
  GroupVerdicts Place(const framework::PodGroupKey& group, std::span<GroupMember> members);

  // From now on records whether the filters of the members that are tried look at single nodes only.
  void RecordLocality() { is_local_ = true; }
  bool is_local() const { return is_local_.value_or(false); }
  // From now on each member goes to one of the nodes that `ranking` puts first among those on which it fits. Null ends
  // that; otherwise it must outlive the trial.
  void RankBy(framework::NodeRanking* ranking) { ranking_ = ranking; }

 private:
  using Nodes = std::map<std::string, std::shared_ptr<const api::Node>>;
  // A placement on which the group was tried. The results for members and inner groups are kept for the first placement
  // and, up to this total number of members, for later ones that may be the best. If the best one's results are not
  // kept, it is tried again.
  static constexpr std::size_t kTriedMembersMax = 20'000;
  // The least percentage of placements to find where the number of nodes decides.
  static constexpr std::size_t kPlacementPercentageMin = 5;
  struct Tried {
    GroupVerdicts verdicts;
    std::vector<GroupMember> members;  // empty: not kept
    std::vector<framework::PodGroupAssignment> assignments;
  };

  // These three write the verdicts of the group and of all groups within it.
  void PlaceGroup(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  void PlaceHere(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  void PlaceBest(const framework::PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts);
  framework::Status Generate(const framework::PodGroupKey& group,
                             std::vector<framework::PodGroupPlacement>& placements) const;
  std::vector<Tried> TryPlacements(const framework::PodGroupKey& group, std::span<const GroupMember> members,
                                   std::span<const framework::PodGroupPlacement> placements, std::size_t enough);
  // On how many of the placements the group must fit, after which the others need not be tried.
  std::size_t EnoughPlacements(std::span<const framework::PodGroupPlacement> placements) const;
  void Shuffle(std::span<framework::PodGroupPlacement> placements);
  // Tries the placement that the group's pods are nominated for by itself, and makes it the first one. If it is taken,
  // the others are left out. True: pods that are new to their nodes are needed, and it has none.
  bool TryNominated(const framework::PodGroupKey& group, std::span<const GroupMember> members,
                    std::vector<framework::PodGroupPlacement>& placements, std::vector<Tried>& tried);
  // `candidates` are indices into `placements` and `tried`, at least one.
  framework::Status ChooseBest(const framework::PodGroupKey& group,
                               std::span<const framework::PodGroupPlacement> placements, std::span<const Tried> tried,
                               std::span<const std::size_t> candidates, std::size_t& best);
  framework::Status ScorePlacements(const framework::PodGroupKey& group,
                                    std::span<const framework::PodGroupPlacement> placements,
                                    std::span<const Tried> tried, std::span<const std::size_t> candidates,
                                    std::span<std::int64_t> totals) const;
  // Observes an extension point that began at `began` and ends now.
  void ObservePoint(instruments::Point point, framework::Code code, Time began) const;
  void Assume(GroupMember& member);
  void Reserve(GroupMember& member, const framework::Cycle& cycle);
  void TakeBack(std::span<GroupMember> members);
  GroupVerdict TryMembers(const framework::PodGroupKey& group, std::span<GroupMember> members);
  GroupVerdict TryChildren(const framework::PodGroupKey& group, std::span<GroupMember> members,
                           GroupVerdicts& verdicts);
  // What stands before the reasons of a group that is refused.
  std::string_view Prefix() const;
  // What stands before a child's error in its parent's.
  std::string ChildErrorText(const framework::PodGroupKey& group, const framework::PodGroupKey& child) const;
  framework::Status AskFeasible(const framework::PodGroupKey& group,
                                const framework::PlacementProgress& progress) const;
  const runtime::Outcome& Evaluate(const GroupMember& member);
  void PlaceMember(GroupMember& member);

  CoreState& state_;
  Profile& profile_;
  Random& random_;
  const framework::PlacementGeneratePlugin* generator_ = nullptr;  // null: all nodes are one placement
  const Nodes* all_nodes_ = nullptr;                               // set while some nodes are hidden
  std::optional<bool> is_local_;                                   // nullopt: not recorded
  framework::NodeRanking* ranking_ = nullptr;
  runtime::ExtenderVerdicts ranked_;  // of the last member that was ranked
  bool is_single_group_ = false;      // the group that is placed is a PodGroup in no other
};

}  // namespace berth::scheduler
