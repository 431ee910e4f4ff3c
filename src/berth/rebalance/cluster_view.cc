// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cluster_view.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/framework/make_pod_info.h"
#include "berth/framework/pod_requests.h"
#include "berth/rebalance/cluster_health.h"

namespace berth::rebalance {
namespace {

// Whether `a` comes before `b` in the order in which strategies look at the pods of a node.
bool IsBefore(const api::Pod& a, const api::Pod& b) {
  const api::ObjectMeta& x = a.metadata;
  const api::ObjectMeta& y = b.metadata;
  return std::tie(x.namespace_name, x.name, x.uid) < std::tie(y.namespace_name, y.name, y.uid);
}

void Account(NodeView& node, const PodView& pod, int sign) {
  if (sign > 0) {
    node.requested.Add(pod.requests);
  } else {
    node.requested.Subtract(pod.requests);
  }
  node.requested.pods += sign;
  for (std::size_t i = 0; i < node.measured.size(); ++i) {
    node.measured[i].cpu_milli += sign * pod.measured[i].cpu_milli;
    node.measured[i].memory_bytes += sign * pod.measured[i].memory_bytes;
    node.measured[i].percent += sign * pod.measured[i].percent;
  }
}

// Converts a share of one node into the share of the other.
double Scaled(double percent, const NodeView& from, const NodeView& to) {
  if (from.allocatable.cpu_milli <= 0 || to.allocatable.cpu_milli <= 0) return percent;
  return percent * static_cast<double>(from.allocatable.cpu_milli) / static_cast<double>(to.allocatable.cpu_milli);
}

void GoTo(PodView& pod, const NodeView& from, const NodeView& to) {
  for (MeasuredUse& use : pod.measured) use.percent = Scaled(use.percent, from, to);
}

}  // namespace

ClusterView::ClusterView(const whatif::ClusterState& state) {
  BERTH_CHECK(state.pods.size() == state.pod_details.size(), state.pods.size(), state.pod_details.size());
  for (const auto& node : state.nodes)
    nodes_.push_back({node, framework::Resource::FromList(node->allocatable), IsReady(*node), {}, {}, {}});
  std::ranges::sort(nodes_, {}, [](const NodeView& each) { return std::string_view(each.name()); });
  for (const framework::AnyObject& object : state.objects) {
    if (const auto* name_space = std::get_if<std::shared_ptr<const api::Namespace>>(&object)) {
      namespaces_[(*name_space)->metadata.name] = (*name_space)->metadata.labels;
    } else if (const auto* budget = std::get_if<std::shared_ptr<const api::PodDisruptionBudget>>(&object)) {
      budgets_[(*budget)->metadata.namespace_name].push_back(*budget);
    } else if (const auto* claim = std::get_if<std::shared_ptr<const api::PersistentVolumeClaim>>(&object)) {
      claims_[(*claim)->metadata.namespace_name + "/" + (*claim)->metadata.name] = *claim;
    }
  }
  pods_.reserve(state.pods.size() + state.finished_pods.size());
  for (std::size_t i = 0; i < state.pods.size(); ++i) AddPod(state.pods[i], state.pod_details[i], false);
  for (std::size_t i = 0; i < state.finished_pods.size(); ++i)
    AddPod(state.finished_pods[i], state.finished_pod_details[i], true);
  for (NodeView& node : nodes_) {
    std::ranges::sort(node.pods, [this](PodNumber a, PodNumber b) { return IsBefore(*pods_[a].pod, *pods_[b].pod); });
  }
}

void ClusterView::AddPod(const std::shared_ptr<const api::Pod>& pod,
                         const std::shared_ptr<const api::PodDetails>& details, bool is_finished) {
  for (const api::OwnerReference& owner : details->metadata.owners) ++owned_[owner.uid];
  if (!details->spec.priority_class_name.empty() && pod->spec.priority)
    priority_of_class_.emplace(details->spec.priority_class_name, *pod->spec.priority);
  const auto node = FindNode(pod->spec.node_name);
  if (!node) return;
  nodes_[*node].pods.push_back(static_cast<PodNumber>(pods_.size()));
  const auto pod_class = framework::MakePodClass(*pod, {});
  pods_.push_back({pod,
                   details,
                   *node,
                   framework::PodRequestsFromSpec(*pod_class),
                   {},
                   std::make_shared<const plugins::RequiredNodeAffinity>(pod->spec),
                   is_finished,
                   false});
  if (!is_finished) Account(nodes_[*node], pods_.back(), 1);
}

std::optional<NodeNumber> ClusterView::FindNode(std::string_view name) const {
  const auto at =
      std::ranges::lower_bound(nodes_, name, {}, [](const NodeView& each) { return std::string_view(each.name()); });
  if (at == nodes_.end() || at->name() != name) return std::nullopt;
  return static_cast<NodeNumber>(at - nodes_.begin());
}

const api::StringMap* ClusterView::NamespaceLabels(std::string_view name) const {
  const auto at = namespaces_.find(name);
  return at == namespaces_.end() ? nullptr : &at->second;
}

const std::vector<std::shared_ptr<const api::PodDisruptionBudget>>& ClusterView::Budgets(
    std::string_view namespace_name) const {
  static const std::vector<std::shared_ptr<const api::PodDisruptionBudget>> none;
  const auto at = budgets_.find(namespace_name);
  return at == budgets_.end() ? none : at->second;
}

const api::PersistentVolumeClaim* ClusterView::FindClaim(std::string_view namespace_name, std::string_view name) const {
  const auto at = claims_.find(std::string(namespace_name).append("/").append(name));
  return at == claims_.end() ? nullptr : at->second.get();
}

std::size_t ClusterView::OwnedBy(const std::string& uid) const {
  const auto at = owned_.find(uid);
  return at == owned_.end() ? 0 : at->second;
}

std::optional<std::int32_t> ClusterView::PriorityOfClass(std::string_view name) const {
  const auto at = priority_of_class_.find(name);
  if (at == priority_of_class_.end()) return std::nullopt;
  return at->second;
}

void ClusterView::AddSource(MetricsUse use, const std::vector<MeasuredUse>& of_nodes,
                            const std::vector<MeasuredUse>& of_pods) {
  BERTH_CHECK(of_nodes.size() == nodes_.size() && of_pods.size() == pods_.size(), of_nodes.size(), of_pods.size());
  BERTH_CHECK(originals_.empty());
  sources_.push_back(std::move(use));
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].measured.push_back(of_nodes[i]);
  for (std::size_t i = 0; i < pods_.size(); ++i) pods_[i].measured.push_back(of_pods[i]);
}

