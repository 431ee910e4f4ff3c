// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_validity.h"

#include <string_view>

namespace berth::scheduler {

using framework::PodGroupKey;
using framework::PodGroups;
using framework::PodInfo;
using framework::PodInfoPtr;

namespace {

std::string TextOf(api::PreemptionPolicy policy) {
  return policy == api::PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority";
}
std::string InQuotes(const std::string& text) { return "\"" + text + "\""; }
std::string InQuotes(const PodGroupKey& group) { return InQuotes(group.EntityText()); }

// The words in which a contradiction is told: since 1.38 with whose it is.
struct Words {
  std::string pods = "all pods in a single pod group should have the same ";
  std::string priority = "the pod group's priority";
  std::string policy;  // after "preemption policy"
  bool names_owner = false;

  std::string Owner(const std::string& quoted) const { return names_owner ? " (" + quoted + ")" : ""; }
};

class Check {
 public:
  Check(const PodGroups& groups, const framework::Release& release, const PodGroupKey& root,
        std::span<const GroupMember> members)
      : groups_(groups),
        root_(root),
        members_(members),
        first_(*members.front().queued.pod),
        priority_(framework::PriorityOf(groups, root)),
        policy_(first_.spec().preemption_policy) {
    const auto of_root = framework::PreemptionPolicyOf(groups, root);
    if (release.checks_group_trees) {
      words_ = {.pods = "all pods in a pod group hierarchy should have the same ",
                .priority = "the root pod group's priority",
                .policy = "",
                .names_owner = true};
      policy_ = of_root.value_or(policy_);
    } else if (release.has_pod_group_preemption_policy) {
      words_.policy = " as the pod group's preemption policy";
      policy_ = of_root.value_or(api::PreemptionPolicy::kPreemptLowerPriority);
    }
  }

  // Members before pods that have a node, in the order of PodGroups.
  std::string WhyPods() const {
    for (const GroupMember& member : members_) {
      if (std::string why = WhyPod(*member.queued.pod); !why.empty()) return why;
    }
    for (const PodGroupKey& leaf : framework::LeavesOf(groups_, root_)) {
      if (std::string why = WhyScheduled(leaf); !why.empty()) return why;
    }
    return "";
  }

  // The tree below the group, each group before its pods. `parent`: null for the root.
  std::string WhyTree(const PodGroupKey& group, const PodGroupKey* parent, int level) const {
    // A composite group at the lowest level could have no pods.
    if (group.is_composite && level == framework::kPodGroupLevelsMax) {
      return "hierarchy depth exceeds maximum allowed depth " + std::to_string(framework::kPodGroupLevelsMax) + " at " +
             InQuotes(group);
    }
    if (parent != nullptr) {
      if (std::string why = WhyGroup(group, *parent); !why.empty()) return why;
    }
    if (group.is_composite) {
      for (const PodGroupKey& child : groups_.ChildrenOf(group)) {
        if (std::string why = WhyTree(child, &group, level + 1); !why.empty()) return why;
      }
      return "";
    }
    for (const GroupMember& member : members_) {
      if (framework::GroupOf(*member.queued.pod) != group) continue;
      if (std::string why = WhyPod(*member.queued.pod); !why.empty()) return why;
    }
    return WhyScheduled(group);
  }

 private:
  std::string WhyPod(const PodInfo& pod) const {
    const auto owner = words_.Owner(InQuotes(pod.name));
    if (pod.spec().scheduler_name != first_.spec().scheduler_name) {
      return words_.pods + ".spec.schedulerName set, got: " + InQuotes(pod.spec().scheduler_name) + owner + " and " +
             InQuotes(first_.spec().scheduler_name) + words_.Owner(InQuotes(first_.name));
    }
    if (pod.priority() != priority_) {
      return words_.pods + "priority as " + words_.priority + ", got " + std::to_string(pod.priority()) + owner +
             " and " + std::to_string(priority_) + words_.Owner(InQuotes(root_));
    }
    if (pod.spec().preemption_policy == policy_) return "";
    return words_.pods + "preemption policy" + words_.policy + ", got " + TextOf(pod.spec().preemption_policy) + owner +
           " and " + TextOf(policy_);
  }

  std::string WhyScheduled(const PodGroupKey& leaf) const {
    for (const PodInfoPtr& pod : groups_.ScheduledPods(leaf)) {
      if (std::string why = WhyPod(*pod); !why.empty()) return why;
    }
    return "";
  }

  std::string WhyGroup(const PodGroupKey& group, const PodGroupKey& parent) const {
    const auto owner = words_.Owner(InQuotes(group));
    const std::string workload = framework::WorkloadOf(groups_, group), of_root = framework::WorkloadOf(groups_, root_);
    if (workload != of_root) {
      return "pod group workload does not match root workload, got: " + InQuotes(workload) + owner + " and " +
             InQuotes(of_root) + words_.Owner(InQuotes(root_));
    }
    if (const std::int32_t own = framework::PriorityOf(groups_, group); own != priority_) {
      return "all pod groups in a hierarchy should have the same priority as " + words_.priority + ", got " +
             std::to_string(own) + owner + " and " + std::to_string(priority_) + words_.Owner(InQuotes(root_));
    }
    if (const auto own = framework::PreemptionPolicyOf(groups_, group); own && *own != policy_) {
      return "all pod groups in a hierarchy should have the same preemption policy, got " + TextOf(*own) + owner +
             " and " + TextOf(policy_);
    }
    if (framework::IsGang(groups_, parent) && !framework::IsGang(groups_, group))
      return "gang parent " + InQuotes(parent) + " cannot have basic child " + InQuotes(group);
    if (framework::IsDisruptedWhole(groups_, parent) && framework::IsDisruptedSingly(groups_, group)) {
      return "parent " + InQuotes(parent) + " with All disruption mode cannot have child " + InQuotes(group) +
             " with Single disruption mode";
    }
    return "";
  }

  const PodGroups& groups_;
  const PodGroupKey& root_;
  const std::span<const GroupMember> members_;
  const PodInfo& first_;
  const std::int32_t priority_;
  api::PreemptionPolicy policy_;
  Words words_;
};

}  // namespace

std::string WhyInvalid(const PodGroups& groups, const framework::Release& release, const PodGroupKey& root,
                       std::span<const GroupMember> members) {
  const Check check(groups, release, root, members);
  return release.checks_group_trees ? check.WhyTree(root, nullptr, 1) : check.WhyPods();
}

}  // namespace berth::scheduler
