// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/rebalance/chain_search.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/custom_metric.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/move_prover.h"
#include "berth/rebalance/node_fit.h"
#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/plan_draft.h"

namespace berth::rebalance {
namespace {

using Wants = Violations::Wants;

// How many plans are made at most, each with other pods tried first; and after how many evaluations of nodes no further
// plan is begun.
constexpr std::size_t kOrdersMax = 3;
constexpr std::size_t kOrdersWorkMax = 5'000'000;

// Controllers, by namespace, kind and name, whose pods are tried before others.
using Favored = std::set<std::string>;

std::string ControllerOf(const PodView& pod) {
  const auto& controller = pod.pod->metadata.controller;
  return pod.pod->metadata.namespace_name + '/' + (controller ? controller->kind + '/' + controller->name : "");
}

// Whether each of the strategy's objections stands for itself, so that it does not matter which is tried first.
bool HasFreeOrder(const StrategyArgs& strategy) {
  return std::holds_alternative<NodeTaintsArgs>(strategy) || std::holds_alternative<NodeAffinityArgs>(strategy);
}

// A plan, and which pods another plan should try first to do better.
struct OrderedPlan {
  RebalancePlan plan;
  std::size_t unplaced = 0;  // pods that fit nowhere, of strategies with free order
  Favored crowded_out;       // of these, those that might have fitted where other pods of the plan have gone
  std::size_t work = 0;
};

// Makes one plan, with the favored pods tried first.
class OrderedPlanner {
 public:
  OrderedPlanner(whatif::OfflineCluster& cluster, const whatif::ClusterState& state, const Policy& policy,
                 const PlanOptions& options, ClusterView view, const Favored& favored)
      : policy_(policy),
        options_(options),
        favored_(favored),
        draft_(cluster, state, policy, options, std::move(view)),
        view_(draft_.view()),
        chains_(draft_, options.now) {
    for (const NodeNumber node : draft_.violations().nodes()) plan_.looked_at += view_.node(node).pods.size();
    plan_.pending = static_cast<std::size_t>(
        std::ranges::count_if(state.pods, [](const auto& pod) { return pod->spec.node_name.empty(); }));
  }

  Expected<OrderedPlan> Run() {
    const std::vector<NodeNumber> consolidating = ConsolidatingNodes();
    bool has_moved = true;
    for (std::size_t pass = 0; has_moved; ++pass) {
      if (pass == kPlanPassesMax) {
        plan_.is_complete = false;
        break;
      }
      BERTH_ASSIGN_OR_RETURN(has_moved, Pass());
    }
    plan_.are_chains_cut = chains_.is_cut();
    plan_.moves = draft_.TakeMoves();
    plan_.staying = draft_.TakeLater();
    for (auto& [pod, staying] : staying_) {
      if (!draft_.HasMoved(pod)) plan_.staying.push_back(std::move(staying));
    }
    std::ranges::sort(plan_.staying, {}, &StayingPod::key);
    for (const NodeNumber node : consolidating) {
      // A node that still has pods, about which nothing is done, is as good as any other.
      if (CountMovable(view_, node) > 0 && !plan_.is_interrupted) plan_.given_up.push_back(view_.node(node).name());
    }
    OrderedPlan ordered;
    ordered.work = draft_.proof_count() * view_.nodes().size();
    RecordUnplaced(ordered);
    ordered.plan = std::move(plan_);
    return ordered;
  }

 private:
  struct Unplaced {
    Objection objection;
    std::uint64_t revision;  // of the draft when it was tried
  };

  // Tries all that is objected to, and, in place of what stays, what would be objected to then. True: something moved.
  Expected<bool> Pass() {
    staying_.clear();
    fits_nowhere_.clear();
    ObjectionOptions options;
    options.now = options_.now;
    options.refused = draft_.moved();
    options.measurements = options_.measurements;
    const std::size_t moved_before = draft_.moved().size();
    while (true) {
      options.nodes_emptied = plan_.emptied.size();
      BERTH_ASSIGN_OR_RETURN(std::vector<Objection> objections, FindObjections(policy_, view_, options));
      if (objections.empty()) break;
      PutFavoredFirst(objections);
      for (std::size_t i = 0; i < objections.size();) {
        if (IsInterrupted()) return false;
        i = Try(objections, i);
      }
      if (!TryChains()) return false;
      for (const Objection& objection : objections) options.refused.insert(objection.pod);
    }
    return draft_.moved().size() > moved_before;
  }

  void PutFavoredFirst(std::vector<Objection>& objections) const {
    if (favored_.empty()) return;
    for (auto at = objections.begin(); at != objections.end();) {
      const StrategyArgs* const strategy = at->strategy;
      const auto end = std::find_if(at, objections.end(), [&](const auto& each) { return each.strategy != strategy; });
      if (HasFreeOrder(*strategy)) {
        std::stable_partition(at, end,
                              [&](const auto& each) { return favored_.contains(ControllerOf(view_.pod(each.pod))); });
      }
      at = end;
    }
  }

