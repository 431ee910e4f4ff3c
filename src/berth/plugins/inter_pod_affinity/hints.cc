// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/hints.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/inter_pod_affinity/affinity_terms.h"

namespace berth::plugins {
namespace {

using framework::PodClass;

bool IsWithoutNode(const PodInfo* pod) { return pod != nullptr && !WasAssignedOrNominated(*pod); }

const std::string* ValueOf(const api::Node* node, const std::string& key) {
  return node == nullptr ? nullptr : node->metadata.labels.Find(key);
}

// The node was in a domain of the key, and is no longer.
bool LeavesDomain(const EventObjects& event, const std::string& key) {
  const std::string* before = ValueOf(event.old_node, key);
  const std::string* after = ValueOf(event.new_node, key);
  return before != nullptr && (after == nullptr || *before != *after);
}

bool EntersDomain(const EventObjects& event, const std::string& key) {
  const std::string* before = ValueOf(event.old_node, key);
  const std::string* after = ValueOf(event.new_node, key);
  return after != nullptr && (before == nullptr || *before != *after);
}

// Whether the term's namespace selector says something else of the namespace than it did.
bool NewlySelects(const std::vector<AffinityTerm>& terms, const api::Namespace* before, const api::Namespace* after) {
  return std::any_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) {
    const auto selects = [&](const api::Namespace* object) {
      return object != nullptr && term.spec->namespace_selector->Matches(object->metadata.labels);
    };
    return term.spec->namespace_selector && selects(before) != selects(after);
  });
}

class AffinityHints {
 public:
  explicit AffinityHints(AffinityHintSources sources) : sources_(std::move(sources)) {}

  QueueingHint AfterPodChange(const PodInfo& pod, const EventObjects& event) const {
    const PodInfo* before = event.old_pod;
    const PodInfo* after = event.new_pod;
    // The only update that is registered is one of labels: some other pod's anti-affinity may have meant the old ones.
    if (before != nullptr && after != nullptr && after->uid == pod.uid) return QueueingHint::kQueue;
    if (IsWithoutNode(after) || IsWithoutNode(before)) return QueueingHint::kSkip;
    if (before == nullptr && after == nullptr) return QueueingHint::kQueue;
    const PodTerms terms = ParseTerms(*pod.pod_class);
    if (terms.is_required_affinity_broken || terms.is_required_anti_affinity_broken) return QueueingHint::kQueue;
    const bool matched = before != nullptr && MeanAll(terms.required_affinity, *before);
    const bool matches = after != nullptr && MeanAll(terms.required_affinity, *after);
    if (matches && !matched) return QueueingHint::kQueue;
    for (const AffinityTerm& term : terms.required_anti_affinity) {
      if (before != nullptr && Means(term, *before) && (after == nullptr || !Means(term, *after)))
        return QueueingHint::kQueue;
    }
    if (after == nullptr && Repels(*before, pod, nullptr)) return QueueingHint::kQueue;
    return QueueIf(matched && !matches && IsFirstOfItsGroup(pod, terms));
  }

  QueueingHint AfterNodeChange(const PodInfo& pod, const EventObjects& event) const {
    if (event.old_node == nullptr && event.new_node == nullptr) return QueueingHint::kQueue;
    const PodTerms terms = ParseTerms(*pod.pod_class);
    if (terms.is_required_affinity_broken || terms.is_required_anti_affinity_broken) return QueueingHint::kQueue;
    // A node without the key takes any pod, and who is in the domain of one with it is not looked at here. The same
    // holds for other pods' anti-affinity. Upstream looks at the pod's own terms alone: one that others' terms refuse
    // everywhere then waits beside an empty node until it is tried again without an event.
    if (event.old_node == nullptr && (!terms.required_anti_affinity.empty() || terms.required_affinity.empty()))
      return QueueingHint::kQueue;
    bool leaves_domain_of_affinity = false;
    for (const AffinityTerm& term : terms.required_affinity) {
      if (EntersDomain(event, term.topology_key())) return QueueingHint::kQueue;
      leaves_domain_of_affinity |= LeavesDomain(event, term.topology_key());
    }
    for (const AffinityTerm& term : terms.required_anti_affinity) {
      if (LeavesDomain(event, term.topology_key())) return QueueingHint::kQueue;
    }
    return QueueIf((leaves_domain_of_affinity && IsFirstOfItsGroup(pod, terms)) || LeavesRepelled(pod, event));
  }

  // Terms of the pod with namespace selectors, and other pods' terms about the pod's own namespace.
  QueueingHint AfterNamespaceChange(const PodInfo& pod, const EventObjects& event) const {
    const auto* before = event.Old<api::Namespace>();
    const auto* after = event.New<api::Namespace>();
    if (before == nullptr && after == nullptr) return QueueingHint::kQueue;
    if (before != nullptr && after != nullptr && before->metadata.labels == after->metadata.labels)
      return QueueingHint::kSkip;
    const PodTerms terms = ParseTerms(*pod.pod_class);
    if (NewlySelects(terms.required_affinity, before, after) ||
        NewlySelects(terms.required_anti_affinity, before, after))
      return QueueingHint::kQueue;
    if ((after != nullptr ? after : before)->metadata.name != pod.namespace_name()) return QueueingHint::kSkip;
    const AffinityIndex* index = sources_.index();
    return QueueIf(index == nullptr || index->HasCarriers());
  }