UseSource ClusterView::FindSource(const std::optional<MetricsUse>& use) const {
  if (!use) return std::nullopt;
  const auto at = std::ranges::find(sources_, *use);
  if (at == sources_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - sources_.begin());
}

std::size_t ClusterView::CountLeft(NodeNumber node) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(originals_, [node](const auto& each) { return each.second.node == node; }));
}

NodeView ClusterView::With(NodeNumber node, const PodView& pod) const {
  NodeView with = nodes_[node];
  PodView there = pod;
  GoTo(there, nodes_[pod.node], with);
  Account(with, there, 1);
  return with;
}

void ClusterView::Insert(PodNumber number, NodeNumber node) {
  std::vector<PodNumber>& pods = nodes_[node].pods;
  const auto at = std::ranges::lower_bound(
      pods, number, [this](PodNumber a, PodNumber b) { return IsBefore(*pods_[a].pod, *pods_[b].pod); });
  pods.insert(at, number);
  pods_[number].node = node;
  Account(nodes_[node], pods_[number], 1);
}

void ClusterView::Remove(PodNumber number) {
  const PodView& pod = pods_[number];
  std::erase(nodes_[pod.node].pods, number);
  if (!pod.is_finished) Account(nodes_[pod.node], pod, -1);
}

void ClusterView::MovePod(PodNumber number, std::optional<NodeNumber> to) {
  Remove(number);
  PodView& pod = pods_[number];
  originals_.emplace(number, pod);
  if (!to) {
    for (const api::OwnerReference& owner : pod.details->metadata.owners) --owned_[owner.uid];
    return;
  }
  api::Pod moved = *pod.pod;
  moved.spec.node_name = nodes_[*to].name();
  moved.status.start_time.reset();
  auto details = std::make_shared<api::PodDetails>(*pod.details);
  details->status = {};
  details->status.phase = "Running";
  details->status.qos_class = pod.details->status.qos_class;
  pod.pod = std::make_shared<const api::Pod>(std::move(moved));
  pod.details = std::move(details);
  pod.is_moved = true;
  GoTo(pod, nodes_[pod.node], nodes_[*to]);
  Insert(number, *to);
}

void ClusterView::TakeBack(PodNumber number, NodeNumber from) {
  const auto original = originals_.find(number);
  BERTH_CHECK(original != originals_.end() && original->second.node == from, number);
  Remove(number);
  pods_[number] = std::move(original->second);
  originals_.erase(original);
  Insert(number, from);
}

}  // namespace berth::rebalance