  void RecordUnplaced(OrderedPlan& ordered) const {
    std::set<std::string> seen;
    for (const PodNumber number : fits_nowhere_) {
      if (draft_.HasMoved(number)) continue;
      ++ordered.unplaced;
      const PodView& pod = view_.pod(number);
      if (ordered.work > kOrdersWorkMax) continue;
      if (std::string controller = ControllerOf(pod); seen.insert(controller).second && MightHaveFitted(pod))
        ordered.crowded_out.insert(std::move(controller));
    }
  }

  // Whether, by sizes, the pod would have fitted on a node to which the plan has moved others.
  bool MightHaveFitted(const PodView& pod) const {
    return std::ranges::any_of(draft_.violations().nodes(), [&](NodeNumber number) {
      if (number == pod.node || !IsOpenTo(pod, *view_.node(number).node)) return false;
      NodeView node = view_.node(number);
      for (const PodNumber other : node.pods) {
        if (!draft_.HasMoved(other)) continue;
        node.requested.Subtract(view_.pod(other).requests);
        --node.requested.pods;
      }
      return LackOf(pod, node) == framework::Resource{};
    });
  }

  // Tries one objection, or all that belong together. Returns the index behind them.
  std::size_t Try(const std::vector<Objection>& objections, std::size_t i) {
    const Objection& objection = objections[i];
    if (objection.empties) return TryEmptying(objections, i);
    if (!std::holds_alternative<HighNodeUtilizationArgs>(*objection.strategy)) {
      if (!draft_.HasMoved(objection.pod)) TryOne(objection);
      return i + 1;
    }
    std::size_t end = i;
    std::optional<NodeNumber> node;
    std::vector<const Objection*> group;
    for (; end < objections.size() && objections[end].strategy == objection.strategy; ++end) {
      // A pod that has moved before is no longer here.
      if (draft_.HasMoved(objections[end].pod)) continue;
      if (node.value_or(view_.pod(objections[end].pod).node) != view_.pod(objections[end].pod).node) break;
      node = view_.pod(objections[end].pod).node;
      group.push_back(&objections[end]);
    }
    if (!group.empty()) TryNode(*node, group);
    return std::max(end, i + 1);
  }

  void Stay(const Objection& objection, Refusal refusal) {
    staying_[objection.pod] = draft_.Staying(objection, std::move(refusal));
  }
  Refusal WhyNot(const Objection& objection) const {
    std::string never = draft_.WhyNever(objection);
    return never.empty() ? draft_.WhyNotNow(objection) : Refusal{std::move(never), {}};
  }

  void TryOne(const Objection& objection) {
    if (Refusal refusal = WhyNot(objection); !refusal.why.empty()) return Stay(objection, std::move(refusal));
    if (view_.pod(objection.pod).is_finished) return draft_.Commit(objection, std::nullopt, {});
    ProvedMove proved = draft_.Prove(objection, Wants::kBetter);
    if (proved.why_not.empty()) return draft_.Commit(objection, proved.to, std::move(proved));
    if (proved.fits_nowhere) {
      unplaced_.push_back({objection, draft_.revision()});
      if (HasFreeOrder(*objection.strategy)) fits_nowhere_.insert(objection.pod);
    }
    Stay(objection, {std::move(proved.why_not), {}});
  }

  // Lets others make room for pods that fit nowhere. Is called after all single moves, since these disturb nobody else.
  // False: the plan was interrupted.
  bool TryChains() {
    for (const Unplaced& unplaced : std::exchange(unplaced_, {})) {
      if (IsInterrupted()) return false;
      const Objection& objection = unplaced.objection;
      if (draft_.HasMoved(objection.pod) || !draft_.WhyNotNow(objection).why.empty()) continue;
      // Other pods have left since, so that the next pass tries this one by itself.
      if (draft_.revision() != unplaced.revision && chains_.HasRoom(objection.pod)) continue;
      chains_.Find(objection);
    }
    return true;
  }

  bool IsInterrupted() {
    if (!options_.is_interrupted || !options_.is_interrupted()) return false;
    plan_.is_interrupted = true;
    plan_.is_complete = false;
    return true;
  }

  // Moves all pods of the node or none, since a node that keeps one is not freed. A move changes the view by which
  // later ones are judged, so that all moves are made, and taken back if one of them fails.
  void TryNode(NodeNumber node, const std::vector<const Objection*>& group) {
    if (group.size() < CountMovable(view_, node)) {
      for (const Objection* objection : group)
        Stay(*objection, {"its node would not be empty: other pods stay there", {}});
      return;
    }
    const PlanDraft::Mark mark = draft_.mark();
    for (const Objection* objection : group) {
      Refusal refusal = WhyNot(*objection);
      if (refusal.why.empty()) {
        ProvedMove proved = draft_.Prove(*objection, Wants::kNoWorse);
        if (proved.why_not.empty()) {
          draft_.Commit(*objection, proved.to, std::move(proved));
          continue;
        }
        refusal.why = std::move(proved.why_not);
      }
      draft_.UndoTo(mark);
      const std::string key = view_.pod(objection->pod).Key();
      for (const Objection* other : group) {
        const std::string why =
            other == objection ? refusal.why : "its node would not be empty: " + key + " stays there";
        Stay(*other, {why, refusal.hold});
      }
      return;
    }
  }

