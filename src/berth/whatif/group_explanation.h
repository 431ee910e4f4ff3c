// SPDX-License-Identifier: Apache-2.0
// ExplainPodGroup: where the pods of a PodGroup are, or of a group that a plugin names, and what the scheduler's next
// cycle would make of those that wait: the core on a copy of the cluster in which no other pod waits. Nothing is left
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/pod_group.h"
#include "berth/base/expected.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::whatif {

enum class GroupState : std::uint8_t {
  kPlaced,    // none of its pods waits
  kFits,      // it would be placed
  kPreempts,  // it would be, when the victims are gone
  kRefused,
  kGated,  // it would not be tried
};
std::string_view ToString(GroupState state);

struct GroupMemberAnswer {
  std::string name;
  bool is_running = false;  // it has a node
  std::string node;         // that, or the one that it would get; empty: none
  std::string why;          // why there is none
  bool operator==(const GroupMemberAnswer&) const = default;
};

struct GroupExplanation {
  std::string group;     // "namespace/name"
  api::PodGroup object;  // of a group that a plugin names: what stands for it
  GroupState state = GroupState::kPlaced;
  std::string message;  // the scheduler's, of the group, or the gate's
  // Of the pods that wait, those that fit into the cluster as it is, however many a gang needs; absent where the
  // question does not arise.
  std::optional<std::size_t> fitting;
  std::vector<GroupMemberAnswer> members;  // by name
  std::vector<std::string> victims;        // "namespace/name" of pods that would be evicted

  std::size_t RunningCount() const;
};

// An error names the nearest group. `options` make the core; their release must have pod groups, or a plugin name them.
Expected<GroupExplanation> ExplainPodGroup(const ClusterState& state, const OfflineOptions& options,
                                           const std::string& namespace_name, const std::string& name);

}  // namespace berth::whatif
