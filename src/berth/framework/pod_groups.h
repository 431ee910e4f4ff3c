// SPDX-License-Identifier: Apache-2.0
// PodGroups: the pod groups of the cluster, as the queue and plugins see them: which group is within which, and how
// many of a group's pods have a node. Also the extension points that are asked about whole groups. Within turns only.
//
// A PodGroup holds pods. A CompositePodGroup holds PodGroups and CompositePodGroups. What is scheduled as one is the
// root: the group that is in no other.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/api/pod_group.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::framework {

// The API has groups on four levels: pods name those of the lowest one. Upstream: WorkloadMaxTreeDepth.
inline constexpr int kPodGroupLevelsMax = 4;
// Groups on more levels than this are taken for a cycle. Some above four are looked at, as upstream does.
inline constexpr int kPodGroupDepthMax = 16;

// Names a PodGroup or a CompositePodGroup, whether it exists or not.
struct PodGroupKey {
  std::string namespace_name;
  std::string name;
  bool is_composite = false;

  // "namespace/name"
  std::string Text() const { return namespace_name + "/" + name; }
  // With its kind in front: "podgroup/namespace/name".
  std::string EntityText() const { return (is_composite ? "compositepodgroup/" : "podgroup/") + Text(); }
  bool operator==(const PodGroupKey&) const = default;
  auto operator<=>(const PodGroupKey&) const = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const PodGroupKey& key) {
    return Hash::combine(std::move(hash), key.namespace_name, key.name, key.is_composite);
  }
};

// The group that the pod names. It must name one.
inline PodGroupKey GroupOf(const PodInfo& pod) { return {pod.namespace_name(), pod.pod_group_name, false}; }

class PodGroups {
 public:
  // Pods of a PodGroup that the scheduler knows: those with a node or assumed on one, and those that wait.
  struct Counts {
    std::size_t scheduled = 0;
    std::size_t unscheduled = 0;
    std::size_t all() const { return scheduled + unscheduled; }
  };

  virtual ~PodGroups() = default;

  // The group above all others, or the group itself; nullopt while the object of one of them is not known, and when
  // groups are their own parents.
  virtual std::optional<PodGroupKey> RootOf(const PodGroupKey& group) const = 0;
  // Of a composite group: the oldest first, those of one age by name.
  virtual std::vector<PodGroupKey> ChildrenOf(const PodGroupKey& composite) const = 0;
  // Null when there is none. Valid until the next change of the object.
  virtual const api::PodGroup* FindPodGroup(const PodGroupKey& group) const = 0;
  virtual const api::CompositePodGroup* FindComposite(const PodGroupKey& composite) const = 0;

  // PodGroups that pods name, whether they exist or not, in any order.
  virtual std::vector<PodGroupKey> GroupsOfPods() const = 0;
  virtual Counts CountsOf(const PodGroupKey& group) const = 0;
  // By uid.
  virtual std::vector<PodInfoPtr> ScheduledPods(const PodGroupKey& group) const = 0;
  virtual std::vector<PodInfoPtr> UnscheduledPods(const PodGroupKey& group) const = 0;

  // Another one whenever a group or a count has changed; 0: it does not say.
  virtual std::uint64_t version() const { return 0; }

  // From Permit: the pods of the PodGroup that wait for the plugin may be bound, once the call has ended.
  virtual void AllowWaiting(const PodGroupKey& group, std::string_view plugin) = 0;
};

// What `read` says of a group's object, of whichever kind it is; `otherwise` when there is none.
template <typename Value, typename Read>
Value ReadGroup(const PodGroups& groups, const PodGroupKey& group, Value otherwise, const Read& read) {
  if (group.is_composite) {
    const api::CompositePodGroup* const composite = groups.FindComposite(group);
    return composite == nullptr ? otherwise : Value(read(*composite));
  }
  const api::PodGroup* const pod_group = groups.FindPodGroup(group);
  return pod_group == nullptr ? otherwise : Value(read(*pod_group));
}

// The priority of a group that decides for its pods; 0 where its object says nothing, or is gone.
std::int32_t PriorityOf(const PodGroups& groups, const PodGroupKey& group);
std::optional<api::PreemptionPolicy> PreemptionPolicyOf(const PodGroups& groups, const PodGroupKey& group);
// The name of the composite group that it is in, empty: of none. Null when its object is not known.
const std::string* ParentNameOf(const PodGroups& groups, const PodGroupKey& group);
// All PodGroups within the group, itself if it is one: those of the first child first.
std::vector<PodGroupKey> LeavesOf(const PodGroups& groups, const PodGroupKey& group);
// The group, and those above it as far as they are known, on no more levels than the API has. Empty: it is not known
// itself.
std::vector<PodGroupKey> AncestryOf(const PodGroups& groups, const PodGroupKey& group);

// How far the placing of a group's members has come: pods of a PodGroup, children of a composite group.
struct PlacementProgress {
  std::size_t remaining = 0;  // not tried yet
  std::size_t scheduled = 0;  // placed in this cycle or before
};

// PlacementFeasible: can the group still be placed? Asked before its first member is tried, and after each. Only
// GangScheduling has this point.
class PlacementFeasiblePlugin : public virtual Plugin {
 public:
  // Success: what is placed is enough. kWait: not yet. kUnschedulable: it cannot be any more.
  virtual Status PlacementFeasible(const PodGroupKey& group, const PlacementProgress& progress) const = 0;
};

}  // namespace berth::framework
