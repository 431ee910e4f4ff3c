// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/gang_scheduling/gang_scheduling.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/pod_groups.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::PodGroupKey;
using framework::PodGroups;

constexpr Duration kPermitTimeout = std::chrono::minutes(5);

std::size_t AllOf(const PodGroups::Counts& counts) { return counts.all(); }
std::size_t ScheduledOf(const PodGroups::Counts& counts) { return counts.scheduled; }

// How many members a group wants; without a gang's policy one.
std::int64_t MinCountOf(const PodGroups& groups, const PodGroupKey& group) {
  if (group.is_composite) {
    const api::CompositePodGroup* const composite = groups.FindComposite(group);
    return composite == nullptr ? 1 : composite->min_group_count.value_or(1);
  }
  const api::PodGroup* const pod_group = groups.FindPodGroup(group);
  return pod_group == nullptr ? 1 : pod_group->min_count.value_or(1);
}

std::string TreeText(const PodGroupKey& root) {
  return "waiting for composite pod group \"" + root.name + "\" tree to meet quorum";
}

std::string NotThere(const PodGroupKey& composite) {
  return "failed to build hierarchy snapshot: composite pod group object not found in state for " +
         composite.EntityText();
}

// The group that is met a second time on the way down from `top`; nullopt when the groups below form no cycle.
std::optional<PodGroupKey> CycleBelow(const PodGroups& groups, const PodGroupKey& top) {
  std::set<PodGroupKey> visited{top};
  std::vector<PodGroupKey> to_visit{top};
  while (!to_visit.empty()) {
    const PodGroupKey composite = std::move(to_visit.back());
    to_visit.pop_back();
    for (PodGroupKey& child : groups.ChildrenOf(composite)) {
      if (!visited.insert(child).second) return child;
      if (child.is_composite) to_visit.push_back(std::move(child));
    }
  }
  return std::nullopt;
}

// The root of the tree that a PodGroup is in, or why that is not known, as upstream finds out and says it:
// BuildHierarchySnapshotFromPod, GetRootKeyForGroup.
struct Root {
  PodGroupKey key;
  std::string why_not;  // empty: it is known
};
Root FindRoot(const PodGroups& groups, const PodGroupKey& leaf) {
  const api::PodGroup* const pod_group = groups.FindPodGroup(leaf);
  if (pod_group == nullptr)
    return {leaf, "failed to build hierarchy snapshot: pod group object not found in state for " + leaf.EntityText()};
  if (pod_group->parent_name.empty()) return {leaf, ""};
  const PodGroupKey parent{leaf.namespace_name, pod_group->parent_name, true};
  PodGroupKey top = parent;
  bool is_root = false;
  for (int level = 1; level < framework::kPodGroupLevelsMax && !is_root; ++level) {
    const api::CompositePodGroup* const composite = groups.FindComposite(top);
    if (composite == nullptr) return {leaf, NotThere(top)};
    is_root = composite->parent_name.empty();
    if (!is_root) top.name = composite->parent_name;
  }
  if (is_root) return {top, ""};
  // Upstream looks one level further up than the API allows groups, and takes that group if it is a root.
  if (const auto in_cycle = CycleBelow(groups, top)) {
    return {leaf, "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: " +
                      in_cycle->EntityText()};
  }
  const api::CompositePodGroup* const composite = groups.FindComposite(top);
  if (composite == nullptr || !composite->parent_name.empty()) return {leaf, NotThere(parent)};
  return {top, ""};
}

// The same since 1.38, which follows all levels and says the same of every group that is missing.
Root FindRootOfAnyDepth(const PodGroups& groups, const PodGroupKey& leaf) {
  std::vector<PodGroupKey> visited;
  for (PodGroupKey key = leaf;;) {
    const bool is_cycle = std::ranges::find(visited, key) != visited.end();
    visited.push_back(key);
    if (is_cycle) {
      std::string text = "cycle detected in the hierarchy: [";
      for (const PodGroupKey& each : visited) text += each.EntityText() + " ";
      text.back() = ']';
      return {leaf, text};
    }
    const std::string* const parent = framework::ParentNameOf(groups, key);
    if (parent == nullptr) {
      return {leaf,
              "pod group \"" + leaf.name + "\" or one of its composite pod group ancestors has not been created yet"};
    }
    if (parent->empty()) return {key, ""};
    key = {leaf.namespace_name, *parent, true};
  }
}

