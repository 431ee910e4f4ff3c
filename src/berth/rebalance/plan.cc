// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/utilization.h"
#include "berth/whatif/eviction_budgets.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

using framework::NodeIndex;
using scheduler::Overlay;
using Detail = scheduler::Overlay::Detail;
using whatif::BudgetAnswer;
using whatif::PodKind;

// Strategies that object to the pod itself: a new one in its place is as good as elsewhere.
bool IsAboutPod(const StrategyArgs& strategy) {
  return std::holds_alternative<PodLifeTimeArgs>(strategy) || std::holds_alternative<TooManyRestartsArgs>(strategy) ||
         std::holds_alternative<FailedPodsArgs>(strategy);
}

// Whether the pod would be objected to again as soon as it is there, whatever its age.
bool ComesBackAtOnce(const StrategyArgs& strategy) {
  const auto* const args = std::get_if<PodLifeTimeArgs>(&strategy);
  if (args == nullptr) return false;
  const bool asks_for_age = args->max_seconds.has_value();
  const bool asks_for_trouble = !args->conditions.empty() || !args->exit_codes.empty();
  return !asks_for_age && !asks_for_trouble && std::ranges::find(args->states, "Running") != args->states.end();
}

class Planner {
 public:
  Planner(whatif::OfflineCluster& cluster, const whatif::ClusterState& state, const Policy& policy,
          const PlanOptions& options)
      : policy_(policy),
        options_(options),
        view_(state),
        violations_(policy, view_, ReadyNodes(view_, policy.node_selector)),
        budgets_(state),
        counter_(policy.limits),
        allowance_(options.allowance == nullptr ? std::nullopt : std::optional(*options.allowance)),
        overlay_(cluster.MakeOverlay()) {
    for (const NodeNumber node : violations_.nodes()) plan_.looked_at += view_.node(node).pods.size();
    plan_.pending = static_cast<std::size_t>(
        std::ranges::count_if(state.pods, [](const auto& pod) { return pod->spec.node_name.empty(); }));
  }

  Expected<RebalancePlan> Run() {
    bool has_moved = true;
    for (std::size_t pass = 0; has_moved; ++pass) {
      if (pass == kPlanPassesMax) {
        plan_.is_complete = false;
        break;
      }
      BERTH_ASSIGN_OR_RETURN(has_moved, Pass());
    }
    for (auto& each : staying_) plan_.staying.push_back(std::move(each.second));
    std::ranges::sort(plan_.staying, {}, &StayingPod::key);
    return std::move(plan_);
  }

 private:
  // Tries all that is objected to, and, in place of what stays, what would be objected to then. True: something moved.
  Expected<bool> Pass() {
    staying_.clear();
    ObjectionOptions options;
    options.now = options_.now;
    options.refused = moved_;
    const std::size_t moved_before = moved_.size();
    while (true) {
      BERTH_ASSIGN_OR_RETURN(const std::vector<Objection> objections, FindObjections(policy_, view_, options));
      if (objections.empty()) break;
      for (std::size_t i = 0; i < objections.size();) {
        if (options_.is_interrupted && options_.is_interrupted()) {
          plan_.is_interrupted = true;
          plan_.is_complete = false;
          return false;
        }
        i = Try(objections, i);
      }
      for (const Objection& objection : objections) options.refused.insert(objection.pod);
    }
    return moved_.size() > moved_before;
  }

  // Tries one objection, or, of HighNodeUtilization, all of a node. Returns the index behind them.
  std::size_t Try(const std::vector<Objection>& objections, std::size_t i) {
    const Objection& objection = objections[i];
    if (!std::holds_alternative<HighNodeUtilizationArgs>(*objection.strategy)) {
      if (!moved_.contains(objection.pod)) TryOne(objection);
      return i + 1;
    }
    std::size_t end = i;
    std::optional<NodeNumber> node;
    std::vector<const Objection*> group;
    for (; end < objections.size() && objections[end].strategy == objection.strategy; ++end) {
      // A pod that has moved before is no longer here.
      if (moved_.contains(objections[end].pod)) continue;
      if (node.value_or(view_.pod(objections[end].pod).node) != view_.pod(objections[end].pod).node) break;
      node = view_.pod(objections[end].pod).node;
      group.push_back(&objections[end]);
    }
    if (!group.empty()) TryNode(*node, group);
    return std::max(end, i + 1);
  }

