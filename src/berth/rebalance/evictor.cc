// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/evictor.h"

#include <algorithm>

#include "berth/base/check.h"
#include "berth/rebalance/node_fit.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

constexpr std::string_view kEvictAnnotation = "descheduler.alpha.kubernetes.io/evict";
constexpr std::string_view kPreferNoEvictionAnnotation = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
constexpr std::string_view kSourceAnnotation = "kubernetes.io/config.source";
// The two classes that Kubernetes comes with. The second is above what a threshold may be.
constexpr std::string_view kClusterCritical = "system-cluster-critical";
constexpr std::string_view kNodeCritical = "system-node-critical";

bool Has(const PodView& pod, std::string_view annotation) {
  return pod.pod->metadata.annotations.Find(annotation) != nullptr;
}

Expected<std::int32_t> PriorityOf(const PriorityThreshold& threshold, const ClusterView& view) {
  if (threshold.value) return *threshold.value;
  if (threshold.name.empty() || threshold.name == kClusterCritical) return kSystemCriticalPriority;
  const auto priority = view.PriorityOfClass(threshold.name);
  if (threshold.name == kNodeCritical || (priority && *priority > kSystemCriticalPriority)) {
    return InvalidError("priorityThreshold.name: the priority of " + threshold.name + " is above " +
                        std::to_string(kSystemCriticalPriority) + ", the greatest that a threshold can be");
  }
  if (!priority) {
    return InvalidError("priorityThreshold.name: no pod of the cluster has the priority class " + threshold.name +
                        ", so its value is not known; name the value in its place");
  }
  return *priority;
}

}  // namespace

bool PrefersToStay(const PodView& pod) { return Has(pod, kPreferNoEvictionAnnotation); }

bool KeepsItsNode(const PodView& pod) {
  const auto is = [&pod](std::string_view annotation, std::string_view value) {
    const std::string* const text = pod.pod->metadata.annotations.Find(annotation);
    return text != nullptr && *text == value;
  };
  return is("cluster-autoscaler.kubernetes.io/safe-to-evict", "false") || is("karpenter.sh/do-not-disrupt", "true");
}

bool IsStaticPod(const PodView& pod) {
  const std::string* const source = pod.pod->metadata.annotations.Find(kSourceAnnotation);
  return source != nullptr && *source != "api";
}

bool IsOfDaemonSet(const PodView& pod) {
  return std::ranges::any_of(pod.details->metadata.owners, [](const auto& owner) { return owner.kind == "DaemonSet"; });
}

std::vector<NodeNumber> ReadyNodes(const ClusterView& view, std::string_view selector) {
  const auto parsed = api::ParseLabelSelector(selector);
  BERTH_CHECK(parsed.ok(), selector);
  std::vector<NodeNumber> nodes;
  for (NodeNumber i = 0; i < view.nodes().size(); ++i) {
    const NodeView& node = view.node(i);
    if (node.is_ready && parsed->Matches(node.node->metadata.labels)) nodes.push_back(i);
  }
  return nodes;
}

Expected<Evictor> Evictor::Make(const EvictorArgs& args, const ClusterView& view, Time now) {
  Evictor evictor(args, view, now);
  BERTH_ASSIGN_OR_RETURN(evictor.priority_threshold_, PriorityOf(args.priority, view));
  if (args.node_fit) evictor.fit_nodes_ = ReadyNodes(view, args.node_selector);
  return evictor;
}

std::string_view Evictor::WhyNot(const PodView& pod) const {
  // As the descheduler has it: the annotation overrides all else.
  if (Has(pod, kEvictAnnotation)) return {};
  if (args_.no_eviction_is_mandatory && PrefersToStay(pod)) return "its annotation prefers no eviction";
  if (whatif::IsMirrorPod(*pod.pod)) return "it is a mirror pod";
  if (IsStaticPod(pod)) return "it is a static pod";
  if (pod.pod->metadata.deletion_time) return "it is being deleted";
  return WhyProtected(pod);
}

