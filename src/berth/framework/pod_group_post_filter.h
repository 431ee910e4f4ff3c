// SPDX-License-Identifier: Apache-2.0
// PodGroupPostFilter: can room be made for a pod group? The extension point, and the trial of the whole group that its
// plugins may run on the cluster with other pods on it. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/node_list.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_groups.h"

namespace berth::framework {

// A waiting member, and what plugins wrote for it in this cycle.
struct PodGroupMember {
  PodInfoPtr pod;
  const CycleState* state = nullptr;  // null: it was not tried
  std::uint64_t seed = 0;
  // Where it is nominated; empty: nowhere. The pod's object may not say so yet.
  std::string nominated_node_name;
};

// Where a member would go.
struct PodGroupAssignment {
  PodInfoPtr pod;
  std::string node_name;
};

// The cluster, with pods taken away and put back. All is as before when it ends.
class PodGroupDryRun {
 public:
  virtual ~PodGroupDryRun() = default;
  virtual const NodeList& nodes() const = 0;
  virtual Time wall_now() const = 0;
  // By the clock that waits are measured with: the time of this cycle, and of the group's first attempt.
  virtual Time now() const = 0;
  virtual Time waiting_since() const = 0;
  // A pod leaves its node; and comes back to it.
  virtual void RemovePod(const PodInfoPtr& pod) = 0;
  virtual void RestorePod(const PodInfoPtr& pod) = 0;
  // Tries the group as the cycle did. Success: assignments() tells where its members go, and none is placed.
  virtual Status TryGroup() = 0;
  virtual const std::vector<PodGroupAssignment>& assignments() const = 0;
  // Whether those members still fit on their nodes, one after the other.
  virtual bool DoAssignmentsFit() = 0;
};

// What a preemption for a group takes.
struct PodGroupToll {
  std::size_t victims = 0;      // pods
  std::size_t disruptions = 0;  // groups that go as a whole, and pods of other groups
  std::int64_t pdb_violations = 0;
};

struct PodGroupPostFilterResult {
  Status status;
  // With success: node by uid of the members to be nominated. An empty name clears; others keep what they have.
  std::map<std::string, std::string> nominations{};
  std::string message{};  // with success: what the group's message ends with
  // Victims have been looked for; and what they are, with success.
  bool has_evaluated = false;
  std::optional<PodGroupToll> toll{};
  bool is_tried_soon = false;  // the group's next back-off is as short as its first one
};

class PodGroupPostFilterPlugin : public virtual Plugin {
 public:
  // Asked when a group was refused. Success: the group was helped, and waits for that. kUnschedulable: the next plugin
  // is asked. kUnschedulableAndUnresolvable: no other is. The group stays unschedulable in each case; its message ends
  // with the reasons of a status but success, or with `message`. Any other code is an error of the group.
  virtual PodGroupPostFilterResult PodGroupPostFilter(const PodGroupKey& group, std::span<const PodGroupMember> members,
                                                      PodGroupDryRun& dry_run) const = 0;
  // Asked when no other plugin has helped, whatever those said, and no error came. It does not help at once itself: it
  // answers kUnschedulable, and its nominations count all the same.
  virtual bool IsLastResort() const { return false; }
  // It makes room by evicting pods: its answers are counted as preemptions.
  virtual bool IsPreemption() const { return false; }
};

}  // namespace berth::framework