  void Stay(const Objection& objection, std::string why) {
    const PodView& pod = view_.pod(objection.pod);
    staying_[objection.pod] = {pod.Key(),
                               view_.node(pod.node).name(),
                               std::string(NameOf(*objection.strategy)),
                               objection.profile->name,
                               objection.reason,
                               std::move(why),
                               hold_};
  }

  void TryOne(const Objection& objection) {
    hold_ = {};
    std::string why = WhyNever(objection);
    if (why.empty()) why = WhyNotNow(objection);
    if (why.empty() && view_.pod(objection.pod).is_finished) {
      Commit(objection, std::nullopt, {});
      return;
    }
    const Overlay::Mark mark = overlay_->mark();
    if (why.empty()) why = Prove(objection, Violations::Wants::kBetter);
    if (!why.empty()) {
      overlay_->UndoTo(mark);
      Stay(objection, std::move(why));
      return;
    }
    Commit(objection, target_, violations_.ChangesOf(view_.pod(objection.pod), target_));
  }

  // All pods of the node, or none: a node that keeps one is not freed. Since a move changes the view that later ones
  // are judged by, all is done in copies, which take the place of the originals if all goes well.
  void TryNode(NodeNumber node, const std::vector<const Objection*>& group) {
    if (group.size() < CountMovable(view_, node)) {
      hold_ = {};
      for (const Objection* objection : group) Stay(*objection, "its node would not be empty: other pods stay there");
      return;
    }
    const Overlay::Mark mark = overlay_->mark();
    const Kept kept{plan_.moves.size(), budgets_, counter_, allowance_, moved_};
    std::vector<std::pair<PodNumber, NodeNumber>> done;
    for (const Objection* objection : group) {
      hold_ = {};
      std::string why = WhyNever(*objection);
      if (why.empty()) why = WhyNotNow(*objection);
      if (why.empty()) why = Prove(*objection, Violations::Wants::kNoWorse);
      if (why.empty()) {
        Commit(*objection, target_, violations_.ChangesOf(view_.pod(objection->pod), target_));
        done.emplace_back(objection->pod, node);
        continue;
      }
      overlay_->UndoTo(mark);
      Restore(kept, done);
      const std::string key = view_.pod(objection->pod).Key();
      for (const Objection* other : group)
        Stay(*other, other == objection ? why : "its node would not be empty: " + key + " stays there");
      return;
    }
  }

  // What a group that fails puts back, beside the overlay.
  struct Kept {
    std::size_t move_count;
    whatif::EvictionBudgets budgets;
    EvictionCounter counter;
    std::optional<MoveAllowance> allowance;
    std::set<PodNumber> moved;
  };
  void Restore(const Kept& kept, const std::vector<std::pair<PodNumber, NodeNumber>>& done) {
    plan_.moves.resize(kept.move_count);
    budgets_ = kept.budgets;
    counter_ = kept.counter;
    allowance_ = kept.allowance;
    moved_ = kept.moved;
    for (auto at = done.rbegin(); at != done.rend(); ++at) {
      violations_.Move(view_.pod(at->first), at->second);
      view_.TakeBack(at->first, at->second);
    }
    grouped_by_ = nullptr;
  }

  // What no plan can change.
  std::string WhyNever(const Objection& objection) const {
    const PodView& pod = view_.pod(objection.pod);
    if (pod.pod->metadata.deletion_time) return "it is being deleted";
    if (whatif::IsMirrorPod(*pod.pod) || IsStaticPod(pod)) return "it is a static pod, which its kubelet starts again";
    if (IsOfDaemonSet(pod)) return "it is of a DaemonSet, which starts it again on its node";
    if (!pod.is_finished && whatif::KindOf(*pod.pod) == PodKind::kBare) return "no controller would make another one";
    if (ComesBackAtOnce(*objection.strategy)) return "a new pod in its place would be objected to at once";
    return {};
  }