std::string_view Evictor::WhyProtected(const PodView& pod) const {
  const auto& owners = pod.details->metadata.owners;
  const std::optional<std::int32_t>& priority = pod.pod->spec.priority;
  if (args_.protects_system_critical) {
    if (priority && *priority >= kSystemCriticalPriority) return "its priority is critical to the system";
    if (priority && *priority >= priority_threshold_) return "its priority reaches the threshold";
  }
  if (owners.empty() && (args_.protects_failed_bare || pod.details->status.phase != "Failed")) return "it has no owner";
  if (args_.protects_local_storage && pod.details->spec.has_local_storage) return "it has local storage";
  if (args_.protects_daemon_sets && IsOfDaemonSet(pod)) return "it is of a DaemonSet";
  if (args_.protects_claims && HasProtectedClaim(pod)) return "it has a PersistentVolumeClaim";
  if (args_.protects_without_budget && !HasBudget(pod)) return "it has no PodDisruptionBudget";
  if (args_.protects_resource_claims && !pod.pod->spec.resource_claims.empty()) return "it has resource claims";
  if (args_.labels && !args_.labels->Matches(pod.pod->metadata.labels)) return "its labels are not those of the policy";
  if (args_.min_replicas > 1 && owners.size() == 1 && view_.OwnedBy(owners.front().uid) < args_.min_replicas)
    return "its owner has fewer pods than minReplicas";
  if (args_.min_pod_age) {
    const auto& started = pod.pod->status.start_time;
    if (!started || now_ - *started < *args_.min_pod_age) return "it is younger than minPodAge";
  }
  return {};
}

bool Evictor::HasProtectedClaim(const PodView& pod) const {
  for (const api::Volume& volume : pod.pod->spec.volumes) {
    if (volume.source.kind != api::VolumeKind::kPersistentVolumeClaim) continue;
    if (args_.protected_storage_classes.empty()) return true;
    const api::PersistentVolumeClaim* const claim = view_.FindClaim(pod.pod->metadata.namespace_name, volume.source.id);
    // What is not known is protected.
    if (claim == nullptr || !claim->storage_class_name || claim->storage_class_name->empty()) return true;
    if (std::ranges::find(args_.protected_storage_classes, *claim->storage_class_name) !=
        args_.protected_storage_classes.end())
      return true;
  }
  return false;
}

bool Evictor::HasBudget(const PodView& pod) const {
  return std::ranges::any_of(view_.Budgets(pod.pod->metadata.namespace_name), [&](const auto& budget) {
    return budget->selector && budget->selector->Matches(pod.pod->metadata.labels);
  });
}

bool Evictor::PreEvictionFilter(const PodView& pod) const {
  if (args_.node_fit && !FitsAnyOtherNode(view_, pod, fit_nodes_)) return false;
  return TakesNamespace(pod);
}

bool Evictor::TakesNamespace(const PodView& pod) const {
  if (!args_.namespace_labels || args_.namespace_labels->requirements.empty()) return true;
  const api::StringMap* const labels = view_.NamespaceLabels(pod.pod->metadata.namespace_name);
  return labels != nullptr && args_.namespace_labels->Matches(*labels);
}

EvictionCounter::Answer EvictionCounter::Ask(const PodView& pod) const {
  const auto is_reached = [](const auto& counts, const std::string& name, const std::optional<std::uint64_t>& limit) {
    const auto at = counts.find(name);
    return limit && (at == counts.end() ? 0 : at->second) >= *limit;
  };
  if (limits_.total && total_ >= *limits_.total) return Answer::kTotalLimit;
  if (is_reached(of_node_, pod.pod->spec.node_name, limits_.per_node)) return Answer::kNodeLimit;
  if (is_reached(of_namespace_, pod.pod->metadata.namespace_name, limits_.per_namespace)) return Answer::kRefused;
  return Answer::kEvicted;
}

EvictionCounter::Answer EvictionCounter::Evict(const PodView& pod) {
  const Answer answer = Ask(pod);
  if (answer != Answer::kEvicted) return answer;
  ++of_node_[pod.pod->spec.node_name];
  ++of_namespace_[pod.pod->metadata.namespace_name];
  ++total_;
  return answer;
}

void EvictionCounter::TakeBack(const PodView& pod) {
  --of_node_[pod.pod->spec.node_name];
  --of_namespace_[pod.pod->metadata.namespace_name];
  --total_;
}

}  // namespace berth::rebalance
