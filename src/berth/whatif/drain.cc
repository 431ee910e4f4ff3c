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

DrainOutcome OutcomeOf(const api::Pod& pod) {
  switch (KindOf(pod)) {
    case PodKind::kStatic: return DrainOutcome::kStays;
    case PodKind::kDaemon: return DrainOutcome::kIgnored;
    case PodKind::kBare: return pod.metadata.deletion_time ? DrainOutcome::kEnding : DrainOutcome::kLost;
    case PodKind::kOwned: break;
  }
  // A StatefulSet waits until the old pod is gone; the others have made the new one.
  const bool has_successor = pod.metadata.deletion_time && pod.metadata.controller->kind != "StatefulSet";
  return has_successor ? DrainOutcome::kEnding : DrainOutcome::kMoves;
}

// Puts the pod's replacement somewhere.
void Replace(Overlay& overlay, Placer& placer, const std::set<std::string, std::less<>>& drained, const api::Pod& pod,
             DrainedPod& entry) {
  RemoveWithClaims(overlay, pod);
  if (entry.outcome != DrainOutcome::kMoves) return;
  const Replacement replacement = MakeReplacement(overlay, pod, "replacement-of-" + pod.metadata.uid);
  if (!replacement.pod) {
    entry.why_unknown = replacement.why_unknown;
    return;
  }
  const NodeIndex row = placer.Place(replacement.pod);
  if (row == framework::kNoNode) {
    entry.refusal = placer.Explain(replacement.pod, true);
    return;
  }
  entry.place = overlay.nodes().Info(row).name();
  entry.comes_back = drained.contains(entry.place);
}

std::string ObstacleOf(const DrainedPod& pod, const DrainOptions& options) {
  std::string text;
  const auto add = [&text](std::string_view more) { text.append(text.empty() ? "" : "; ").append(more); };
  if (pod.budget == BudgetAnswer::kForbids)
    add("PodDisruptionBudget " + pod.budgets.front() + " allows no eviction now");
  if (pod.budget == BudgetAnswer::kSeveral) add("has several PodDisruptionBudgets: the API evicts no such pod");
  if (pod.outcome == DrainOutcome::kLost && !options.is_forced) add("has no controller: needs --force, and is lost");
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

std::string_view ToString(DrainOutcome outcome) {
  switch (outcome) {
    case DrainOutcome::kMoves: return "moves";
    case DrainOutcome::kLost: return "lost";
    case DrainOutcome::kEnding: return "ending";
    case DrainOutcome::kIgnored: return "ignored";
    case DrainOutcome::kStays: return "stays";
  }
  return "";
}

bool DrainPlan::CanDrain() const {
  return std::ranges::all_of(pods, [](const DrainedPod& pod) { return pod.obstacle.empty(); });
}

std::size_t DrainPlan::CountOf(DrainOutcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(pods, outcome, &DrainedPod::outcome));
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
      if (options.is_interrupted && options.is_interrupted()) return plan;
      DrainedPod& entry = plan.pods.emplace_back();
      entry.key = KeyOf(*pod);
      entry.node = name;
      entry.owner = OwnerOf(*pod);
      entry.outcome = OutcomeOf(*pod);
      if (entry.outcome == DrainOutcome::kIgnored || entry.outcome == DrainOutcome::kStays) continue;
      if (!pod->metadata.deletion_time) {
        auto [answer, names] = budgets.Ask(*pod);
        entry.budget = answer;
        entry.budgets = std::move(names);
        budgets.Take(*pod);
      }
      Replace(*overlay, placer, drained, *pod, entry);
      entry.obstacle = ObstacleOf(entry, options);
    }
  }
  return plan;
}

}  // namespace berth::whatif