  // `hold_` says whether it is the allowance.
  std::string WhyNotNow(const Objection& objection) {
    const PodView& pod = view_.pod(objection.pod);
    if (allowance_) {
      Hold hold =
          allowance_->WhyNot(*pod.pod, NameOf(*objection.strategy), IsAboutPod(*objection.strategy), pod.is_finished);
      hold_ = hold.cause;
      if (!hold.cause.empty()) return std::move(hold.why);
    }
    switch (counter_.Ask(pod)) {
      case EvictionCounter::Answer::kEvicted: break;
      case EvictionCounter::Answer::kNodeLimit: return "maxNoOfPodsToEvictPerNode is reached";
      case EvictionCounter::Answer::kRefused: return "maxNoOfPodsToEvictPerNamespace is reached";
      case EvictionCounter::Answer::kTotalLimit: return "maxNoOfPodsToEvictTotal is reached";
    }
    if (pod.is_finished) return {};
    const whatif::EvictionBudgets::Told told = budgets_.Ask(*pod.pod);
    switch (told.answer) {
      case BudgetAnswer::kNone:
      case BudgetAnswer::kAllows: return {};
      case BudgetAnswer::kWaits:
        return "PodDisruptionBudget " + told.budgets.front() + " allows no more until those that moved are replaced";
      case BudgetAnswer::kForbids: return "PodDisruptionBudget " + told.budgets.front() + " allows no eviction now";
      case BudgetAnswer::kSeveral: return "it has several PodDisruptionBudgets: the API evicts no such pod";
    }
    return {};
  }

  // Moves the pod on the overlay; `target_` says where it went. Why that is not good; the caller undoes it then.
  std::string Prove(const Objection& objection, Violations::Wants wants) {
    const PodView& pod = view_.pod(objection.pod);
    const std::string node = view_.node(pod.node).name();
    overlay_->RemovePod(pod.pod->metadata.uid);
    const whatif::Replacement replacement = whatif::MakeReplacement(*overlay_, *pod.pod);
    if (!replacement.pod) return "where it would go is not known: " + replacement.why_unknown;
    if (options_.chooses_target) return ProveOfOurs(objection, replacement.pod, wants);
    const auto answer = overlay_->Evaluate(replacement.pod, Detail::kChoice, ++seed_);
    if (answer.outcome.result != runtime::Result::kFeasible) return WhyNowhere(replacement.pod);
    std::string why = WhyNotThere(objection, answer.outcome.node, wants);
    if (!why.empty()) return why;
    // Any of the best nodes may be the scheduler's choice.
    const auto all = overlay_->Evaluate(replacement.pod, Detail::kAll, seed_);
    ties_.clear();
    for (const NodeIndex best : all.outcome.best) {
      why = WhyNotThere(objection, best, wants);
      if (!why.empty()) return why;
      if (best != all.outcome.node && ties_.size() <= kTiesMax) ties_.push_back(overlay_->nodes().Info(best).name());
    }
    why = WhyNotThere(objection, all.outcome.node, wants);
    return why.empty() ? Place(replacement.pod, all.outcome.node) : why;
  }

