// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_reservation/pod_group_reservation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"
#include "berth/plugins/pod_group_reservation/reservation_turns.h"

namespace berth::plugins {
namespace {

using framework::PodGroupDryRun;
using framework::PodGroupKey;
using framework::PodGroupPostFilterResult;
using framework::PodGroups;

// Pods of these run until somebody stops them. Members of a group are expected to end in any case.
constexpr auto kServices =
    std::to_array<std::string_view>({"DaemonSet", "Node", "ReplicaSet", "ReplicationController", "StatefulSet"});

bool IsExpectedToEnd(const PodInfo& pod) {
  if (!pod.pod_group_name.empty()) return true;
  const std::optional<api::OwnerReference>& controller = pod.pod_class->controller;
  return !controller || std::ranges::find(kServices, controller->kind) == kServices.end();
}

// The pods of a node that make room, in time, for a group of that priority.
std::vector<PodInfoPtr> LeavingPods(const NodeInfo& node, std::int32_t priority) {
  std::vector<PodInfoPtr> leaving;
  for (const PodInfoPtr& pod : node.pods()) {
    if (pod->priority() <= priority && IsExpectedToEnd(*pod)) leaving.push_back(pod);
  }
  return leaving;
}

void Remove(PodGroupDryRun& dry_run, const std::vector<PodInfoPtr>& pods) {
  for (const PodInfoPtr& pod : pods) dry_run.RemovePod(pod);
}

// Finds where the group will fit. Nodes that are kept for it already come first, so that what has become free there is
// not lost; then those with the fewest pods to wait for. Success: dry_run.assignments() tells.
Status FindRoom(PodGroupDryRun& dry_run, std::int32_t priority, const std::set<std::string>& kept) {
  if (!kept.empty()) {
    for (const std::string& name : kept) {
      const NodeIndex row = dry_run.nodes().Find(name);
      if (row != kNoNode) Remove(dry_run, LeavingPods(dry_run.nodes().Info(row), priority));
    }
    if (Status status = dry_run.TryGroup(nullptr); status.IsSuccess()) return status;
  }
  std::vector<std::vector<PodInfoPtr>> leaving;
  for (const NodeIndex row : dry_run.nodes().rows()) {
    std::vector<PodInfoPtr> pods = LeavingPods(dry_run.nodes().Info(row), priority);
    if (!pods.empty()) leaving.push_back(std::move(pods));
  }
  std::ranges::stable_sort(leaving, {}, [](const auto& pods) { return pods.size(); });
  Status status = Status::Unschedulable("");
  std::size_t removed = 0;
  for (const std::size_t divisor : {16, 4, 1}) {
    const std::size_t end = (leaving.size() + divisor - 1) / divisor;
    if (removed == end) continue;
    for (; removed < end; ++removed) Remove(dry_run, leaving[removed]);
    status = dry_run.TryGroup(nullptr);
    if (status.IsSuccess()) break;
  }
  return status;
}

class PodGroupReservation final : public framework::PodGroupPostFilterPlugin {
 public:
  PodGroupReservation(const PodGroupReservationArgs& args, Handle& handle)
      : args_(args), handle_(handle), turns_(handle.Shared<ReservationTurns>(names::kPodGroupReservation, [] {
          return std::make_shared<ReservationTurns>();
        })) {}
  std::string_view Name() const override { return names::kPodGroupReservation; }
  bool IsLastResort() const override { return true; }
  PodGroupPostFilterResult PodGroupPostFilter(const PodGroupKey& group,
                                              std::span<const framework::PodGroupMember> members,
                                              PodGroupDryRun& dry_run) const override {
    PodGroupPostFilterResult result;
    result.status = Status(Code::kUnschedulable, {});
    const Time now = dry_run.now();
    if (now - dry_run.waiting_since() < args_.after || turns_->HasGivenUp(group, now)) return result;
    const std::int32_t priority = framework::PriorityOf(*handle_.pod_groups(), group);
    turns_->Note(group, priority, dry_run.waiting_since());
    std::set<std::string>& kept = turns_->NodesOf(group);
    const bool has_room = !kept.empty();
    const auto is_waiting = [this](const PodGroupKey& other) { return IsWaiting(other); };
    const bool is_turn = turns_->IsTurnOf(group, is_waiting);
    if (is_turn && FindRoom(dry_run, priority, kept).IsSuccess()) {
      kept.clear();
      for (const framework::PodGroupAssignment& assignment : dry_run.assignments()) {
        kept.insert(assignment.node_name);
        result.nominations[assignment.pod->uid] = assignment.node_name;
      }
      result.status = Status(Code::kUnschedulable,
                             {"pod group reservation: room on " + std::to_string(kept.size()) +
                              (kept.size() == 1 ? " node" : " nodes") + " is kept until the pods there have ended"});
      result.is_tried_soon = true;
      return result;
    }
    // The group's turn is over, or there is no such room any more.
    if (has_room) {
      for (const framework::PodGroupMember& member : members) result.nominations[member.pod->uid] = "";
      kept.clear();
    }
    // Room that is kept for other groups may be what this one lacks: it has to wait for them.
    if (!is_turn) return result;
    if (turns_->IsRoomKeptBeside(group, is_waiting)) {
      result.is_tried_soon = true;
    } else {
      turns_->GiveUp(group, now);
    }
    return result;
  }

 private:
  bool IsWaiting(const PodGroupKey& group) const {
    const PodGroups& groups = *handle_.pod_groups();
    const std::vector<PodGroupKey> leaves = framework::LeavesOf(groups, group);
    return std::ranges::any_of(leaves, [&](const PodGroupKey& leaf) { return groups.CountsOf(leaf).unscheduled > 0; });
  }

  const PodGroupReservationArgs args_;
  Handle& handle_;
  const std::shared_ptr<ReservationTurns> turns_;  // shared by all profiles
};

}  // namespace

std::unique_ptr<framework::Plugin> CreatePodGroupReservation(const PodGroupReservationArgs& args, Handle& handle) {
  return std::make_unique<PodGroupReservation>(args, handle);
}

}  // namespace berth::plugins