  // The objections from `i` on that empty one node, made as one: with the node cordoned, and pods that may not move yet
  // on their way as well, since what they will need must stay free. Returns the index behind them.
  std::size_t TryEmptying(const std::vector<Objection>& objections, std::size_t i) {
    const NodeNumber node = *objections[i].empties;
    std::size_t end = i;
    while (end < objections.size() && objections[end].empties == node) ++end;
    const PlanDraft::Mark mark = draft_.mark();
    std::string why;
    draft_.Cordon(node);
    for (std::size_t at = i; at < end && why.empty(); ++at) {
      const Objection& objection = objections[at];
      why = draft_.HasMoved(objection.pod) ? "it has moved" : draft_.WhyNever(objection);
      Refusal not_yet = why.empty() ? draft_.WhyNotNow(objection) : Refusal{};
      if (!not_yet.why.empty() && not_yet.hold.empty()) why = not_yet.why;
      if (!why.empty()) break;
      ProvedMove proved = draft_.Prove(objection, Wants::kNoWorse);
      why = proved.why_not;
      if (!why.empty()) break;
      if (not_yet.why.empty()) {
        const bool leaves_it = view_.pod(objection.pod).node == node;
        draft_.Commit(objection, proved.to, std::move(proved));
        if (leaves_it) draft_.MarkLastAsEmptying();
      } else {
        draft_.CommitForLater(objection, proved.to, std::move(not_yet));
      }
    }
    if (why.empty() && CountMovable(view_, node) > 0) why = "other pods stay there";
    if (why.empty()) {
      plan_.emptied.push_back(view_.node(node).name());
      return end;
    }
    draft_.UndoTo(mark);
    for (std::size_t at = i; at < end; ++at) {
      if (!draft_.HasMoved(objections[at].pod))
        Stay(objections[at], {view_.node(node).name() + " would not be empty: " + why, {}});
    }
    return end;
  }

  std::vector<NodeNumber> ConsolidatingNodes() const {
    std::vector<NodeNumber> nodes;
    for (NodeNumber node = 0; node < view_.nodes().size(); ++node) {
      if (IsConsolidating(*view_.node(node).node)) nodes.push_back(node);
    }
    return nodes;
  }

  const Policy& policy_;
  const PlanOptions& options_;
  const Favored& favored_;
  PlanDraft draft_;
  const ClusterView& view_;  // the draft's
  ChainSearch chains_;
  std::map<PodNumber, StayingPod> staying_;  // of this pass
  std::vector<Unplaced> unplaced_;           // that fitted nowhere, and for which nobody has made room yet
  std::set<PodNumber> fits_nowhere_;         // of this pass, and of strategies with free order
  RebalancePlan plan_;
};

Expected<ClusterView> ViewOf(const whatif::ClusterState& state, const Policy& policy,
                             const Measurements* measurements) {
  ClusterView view(state);
  BERTH_RETURN_IF_ERROR(AddMeasuredUse(view, policy, ReadyNodes(view, policy.node_selector), measurements));
  for (const StrategyArgs* strategy : StrategiesOf(policy)) {
    if (const auto* const rule = std::get_if<CustomMetricArgs>(strategy))
      BERTH_RETURN_IF_ERROR(CheckSamples(*rule, measurements));
  }
  return view;
}

}  // namespace

Expected<RebalancePlan> PlanRebalance(whatif::OfflineCluster& cluster, const whatif::ClusterState& state,
                                      const Policy& policy, const PlanOptions& options) {
  // Pods that fit nowhere, because others of the plan have taken the room, are tried first in another plan.
  std::optional<OrderedPlan> best;
  Favored favored;
  std::size_t work = 0;
  for (std::size_t i = 0; i < kOrdersMax; ++i) {
    BERTH_ASSIGN_OR_RETURN(ClusterView view, ViewOf(state, policy, options.measurements));
    BERTH_ASSIGN_OR_RETURN(OrderedPlan ordered,
                           OrderedPlanner(cluster, state, policy, options, std::move(view), favored).Run());
    if (ordered.plan.is_interrupted) return std::move(ordered.plan);
    work += ordered.work;
    const std::size_t favored_before = favored.size();
    favored.insert(ordered.crowded_out.begin(), ordered.crowded_out.end());
    const bool is_better =
        !best || (ordered.unplaced < best->unplaced && ordered.plan.moves.size() >= best->plan.moves.size());
    if (is_better) best = std::move(ordered);
    if (favored.size() == favored_before || work > kOrdersWorkMax) break;
  }
  return std::move(best->plan);
}

}  // namespace berth::rebalance
