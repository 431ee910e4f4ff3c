// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/hints.h"

#include <string>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/inter_pod_affinity/affinity_terms.h"

namespace berth::plugins {
namespace {

using framework::EventObjects;
using framework::PodInfo;
using framework::QueueingHint;

bool IsWithoutNode(const PodInfo* pod) { return pod != nullptr && !WasAssignedOrNominated(*pod); }

// Namespace selectors are not looked up here: upstream matches them as if no namespace had labels.
QueueingHint AfterPodChange(const PodInfo& pod, const EventObjects& event, bool by_any_term) {
  const PodInfo* before = event.old_pod;
  const PodInfo* after = event.new_pod;
  // The only update that is registered is one of labels: some other pod's anti-affinity may have meant the old ones.
  if (before != nullptr && after != nullptr && after->uid == pod.uid) return QueueingHint::kQueue;
  if (IsWithoutNode(after) || IsWithoutNode(before)) return QueueingHint::kSkip;
  const PodTerms terms = ParseTerms(*pod.pod_class);
  if (terms.is_required_affinity_broken || terms.is_required_anti_affinity_broken) return QueueingHint::kQueue;
  const auto& affinity = terms.required_affinity;
  const auto& anti_affinity = terms.required_anti_affinity;
  const auto matches_anti_affinity = by_any_term ? MatchesAny : MatchesAll;
  if (before != nullptr && after != nullptr) {
    const bool matches_now = !MatchesAll(affinity, *before->pod_class) && MatchesAll(affinity, *after->pod_class);
    const bool is_gone = matches_anti_affinity(anti_affinity, *before->pod_class) &&
                         !matches_anti_affinity(anti_affinity, *after->pod_class);
    return QueueIf(matches_now || is_gone);
  }
  if (after != nullptr) return QueueIf(MatchesAll(affinity, *after->pod_class));
  if (before == nullptr) return QueueingHint::kQueue;
  if (matches_anti_affinity(anti_affinity, *before->pod_class)) return QueueingHint::kQueue;
  const PodTerms others = ParseTerms(*before->pod_class);
  return QueueIf(others.is_required_anti_affinity_broken ||
                 matches_anti_affinity(others.required_anti_affinity, *pod.pod_class));
}

QueueingHint AfterNodeChange(const PodInfo& pod, const EventObjects& event) {
  if (event.new_node == nullptr) return QueueingHint::kQueue;
  const PodTerms terms = ParseTerms(*pod.pod_class);
  if (terms.is_required_affinity_broken || terms.is_required_anti_affinity_broken) return QueueingHint::kQueue;
  const auto value = [](const api::Node* node, const AffinityTerm& term) {
    return node == nullptr ? nullptr : node->metadata.labels.Find(term.topology_key());
  };
  for (const AffinityTerm& term : terms.required_affinity) {
    const std::string* before = value(event.old_node, term);
    const std::string* after = value(event.new_node, term);
    if (after != nullptr && (before == nullptr || *before != *after)) return QueueingHint::kQueue;
  }
  // A node without the key takes any pod, and who is in the domain of one with it is not looked at here. The same holds
  // for other pods' anti-affinity. Upstream looks at the pod's own terms alone: one that others' terms refuse
  // everywhere then waits beside an empty node until it is tried again without an event.
  if (event.old_node == nullptr)
    return QueueIf(!terms.required_anti_affinity.empty() || terms.required_affinity.empty());
  for (const AffinityTerm& term : terms.required_anti_affinity) {
    const std::string* before = value(event.old_node, term);
    const std::string* after = value(event.new_node, term);
    if (before != nullptr && (after == nullptr || *before != *after)) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

}  // namespace

std::vector<framework::ClusterEventWithHint> PodAffinityEvents(bool by_any_term) {
  using namespace framework::action;
  return {OfClass(OnPod(kAdd | kUpdatePodLabel | kDelete,
                        [by_any_term](const PodInfo& pod, const EventObjects& event) {
                          return AfterPodChange(pod, event, by_any_term);
                        })),
          OfClass(OnNode(kAdd | kUpdateNodeLabel, AfterNodeChange))};
}

}  // namespace berth::plugins