 private:
  const framework::ObjectStore<api::Namespace>& namespaces() const {
    return sources_.handle.objects().Of<api::Namespace>();
  }

  // The labels of the pod's namespace, as far as they are known.
  const api::StringMap& NamespaceLabels(const PodInfo& pod) const {
    const api::Namespace* own = namespaces().Find(pod.namespace_name());
    return own == nullptr ? NoLabels() : own->metadata.labels;
  }

  // Whether a term of the waiting pod means `other`. Filter merges the names of all selected namespaces instead
  // (MergeNamespaces), which pays for many pods and not for one.
  bool Means(const AffinityTerm& term, const PodInfo& other) const {
    return term.Matches(*other.pod_class, NamespaceLabels(other)) ||
           (!sources_.handle.release().resolves_namespace_selectors && term.Matches(*other.pod_class, NoLabels()));
  }
  bool MeanAll(const std::vector<AffinityTerm>& terms, const PodInfo& other) const {
    return !terms.empty() &&
           std::all_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) { return Means(term, other); });
  }

  // Whether `other` has required anti-affinity that matches the pod; with a key, in a term of that topology key.
  bool Repels(const PodInfo& other, const PodInfo& pod, const std::string* key) const {
    if (other.spec().pod_anti_affinity.required.empty()) return false;
    const PodTerms terms = ParseTerms(*other.pod_class);
    if (terms.is_required_anti_affinity_broken) return true;
    const api::StringMap& labels = NamespaceLabels(pod);
    return std::any_of(terms.required_anti_affinity.begin(), terms.required_anti_affinity.end(),
                       [&](const AffinityTerm& term) {
                         return (key == nullptr || term.topology_key() == *key) && term.Matches(*pod.pod_class, labels);
                       });
  }

  // True when no pod is left that matches this one's affinity, but the pod itself would.
  bool IsFirstOfItsGroup(const PodInfo& pod, const PodTerms& terms) const {
    if (!MeanAll(terms.required_affinity, pod)) return false;
    AffinityIndex* index = sources_.index();
    return index == nullptr || !index->CountsFor(pod.pod_class)->Any(CountKind::kAffinity);
  }

  // The node leaves a domain that other pods' terms keep the pod out of: pods on the node itself, which take their
  // domains with them, or others.
  bool LeavesRepelled(const PodInfo& pod, const EventObjects& event) const {
    if (event.old_node == nullptr) return false;
    if (event.new_node == nullptr) {
      return std::any_of(event.old_node_pods.begin(), event.old_node_pods.end(),
                         [&](const PodInfoPtr& other) { return Repels(*other, pod, nullptr); });
    }
    AffinityIndex* index = sources_.index();
    if (index == nullptr) return false;
    const NodeTable& table = *index->table();
    const NodeIndex row = table.Find(event.new_node->metadata.name);
    for (const auto& [key, value] : event.old_node->metadata.labels) {
      if (!LeavesDomain(event, key)) continue;
      if (row != kNoNode) {
        for (const PodInfoPtr& other : table.Info(row).pods()) {
          if (Repels(*other, pod, &key)) return true;
        }
      }
      const Topology::KeyIndex key_index = index->topology().Find(key);
      if (key_index == Topology::kNoKey) continue;
      const Topology::Ordinal ordinal = index->topology().FindOrdinal(key_index, value);
      if (index->CountsFor(pod.pod_class)->Get(CountKind::kExistingAntiAffinity, key_index, ordinal) > 0) return true;
    }
    return false;
  }

  const AffinityHintSources sources_;
};

}  // namespace

std::vector<ClusterEventWithHint> PodAffinityEvents(AffinityHintSources sources) {
  using namespace framework::action;
  const auto hints = std::make_shared<const AffinityHints>(std::move(sources));
  const auto on_pod = [hints](const PodInfo& pod, const EventObjects& event) {
    return hints->AfterPodChange(pod, event);
  };
  const auto on_node = [hints](const PodInfo& pod, const EventObjects& event) {
    return hints->AfterNodeChange(pod, event);
  };
  const auto on_namespace = [hints](const PodInfo& pod, const EventObjects& event) {
    return hints->AfterNamespaceChange(pod, event);
  };
  return {
      OfClass(OnPod(kAdd | kUpdatePodLabel | kDelete, on_pod)),
      OfClass(OnNode(kAdd | kUpdateNodeLabel | kDelete, on_node)),
      OfClass({{EventResource::kNamespace, kAdd | kUpdate | kDelete}, on_namespace}),
  };
}

}  // namespace berth::plugins
