// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/packing_view.h"

#include <set>
#include <utility>

#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/utilization.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

// The resources that count: those that all nodes have, and those that some pod asks for.
std::vector<std::string> ResourcesOfPods(const ClusterView& view) {
  using namespace framework::resources;
  std::set<std::string> scalars;
  for (const PodView& pod : view.pods()) {
    for (const auto& each : pod.requests.scalars) scalars.insert(std::string(each.first));
  }
  std::vector<std::string> names{std::string(kCpu), std::string(kMemory), std::string(kPods),
                                 std::string(kEphemeralStorage)};
  names.insert(names.end(), scalars.begin(), scalars.end());
  return names;
}

bool IsBoundToNode(const PodView& pod) {
  const whatif::PodKind kind = whatif::KindOf(*pod.pod);
  return kind == whatif::PodKind::kDaemon || kind == whatif::PodKind::kStatic;
}

bool MayMove(const StrategyRun& run, PodNumber number) {
  const PodView& pod = run.view.pod(number);
  // Nodes are emptied here for autoscalers, which would keep such a pod's node.
  return !KeepsItsNode(pod) && whatif::KindOf(*pod.pod) == whatif::PodKind::kOwned && !pod.is_moved &&
         !run.refused.contains(number) && run.MayEvict(pod);
}

}  // namespace

PackingView::PackingView(const StrategyRun& run) : run_(run), resources_(ResourcesOfPods(run.view)) {
  for (const NodeNumber number : run.nodes) AddNode(number);
  problem_.empty_max = problem_.bins.size();
  problem_.is_allowed = [this](std::size_t item, std::size_t bin) { return IsAllowed(item, bin); };
}

template <typename Amount>
PackingSize PackingView::SizeOf(Amount amount) const {
  PackingSize size;
  for (const std::string& resource : resources_) size.push_back(static_cast<std::int64_t>(amount(resource)));
  return size;
}

void PackingView::AddNode(NodeNumber number) {
  const NodeView& node = run_.view.node(number);
  const std::size_t index = problem_.bins.size();
  PackingBin& bin = problem_.bins.emplace_back();
  bin.capacity = SizeOf([&](const std::string& resource) { return Capacity(node, resource); });
  bin.free = bin.capacity;
  for (std::size_t i = 0; i < resources_.size(); ++i)
    bin.free[i] -= static_cast<std::int64_t>(Used(node, resources_[i]));
  bin.may_empty = true;
  bin.may_receive = !node.node->unschedulable;
  for (const PodNumber number_of_pod : node.pods) {
    const PodView& pod = run_.view.pod(number_of_pod);
    // A pod that is being deleted leaves by itself, and takes its room until then.
    if (pod.is_finished || IsBoundToNode(pod) || pod.pod->metadata.deletion_time) continue;
    PackingItem& item = problem_.items.emplace_back();
    item.bin = index;
    item.may_move = MayMove(run_, number_of_pod);
    item.size = SizeOf([&](const std::string& resource) { return UsedBy(pod, resource); });
    pods_.push_back(number_of_pod);
  }
}

bool PackingView::IsAllowed(std::size_t item, std::size_t bin) const {
  const PodView& pod = run_.view.pod(pods_[item]);
  const api::Node& node = *run_.view.node(NodeOf(bin)).node;
  return pod.required->Matches(node) && !plugins::HasUntoleratedHardTaint(node.taints, pod.pod->spec.tolerations);
}

}  // namespace berth::rebalance
