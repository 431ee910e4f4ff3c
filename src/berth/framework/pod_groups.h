// SPDX-License-Identifier: Apache-2.0
// PodGroups: the pod groups of the cluster, for the queue and plugins: the hierarchy of groups, and how many pods of a
// group have a node. Also the extension points about whole groups. Within turns only.
//
// A PodGroup contains pods. A CompositePodGroup contains PodGroups and CompositePodGroups. The root, which is a group
// that is in no other, is scheduled as one.
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

// The API has groups on at most four levels; pods name a group of the lowest level. Upstream: WorkloadMaxTreeDepth.
inline constexpr int kPodGroupLevelsMax = 4;
// A deeper hierarchy is treated as a cycle. Some levels above four are followed, as upstream does.
inline constexpr int kPodGroupDepthMax = 16;

// Identifies a PodGroup or a CompositePodGroup, which need not exist.
struct PodGroupKey {
  std::string namespace_name;
  std::string name;
  bool is_composite = false;

  // "namespace/name"
  std::string Text() const { return namespace_name + "/" + name; }
  // The same with the kind as prefix: "podgroup/namespace/name".
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
  // Number of pods of a PodGroup that the scheduler knows: those on a node or assumed there, and those that wait.
  struct Counts {
    std::size_t scheduled = 0;
    std::size_t unscheduled = 0;
    std::size_t all() const { return scheduled + unscheduled; }
  };

  virtual ~PodGroups() = default;

  // The topmost group above this one, or the group itself; nullopt while the object of one of them is unknown, or if
  // the parents form a cycle.
  virtual std::optional<PodGroupKey> RootOf(const PodGroupKey& group) const = 0;
  // The children of a composite group, by age and then by name.
  virtual std::vector<PodGroupKey> ChildrenOf(const PodGroupKey& composite) const = 0;
  // Null when there is none. Valid until the object changes.
  virtual const api::PodGroup* FindPodGroup(const PodGroupKey& group) const = 0;
  virtual const api::CompositePodGroup* FindComposite(const PodGroupKey& composite) const = 0;

  // The PodGroups that pods name, whether they exist or not, in any order.
  virtual std::vector<PodGroupKey> GroupsOfPods() const = 0;
  virtual Counts CountsOf(const PodGroupKey& group) const = 0;
  // Sorted by uid.
  virtual std::vector<PodInfoPtr> ScheduledPods(const PodGroupKey& group) const = 0;
  virtual std::vector<PodInfoPtr> UnscheduledPods(const PodGroupKey& group) const = 0;

  // Changes whenever a group or a count has changed; 0: not supported.
  virtual std::uint64_t version() const { return 0; }

  // To be called from Permit: the pods of the PodGroup that wait for the plugin may be bound when the call has ended.
  virtual void AllowWaiting(const PodGroupKey& group, std::string_view plugin) = 0;
};

// The result of `read` for the group's object of either kind; `otherwise` when there is no object.
template <typename Value, typename Read>
Value ReadGroup(const PodGroups& groups, const PodGroupKey& group, Value otherwise, const Read& read) {
  if (group.is_composite) {
    const api::CompositePodGroup* const composite = groups.FindComposite(group);
    return composite == nullptr ? otherwise : Value(read(*composite));
  }
  const api::PodGroup* const pod_group = groups.FindPodGroup(group);
  return pod_group == nullptr ? otherwise : Value(read(*pod_group));
}

// The priority of a group, which applies to its pods; 0 if its object has none or is gone.
std::int32_t PriorityOf(const PodGroups& groups, const PodGroupKey& group);
std::optional<api::PreemptionPolicy> PreemptionPolicyOf(const PodGroups& groups, const PodGroupKey& group);
// Whether the group has a minimum of members; false if its object is gone.
bool IsGang(const PodGroups& groups, const PodGroupKey& group);
// The disruption mode of a group; neither if it has none or its object is gone.
bool IsDisruptedWhole(const PodGroups& groups, const PodGroupKey& group);
bool IsDisruptedSingly(const PodGroups& groups, const PodGroupKey& group);
// The Workload that the group was made from; empty if it names none or its object is gone.
std::string WorkloadOf(const PodGroups& groups, const PodGroupKey& group);

// The name of the composite group that contains it; empty: none does. Null when its object is unknown.
const std::string* ParentNameOf(const PodGroups& groups, const PodGroupKey& group);
// All PodGroups within the group, or the group itself if it is a PodGroup; those of the first child first.
std::vector<PodGroupKey> LeavesOf(const PodGroups& groups, const PodGroupKey& group);
// The group and all groups within it, each before those within it.
std::vector<PodGroupKey> GroupsWithin(const PodGroups& groups, const PodGroupKey& group);
// The group and the groups above it, as far as they are known, on at most the number of levels of the API. Empty: the
// group itself is unknown.
std::vector<PodGroupKey> AncestryOf(const PodGroups& groups, const PodGroupKey& group);

// How many members of a group are placed: pods of a PodGroup, or children of a composite group.
struct PlacementProgress {
  std::size_t remaining = 0;  // not tried yet
  std::size_t scheduled = 0;  // placed in this cycle or before
  std::size_t failed = 0;     // tried, and not placed
};

// PlacementFeasible: can the group still be placed? Called before its first member is tried, and after each. Only
// GangScheduling has this point.
class PlacementFeasiblePlugin : public virtual Plugin {
 public:
  // Success: enough members are placed. kWait: not yet. kUnschedulable: the group cannot be placed any more.
  virtual Status PlacementFeasible(const PodGroupKey& group, const PlacementProgress& progress) const = 0;
};

}  // namespace berth::framework
