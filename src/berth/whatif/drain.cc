// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/drain.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/edit_distance.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using scheduler::Overlay;

DrainFate FateOf(const api::Pod& pod) {
  switch (KindOf(pod)) {
    case PodKind::kStatic: return DrainFate::kStays;
    case PodKind::kDaemon: return DrainFate::kIgnored;
    case PodKind::kBare: return pod.metadata.deletion_time ? DrainFate::kEnding : DrainFate::kLost;
    case PodKind::kOwned: break;
  }
  // A StatefulSet waits until the old pod is gone; the others have made the new one.
  const bool has_successor = pod.metadata.deletion_time && pod.metadata.controller->kind != "StatefulSet";
  return has_successor ? DrainFate::kEnding : DrainFate::kMoves;
}

// Puts the pod's replacement somewhere.
void Replace(Overlay& overlay, Placer& placer, const std::set<std::string, std::less<>>& drained, const api::Pod& pod,
             DrainedPod& told) {
  RemoveWithClaims(overlay, pod);
  if (told.fate != DrainFate::kMoves) return;
  const Replacement replacement = MakeReplacement(overlay, pod, "replacement-of-" + pod.metadata.uid);
  if (!replacement.pod) {
    told.why_unknown = replacement.why_unknown;
    return;
  }
  const NodeIndex row = placer.Place(replacement.pod);
  if (row == framework::kNoNode) {
    told.refusal = placer.Explain(replacement.pod, true);
    return;
  }
  told.place = overlay.nodes().Info(row).name();
  told.comes_back = drained.contains(told.place);
}

std::string ObstacleOf(const DrainedPod& pod, const DrainOptions& options) {
  std::string text;
  const auto add = [&text](std::string_view more) { text.append(text.empty() ? "" : "; ").append(more); };
  if (pod.budget == BudgetAnswer::kForbids)
    add("PodDisruptionBudget " + pod.budgets.front() + " allows no eviction now");
  if (pod.budget == BudgetAnswer::kSeveral) add("has several PodDisruptionBudgets: the API evicts no such pod");
  if (pod.fate == DrainFate::kLost && !options.is_forced) add("has no controller: needs --force, and is lost");
  if (!pod.why_unknown.empty()) add("where it would go is not known: " + pod.why_unknown);
  if (pod.comes_back) add("tolerates the cordon and comes back to " + pod.place);
  if (pod.refusal) {
    if (!pod.refusal->preemption_node.empty()) {
      add("fits only by evicting " + std::to_string(pod.refusal->preemption_victims.size()) + " on " +
          pod.refusal->preemption_node);
    } else {
      add("fits nowhere: " + pod.refusal->message);
    }
  }
  return text;
}

}  // namespace

std::string_view ToString(DrainFate fate) {
  switch (fate) {
    case DrainFate::kMoves: return "moves";
    case DrainFate::kLost: return "lost";
    case DrainFate::kEnding: return "ending";
    case DrainFate::kIgnored: return "ignored";
    case DrainFate::kStays: return "stays";
  }
  return "";
}

bool DrainPlan::CanDrain() const {
  return std::ranges::all_of(pods, [](const DrainedPod& pod) { return pod.obstacle.empty(); });
}

std::size_t DrainPlan::CountOf(DrainFate fate) const {
  return static_cast<std::size_t>(std::ranges::count(pods, fate, &DrainedPod::fate));
}

std::vector<std::string> UnknownNodes(const ClusterState& state, const std::vector<std::string>& names) {
  std::set<std::string_view> known;
  for (const auto& node : state.nodes) known.insert(node->metadata.name);
  const std::vector<std::string_view> sorted(known.begin(), known.end());
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    const std::string_view nearest = NearestName(name, sorted);
    std::string text = name + ": no such node";
    if (!nearest.empty()) text.append("; the nearest name is ").append(nearest);
    unknown.push_back(std::move(text));
  }
  return unknown;
}

DrainPlan PlanDrain(OfflineCluster& cluster, const ClusterState& state, const std::vector<std::string>& nodes,
                    const DrainOptions& options) {
  DrainPlan plan;
  plan.options = options;
  std::set<std::string, std::less<>> drained;
  for (const std::string& name : nodes) {
    if (drained.insert(name).second) plan.nodes.push_back(name);
  }
  const auto overlay = cluster.MakeOverlay();
  for (const std::string& name : plan.nodes) {
    const NodeIndex row = overlay->nodes().Find(name);
    BERTH_CHECK(row != framework::kNoNode, name);
    auto cordoned = std::make_shared<api::Node>(overlay->nodes().Info(row).node());
    cordoned->unschedulable = true;
    overlay->SetNode(std::move(cordoned));
  }
  std::map<std::string_view, std::vector<const api::Pod*>> pods_of;
  for (const auto& pod : state.pods) {
    if (drained.contains(pod->spec.node_name)) pods_of[pod->spec.node_name].push_back(pod.get());
  }
  EvictionBudgets budgets(state);
  Placer placer(*overlay);
  for (const std::string& name : plan.nodes) {
    std::vector<const api::Pod*>& pods = pods_of[name];
    std::ranges::sort(pods, {}, [](const api::Pod* pod) {
      return std::pair<std::string_view, std::string_view>(pod->metadata.namespace_name, pod->metadata.name);
    });
    for (const api::Pod* pod : pods) {
      DrainedPod& told = plan.pods.emplace_back();
      told.key = KeyOf(*pod);
      told.node = name;
      told.owner = OwnerOf(*pod);
      told.fate = FateOf(*pod);
      if (told.fate == DrainFate::kIgnored || told.fate == DrainFate::kStays) continue;
      if (!pod->metadata.deletion_time) {
        auto [answer, names] = budgets.Ask(*pod);
        told.budget = answer;
        told.budgets = std::move(names);
        budgets.Take(*pod);
      }
      Replace(*overlay, placer, drained, *pod, told);
      told.obstacle = ObstacleOf(told, options);
    }
  }
  return plan;
}

}  // namespace berth::whatif