  // The same where we choose: of the nodes that are better, the one that the scheduler likes best.
  std::string ProveOfOurs(const Objection& objection, const framework::PodInfoPtr& replacement,
                          Violations::Wants wants) {
    ties_.clear();
    const auto all = overlay_->Evaluate(replacement, Detail::kAll, ++seed_);
    if (all.outcome.result != runtime::Result::kFeasible) return WhyNowhere(replacement);
    const std::vector<NodeIndex>& feasible = all.outcome.feasible;
    std::vector<std::size_t> order(feasible.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<std::int64_t>& totals = all.outcome.totals;
    if (totals.size() == feasible.size()) {
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
    }
    std::string first;
    for (const std::size_t i : order) {
      const std::string why = WhyNotThere(objection, feasible[i], wants);
      if (why.empty()) return Place(replacement, feasible[i]);
      if (first.empty()) first = why;
    }
    return first;
  }

  std::string WhyNowhere(const framework::PodInfoPtr& replacement) {
    whatif::Placer placer(*overlay_);
    placer.Place(replacement);
    return "it fits nowhere else: " + placer.Explain(replacement, false).message;
  }

  std::string Place(const framework::PodInfoPtr& replacement, NodeIndex row) {
    const auto to = view_.FindNode(overlay_->nodes().Info(row).name());
    BERTH_CHECK(to.has_value());
    const framework::Status placed = overlay_->Place(replacement, row);
    if (!placed.IsSuccess()) return "it fits nowhere else: " + placed.Message();
    target_ = *to;
    return {};
  }

  std::string WhyNotThere(const Objection& objection, NodeIndex row, Violations::Wants wants) {
    const PodView& pod = view_.pod(objection.pod);
    const std::string& name = overlay_->nodes().Info(row).name();
    const auto to = view_.FindNode(name);
    BERTH_CHECK(to.has_value(), name);
    if (*to == pod.node && !IsAboutPod(*objection.strategy)) return "the scheduler would put it back on " + name;
    std::string why = WhyNotTarget(*objection.strategy, pod, *to);
    if (why.empty()) why = violations_.WhyWorse(*objection.strategy, pod, *to, wants);
    return why.empty() ? "" : "the scheduler would put it on " + name + ", where " + why;
  }

  // What the two strategies about use ask of a node beside being better.
  std::string WhyNotTarget(const StrategyArgs& strategy, const PodView& pod, NodeNumber to) {
    if (const auto* const low = std::get_if<LowNodeUtilizationArgs>(&strategy)) {
      NodeView after = view_.node(to);
      after.requested.Add(pod.requests);
      ++after.requested.pods;
      if (!IsWithin(after, GroupsOf(strategy, *low).high)) return "the node would be too full";
    }
    if (const auto* const high = std::get_if<HighNodeUtilizationArgs>(&strategy)) {
      const std::vector<NodeNumber>& targets = GroupsOf(strategy, *high).targets;
      if (std::ranges::find(targets, to) == targets.end()) return "the node is nearly empty itself";
    }
    return {};
  }

  // All nodes are looked at for it: once until a pod moves, and not for each candidate.
  template <typename Args>
  const UtilizationGroups& GroupsOf(const StrategyArgs& strategy, const Args& args) {
    if (grouped_by_ != &strategy) groups_ = GroupNodes(args, view_, violations_.nodes());
    grouped_by_ = &strategy;
    return groups_;
  }

  void Commit(const Objection& objection, std::optional<NodeNumber> to, std::vector<ViolationChange> changes) {
    const PodView& pod = view_.pod(objection.pod);
    PlannedMove& move = plan_.moves.emplace_back();
    move.pod = pod.pod;
    move.key = pod.Key();
    move.uid = pod.pod->metadata.uid;
    move.owner = whatif::OwnerOf(*pod.pod);
    move.from = view_.node(pod.node).name();
    if (to) {
      move.to = view_.node(*to).name();
      move.ties = ties_;
      move.has_more_ties = ties_.size() > kTiesMax;
      if (move.has_more_ties) move.ties.pop_back();
    }
    move.strategy = NameOf(*objection.strategy);
    move.profile = objection.profile->name;
    move.reason = objection.reason;
    move.changes = std::move(changes);
    counter_.Evict(pod);
    if (allowance_) allowance_->Take(*pod.pod, pod.is_finished);
    if (to) {
      budgets_.Take(*pod.pod);
      violations_.Move(pod, *to);
    }
    moved_.insert(objection.pod);
    staying_.erase(objection.pod);
    view_.MovePod(objection.pod, to);
    grouped_by_ = nullptr;
  }

  const Policy& policy_;
  const PlanOptions& options_;
  ClusterView view_;
  Violations violations_;
  whatif::EvictionBudgets budgets_;
  EvictionCounter counter_;
  std::optional<MoveAllowance> allowance_;
  std::string_view hold_;  // of the pod that is tried: the cause for which the allowance holds it
  std::unique_ptr<Overlay> overlay_;
  std::uint64_t seed_ = 0;
  NodeNumber target_ = 0;          // of the last Prove()
  std::vector<std::string> ties_;  // the same; one more than kTiesMax when there are more
  UtilizationGroups groups_;
  const StrategyArgs* grouped_by_ = nullptr;  // that groups_ is of; null: the view has changed since
  std::set<PodNumber> moved_;
  std::map<PodNumber, StayingPod> staying_;  // of this pass
  RebalancePlan plan_;
};

}  // namespace

Expected<RebalancePlan> PlanRebalance(whatif::OfflineCluster& cluster, const whatif::ClusterState& state,
                                      const Policy& policy, const PlanOptions& options) {
  return Planner(cluster, state, policy, options).Run();
}

}  // namespace berth::rebalance
