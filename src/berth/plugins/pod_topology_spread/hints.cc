// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/hints.h"

#include <algorithm>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/required_node_affinity.h"

namespace berth::plugins {
namespace {

using framework::EventObjects;
using framework::PodInfo;
using framework::QueueingHint;

// The other pod can count for the constraints of this one.
bool IsInvolved(const PodInfo& other, const PodInfo& pod) {
  if (other.uid == pod.uid) return true;
  return WasAssignedOrNominated(other) && other.namespace_name() == pod.namespace_name();
}

bool MatchesAny(const std::vector<SpreadConstraint>& constraints, const api::StringMap& labels) {
  return std::any_of(constraints.begin(), constraints.end(),
                     [&](const SpreadConstraint& constraint) { return constraint.Matches(labels); });
}

// An absent label and an empty one are the same to upstream here.
bool HasSameDomains(const api::Node& a, const api::Node& b, const std::vector<SpreadConstraint>& constraints) {
  const auto value = [](const api::Node& node, const std::string& key) {
    const std::string* found = node.metadata.labels.Find(key);
    return found == nullptr ? std::string_view() : std::string_view(*found);
  };
  return std::all_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& constraint) {
    return value(a, constraint.topology_key) == value(b, constraint.topology_key);
  });
}

bool HonorsTaints(const SpreadConstraint& constraint) {
  return constraint.node_taints_policy == api::NodeInclusionPolicy::kHonor;
}

bool HonorsAffinity(const SpreadConstraint& constraint) {
  return constraint.node_affinity_policy == api::NodeInclusionPolicy::kHonor;
}

// A node that leaves the pod's node selector or required node affinity, or enters it, takes its pods and its domain out
// of the counts, or brings them in. Upstream does not think of that.
bool ChangesAffinity(const PodInfo& pod, const api::Node& before, const api::Node& after,
                     const std::vector<SpreadConstraint>& constraints) {
  if (before.metadata.labels == after.metadata.labels) return false;
  if (!std::any_of(constraints.begin(), constraints.end(), HonorsAffinity)) return false;
  const RequiredNodeAffinity required(pod.spec());
  return required.Matches(before) != required.Matches(after);
}

// Whether the event is about a T of that namespace that begins, ends or goes on with another selector.
template <typename T>
bool ChangesSelectorOf(const EventObjects& event, const std::string& namespace_name) {
  const T* before = event.Old<T>();
  const T* after = event.New<T>();
  const T* either = after != nullptr ? after : before;
  if (either == nullptr || either->metadata.namespace_name != namespace_name) return false;
  return before == nullptr || after == nullptr || before->selector != after->selector;
}

}  // namespace

QueueingHint SpreadHintAfterPodChange(const PodInfo& pod, const EventObjects& event, const HardConstraints& hard) {
  const PodInfo* before = event.old_pod;
  const PodInfo* after = event.new_pod;
  if (before == nullptr && after == nullptr) return QueueingHint::kQueue;
  if ((after != nullptr && !IsInvolved(*after, pod)) || (before != nullptr && !IsInvolved(*before, pod))) {
    return QueueingHint::kSkip;
  }
  const Expected<std::vector<SpreadConstraint>>& compiled = hard();
  if (!compiled.ok()) return QueueingHint::kQueue;
  const std::vector<SpreadConstraint>& constraints = *compiled;
  if (before == nullptr || after == nullptr) {
    return QueueIf(MatchesAny(constraints, (after != nullptr ? after : before)->labels()));
  }
  if (after->uid == pod.uid && after->spec().tolerations != before->spec().tolerations &&
      std::any_of(constraints.begin(), constraints.end(), HonorsTaints)) {
    return QueueingHint::kQueue;
  }
  // Default constraints go by the Services and controllers that select the pod: by its new labels others may, or none.
  if (after->uid == pod.uid && pod.spec().topology_spread_constraints.empty() && before->labels() != after->labels())
    return QueueingHint::kQueue;
  // A pod that is being deleted no longer counts.
  const bool is_leaving = !before->deletion_time && after->deletion_time;
  return QueueIf(std::any_of(constraints.begin(), constraints.end(), [&](const SpreadConstraint& constraint) {
    const bool matched = constraint.Matches(before->labels());
    return matched != constraint.Matches(after->labels()) || (is_leaving && matched);
  }));
}

QueueingHint SpreadHintAfterNodeChange(const PodInfo& pod, const EventObjects& event, const HardConstraints& hard) {
  const api::Node* before = event.old_node;
  const api::Node* after = event.new_node;
  if (before == nullptr && after == nullptr) return QueueingHint::kQueue;
  const Expected<std::vector<SpreadConstraint>>& compiled = hard();
  if (!compiled.ok()) return QueueingHint::kQueue;
  const std::vector<SpreadConstraint>& constraints = *compiled;
  const bool was_counted = before != nullptr && HasAllTopologyKeys(before->metadata.labels, constraints);
  const bool is_counted = after != nullptr && HasAllTopologyKeys(after->metadata.labels, constraints);
  if (was_counted != is_counted) return QueueingHint::kQueue;
  return QueueIf(was_counted && (!HasSameDomains(*before, *after, constraints) || before->taints != after->taints ||
                                 ChangesAffinity(pod, *before, *after, constraints)));
}

QueueingHint SpreadHintAfterSelectorChange(const PodInfo& pod, const EventObjects& event) {
  const std::string& name = pod.namespace_name();
  return QueueIf(pod.spec().topology_spread_constraints.empty() &&
                 (ChangesSelectorOf<api::Service>(event, name) ||
                  ChangesSelectorOf<api::ReplicationController>(event, name) ||
                  ChangesSelectorOf<api::ReplicaSet>(event, name) || ChangesSelectorOf<api::StatefulSet>(event, name)));
}

}  // namespace berth::plugins