class GangScheduling final : public PreEnqueuePlugin,
                             public PermitPlugin,
                             public framework::PlacementFeasiblePlugin,
                             public ObjectReader,
                             public EnqueueExtensions {
 public:
  explicit GangScheduling(Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kGangScheduling; }
  Status PreEnqueue(const PodInfo& pod) const override {
    const PodGroups* const groups = handle_.pod_groups();
    if (groups == nullptr || pod.pod_group_name.empty()) return {};
    const PodGroupKey group = framework::GroupOf(pod);
    const framework::Release& release = handle_.release();
    Root root{group, ""};
    if (release.names_failed_groups && (release.has_composite_pod_groups || groups->FindPodGroup(group) == nullptr)) {
      root = FindRootOfAnyDepth(*groups, group);
    } else if (release.has_composite_pod_groups) {
      root = FindRoot(*groups, group);
    } else if (groups->FindPodGroup(group) == nullptr) {
      root.why_not = "waiting for pods's pod group \"" + group.name + "\" to appear in scheduling queue";
    }
    if (!root.why_not.empty()) return Status::UnschedulableAndUnresolvable(root.why_not);
    if (IsTreeReady(*groups, root.key, AllOf)) return {};
    if (release.names_failed_groups) {
      const bool is_gang = framework::IsGang(*groups, root.key);
      return Status::UnschedulableAndUnresolvable(
          "waiting for " + root.key.EntityText() +
          (is_gang ? " to meet its quorum" : " tree to have at least one ready child group"));
    }
    return Status::UnschedulableAndUnresolvable(
        root.key.is_composite ? TreeText(root.key)
                              : "waiting for minCount pods from a gang to appear in scheduling queue");
  }

  // Upstream also activates the gang's pods without a node here. They are in the same cycle, or wait for its end and
  // are then active at once.
  PermitResult Permit(const Cycle&, const PodInfo& pod, std::string_view) override {
    PodGroups* const groups = handle_.pod_groups();
    if (groups == nullptr || pod.pod_group_name.empty() || !handle_.release().holds_gangs_at_permit) return {};
    const PodGroupKey group = framework::GroupOf(pod);
    Root root{group, ""};
    if (handle_.release().has_composite_pod_groups) {
      root = FindRoot(*groups, group);
    } else if (groups->FindPodGroup(group) == nullptr) {
      root.why_not =
          "failed to get podGroup " + group.Text() + ": podgroup.scheduling.k8s.io \"" + group.name + "\" not found";
    }
    if (!root.why_not.empty()) return {Status::Error(root.why_not), {}};
    if (!IsTreeReady(*groups, root.key, ScheduledOf)) {
      const std::string why =
          root.key.is_composite ? TreeText(root.key) : "waiting for minCount pods from a gang to be scheduled";
      return {Status(Code::kWait, {why}), kPermitTimeout};
    }
    for (const PodGroupKey& leaf : framework::LeavesOf(*groups, root.key)) groups->AllowWaiting(leaf, Name());
    return {};
  }

  Status PlacementFeasible(const PodGroupKey& group, const framework::PlacementProgress& progress) const override {
    const PodGroups* const groups = handle_.pod_groups();
    if (groups == nullptr) return {};
    const std::int64_t wanted = MinCountOf(*groups, group);
    const auto scheduled = static_cast<std::int64_t>(progress.scheduled);
    const auto remaining = static_cast<std::int64_t>(progress.remaining);
    if (scheduled >= wanted) return {};
    const bool is_possible = remaining + scheduled >= wanted;
    const bool names_failed = handle_.release().names_failed_groups;
    std::string text = names_failed ? "scheduling policy's minimum threshold (" : "minCount (";
    text += std::to_string(wanted) + ") " + (is_possible ? "is not yet satisfied: " : "cannot be satisfied: ") +
            std::to_string(scheduled) + " scheduled, ";
    if (names_failed) text += std::to_string(progress.failed) + " unschedulable, ";
    text += std::to_string(remaining) + (names_failed ? " not-evaluated" : " remaining");
    return is_possible ? Status(Code::kWait, {text}) : Status::Unschedulable(text);
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    if (!handle_.release().has_pod_groups) return {};
    if (!handle_.release().has_composite_pod_groups) return {ObjectKind::kPodGroup};
    return {ObjectKind::kPodGroup, ObjectKind::kCompositePodGroup};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    const auto on = [](EventResource resource, framework::ActionType actions, framework::QueueingHintFn hint) {
      ClusterEventWithHint event{{resource, actions}, std::move(hint)};
      event.is_hint_of_pod_group = true;
      return event;
    };
    const auto pod_added = [this](const PodInfo& pod, const EventObjects& event) {
      return QueueIf(event.new_pod != nullptr && !event.new_pod->pod_group_name.empty() &&
                     AreOneHierarchy(pod, framework::GroupOf(*event.new_pod)));
    };
    const auto group_added = [this](const PodInfo& pod, const EventObjects& event) {
      if (const auto* group = event.New<api::PodGroup>())
        return QueueIf(AreOneHierarchy(pod, {group->metadata.namespace_name, group->metadata.name, false}));
      const auto* composite = event.New<api::CompositePodGroup>();
      return QueueIf(composite != nullptr &&
                     AreOneHierarchy(pod, {composite->metadata.namespace_name, composite->metadata.name, true}));
    };
    // A gang that wants fewer pods than before may have enough.
    const auto is_less = [](std::optional<std::int32_t> before, std::optional<std::int32_t> after) {
      return before && after && *after < *before;
    };
    const auto group_updated = [=, this](const PodInfo& pod, const EventObjects& event) {
      const auto* before = event.Old<api::PodGroup>();
      const auto* after = event.New<api::PodGroup>();
      return QueueIf(before != nullptr && after != nullptr && is_less(before->min_count, after->min_count) &&
                     AreOneHierarchy(pod, {after->metadata.namespace_name, after->metadata.name, false}));
    };
    const auto composite_updated = [=, this](const PodInfo& pod, const EventObjects& event) {
      const auto* before = event.Old<api::CompositePodGroup>();
      const auto* after = event.New<api::CompositePodGroup>();
      return QueueIf(before != nullptr && after != nullptr &&
                     is_less(before->min_group_count, after->min_group_count) &&
                     AreOneHierarchy(pod, {after->metadata.namespace_name, after->metadata.name, true}));
    };
    std::vector<ClusterEventWithHint> events;
    events.push_back(on(EventResource::kUnschedulablePod, kAdd, pod_added));
    events.push_back(on(EventResource::kAssignedPod, kAdd, pod_added));
    events.push_back(on(EventResource::kPodGroup, kAdd, group_added));
    events.push_back(on(EventResource::kPodGroup, kUpdate, group_updated));
    if (handle_.release().has_composite_pod_groups)
      events.push_back(on(EventResource::kCompositePodGroup, kAdd, group_added));
    if (handle_.release().has_composite_pod_groups && handle_.release().names_failed_groups)
      events.push_back(on(EventResource::kCompositePodGroup, kUpdate, composite_updated));
    return events;
  }

 private:
  using Count = std::size_t (*)(const framework::PodGroups::Counts& counts);

  // Whether the group has as many pods, or groups below it, as it wants.
  static bool IsReady(const PodGroups& groups, const PodGroupKey& group, Count count, int depth = 0) {
    if (depth == framework::kPodGroupDepthMax) return false;
    const std::int64_t wanted = MinCountOf(groups, group);
    if (!group.is_composite)
      return groups.FindPodGroup(group) != nullptr &&
             static_cast<std::int64_t>(count(groups.CountsOf(group))) >= wanted;
    const std::vector<PodGroupKey> children = groups.ChildrenOf(group);
    const auto is_ready = [&](const PodGroupKey& child) { return IsReady(groups, child, count, depth + 1); };
    return std::ranges::count_if(children, is_ready) >= wanted;
  }

  // IsReady of a tree's root. The root's pods ask one after the other, so the last answer is kept until something
  // changes.
  bool IsTreeReady(const PodGroups& groups, const PodGroupKey& root, Count count) const {
    if (!root.is_composite || groups.version() == 0) return IsReady(groups, root, count);
    Known& known = count == Count{AllOf} ? all_ : scheduled_;
    if (known.version != groups.version() || known.root != root)
      known = {groups.version(), root, IsReady(groups, root, count)};
    return known.is_ready;
  }

  bool AreOneHierarchy(const PodInfo& pod, const PodGroupKey& group) const {
    const PodGroups* const groups = handle_.pod_groups();
    if (groups == nullptr || pod.pod_group_name.empty()) return false;
    const std::optional<PodGroupKey> root = groups->RootOf(framework::GroupOf(pod));
    return root && root == groups->RootOf(group);
  }

  struct Known {
    std::uint64_t version = 0;
    framework::PodGroupKey root;
    bool is_ready = false;
  };

  Handle& handle_;
  mutable Known all_;
  mutable Known scheduled_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateGangScheduling(Handle& handle) {
  return std::make_unique<GangScheduling>(handle);
}

}  // namespace berth::plugins
