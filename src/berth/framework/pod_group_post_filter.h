// SPDX-License-Identifier: Apache-2.0
// PodGroupPostFilter: can room be made for a pod group? The extension point, and the dry run with which its plugins try
// the whole group with other pods on the nodes. Within turns only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/node_list.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_groups.h"

namespace berth::framework {

// A waiting member, and plugins' data about it in this cycle.
struct PodGroupMember {
  PodInfoPtr pod;
  const CycleState* state = nullptr;  // null: it was not tried
  std::uint64_t seed = 0;
  // Where it is nominated; empty: nowhere. The pod's object may not show it yet.
  std::string nominated_node_name;
};

// The node on which a member would be placed.
struct PodGroupAssignment {
  PodInfoPtr pod;
  std::string node_name;
};

// How much has to be evicted for pods of a group on each node, while all victims are off their nodes and the group is
// tried: each pod goes to the best of the nodes that cost least. What one pod costs is not counted again for the next.
class NodeRanking {
 public:
  virtual ~NodeRanking() = default;
  // The indices of the nodes that cost least, ascending; at least one.
  virtual std::vector<std::size_t> Cheapest(std::span<const std::string_view> node_names) const = 0;
  // The pod is placed on the node; it is taken back. Pods are taken back in reverse order.
  virtual void Place(const std::string& uid, std::string_view node_name) = 0;
  virtual void TakeBack(const std::string& uid) = 0;
};

// The cluster, with pods removed and restored. Its destructor undoes all changes.
class PodGroupDryRun {
 public:
  virtual ~PodGroupDryRun() = default;
  virtual const NodeList& nodes() const = 0;
  virtual Time wall_now() const = 0;
  // Times on the clock of waits: of this cycle, and of the group's first attempt.
  virtual Time now() const = 0;
  virtual Time waiting_since() const = 0;
  // Removes a pod from its node, or restores it.
  virtual void RemovePod(const PodInfoPtr& pod) = 0;
  virtual void RestorePod(const PodInfoPtr& pod) = 0;
  // Tries the group as the cycle did. Success: assignments() has the nodes of its members, none of which stays placed.
  // `ranking` may be null: all nodes cost the same.
  virtual Status TryGroup(NodeRanking* ranking) = 0;
  virtual const std::vector<PodGroupAssignment>& assignments() const = 0;
  // Whether the members of assignments() still fit on their nodes, one after the other.
  virtual bool DoAssignmentsFit() = 0;
};

// The cost of a preemption for a group.
struct PodGroupToll {
  std::size_t victims = 0;  // pods
  // What is evicted at once: pods, PodGroups and CompositePodGroups. In older releases than 1.38 a pod of a group
  // counts among the PodGroups even if it goes alone.
  std::array<std::size_t, 3> units{};
  std::int64_t pdb_violations = 0;
};

struct PodGroupPostFilterResult {
  Status status;
  // With success: the nominations of members, node by uid. An empty name clears; members without an entry keep theirs.
  std::map<std::string, std::string> nominations{};
  std::string message{};  // with success: the end of the group's message
  // Whether victims were looked for; and with success, the cost.
  bool has_evaluated = false;
  std::optional<PodGroupToll> toll{};
  bool is_tried_soon = false;  // the group's next back-off is as short as its first one
};

class PodGroupPostFilterPlugin : public virtual Plugin {
 public:
  // Called when a group was refused. Success: the group was helped and waits. kUnschedulable: the next plugin is
  // called. kUnschedulableAndUnresolvable: no other plugin is called. The group stays unschedulable in each case; its
  // message ends with the status's reasons, or with `message`. Any other code is an error of the group.
  virtual PodGroupPostFilterResult PodGroupPostFilter(const PodGroupKey& group, std::span<const PodGroupMember> members,
                                                      PodGroupDryRun& dry_run) const = 0;
  // True for a plugin that is called after all others if none of them helped and none failed, whatever they answered.
  // It does not help at once: it answers kUnschedulable, but its nominations count.
  virtual bool IsLastResort() const { return false; }
  // True when it makes room by evicting pods: its answers are counted as preemptions.
  virtual bool IsPreemption() const { return false; }
};

}  // namespace berth::framework
