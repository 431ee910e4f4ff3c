// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/custom_metric.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/move_prover.h"
#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/objections.h"
#include "berth/whatif/eviction_budgets.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

using scheduler::Overlay;
using whatif::BudgetAnswer;
using whatif::PodKind;
using Wants = Violations::Wants;

// Of one plan, and of one pod: nodes that are looked at, and pods on them that could make room.
constexpr std::size_t kChainsMax = 500;
constexpr std::size_t kChainTargetsMax = 8;

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
          const PlanOptions& options, ClusterView view)
      : policy_(policy),
        options_(options),
        view_(std::move(view)),
        violations_(policy, view_, ReadyNodes(view_, policy.node_selector), options.now, options.measurements),
        budgets_(state),
        counter_(policy.limits),
        allowance_(options.allowance == nullptr ? std::nullopt : std::optional(*options.allowance)),
        prover_(cluster.MakeOverlay(), view_, violations_, options.chooses_target) {
    for (const NodeNumber node : violations_.nodes()) plan_.looked_at += view_.node(node).pods.size();
    plan_.pending = static_cast<std::size_t>(
        std::ranges::count_if(state.pods, [](const auto& pod) { return pod->spec.node_name.empty(); }));
  }

  Expected<RebalancePlan> Run() {
    const std::vector<NodeNumber> consolidating = ConsolidatingNodes();
    bool has_moved = true;
    for (std::size_t pass = 0; has_moved; ++pass) {
      if (pass == kPlanPassesMax) {
        plan_.is_complete = false;
        break;
      }
      BERTH_ASSIGN_OR_RETURN(has_moved, Pass());
    }
    for (auto& each : staying_) plan_.staying.push_back(std::move(each.second));
    for (StayingPod& pod : later_) plan_.staying.push_back(std::move(pod));
    std::ranges::sort(plan_.staying, {}, &StayingPod::key);
    for (const NodeNumber node : consolidating) {
      // It still has pods, and nothing is done about them: it is as good as any other node.
      if (CountMovable(view_, node) > 0 && !plan_.is_interrupted) plan_.given_up.push_back(view_.node(node).name());
    }
    return std::move(plan_);
  }

 private:
  // Tries all that is objected to, and, in place of what stays, what would be objected to then. True: something moved.
  Expected<bool> Pass() {
    staying_.clear();
    ObjectionOptions options;
    options.now = options_.now;
    options.refused = moved_;
    options.measurements = options_.measurements;
    const std::size_t moved_before = moved_.size();
    while (true) {
      options.nodes_emptied = plan_.emptied.size();
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

  // Tries one objection, or all that belong together. Returns the index behind them.
  std::size_t Try(const std::vector<Objection>& objections, std::size_t i) {
    const Objection& objection = objections[i];
    if (objection.empties) return TryEmptying(objections, i);
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
    staying_[objection.pod] = Staying(objection, std::move(why));
  }
  StayingPod Staying(const Objection& objection, std::string why) const {
    const PodView& pod = view_.pod(objection.pod);
    return {pod.Key(),
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
    bool fits_nowhere = false;
    if (why.empty()) {
      const Overlay::Mark mark = prover_.mark();
      ProvedMove proved = prover_.Prove(objection, Wants::kBetter);
      if (proved.why_not.empty()) return Commit(objection, proved.to, std::move(proved));
      prover_.UndoTo(mark);
      why = std::move(proved.why_not);
      fits_nowhere = proved.fits_nowhere;
    }
    if (!fits_nowhere || !TryChain(objection)) Stay(objection, std::move(why));
  }

  // Where a pod fits nowhere: another pod makes room for it, which goes elsewhere first and is no worse off there.
  bool TryChain(const Objection& objection) {
    const PodView& pod = view_.pod(objection.pod);
    std::size_t targets = 0;
    for (const NodeNumber to : violations_.nodes()) {
      if (chains_tried_ >= kChainsMax || targets >= kChainTargetsMax) return false;
      if (to == pod.node || view_.node(to).node->unschedulable || !pod.required->Matches(*view_.node(to).node) ||
          plugins::HasUntoleratedHardTaint(view_.node(to).node->taints, pod.pod->spec.tolerations) ||
          !violations_.WhyWorse(*objection.strategy, pod, to).empty()) {
        continue;
      }
      ++targets;
      const std::vector<PodNumber> others = view_.node(to).pods;
      for (const PodNumber other : others) {
        if (chains_tried_ >= kChainsMax) return false;
        if (!moved_.contains(other) && !view_.pod(other).is_finished && TryLinks(objection, other)) return true;
      }
    }
    return false;
  }

  bool TryLinks(const Objection& objection, PodNumber other) {
    Objection first = objection;
    first.pod = other;
    first.is_urgent = false;
    first.reason = "it makes room for " + view_.pod(objection.pod).Key();
    if (!WhyNever(first).empty() || !WhyNotNow(first).empty()) return false;
    ++chains_tried_;
    const Overlay::Mark mark = prover_.mark();
    const Kept kept = Keep();
    const NodeNumber node = view_.pod(other).node;
    ProvedMove proved = prover_.Prove(first, Wants::kNoWorse);
    if (!proved.why_not.empty()) {
      prover_.UndoTo(mark);
      return false;
    }
    Commit(first, proved.to, std::move(proved));
    hold_ = {};
    ProvedMove second;
    // Its owner may have no more to give.
    if (second.why_not = WhyNotNow(objection); second.why_not.empty())
      second = prover_.Prove(objection, Wants::kBetter);
    if (second.why_not.empty()) {
      Commit(objection, second.to, std::move(second));
      return true;
    }
    prover_.UndoTo(mark);
    Restore(kept, {{other, node}});
    return false;
  }

  // All pods of the node, or none: a node that keeps one is not freed. Since a move changes the view that later ones
  // are judged by, all is done in copies, which take the place of the originals if all goes well.
  void TryNode(NodeNumber node, const std::vector<const Objection*>& group) {
    if (group.size() < CountMovable(view_, node)) {
      hold_ = {};
      for (const Objection* objection : group) Stay(*objection, "its node would not be empty: other pods stay there");
      return;
    }
    const Overlay::Mark mark = prover_.mark();
    const Kept kept = Keep();
    std::vector<std::pair<PodNumber, NodeNumber>> done;
    for (const Objection* objection : group) {
      hold_ = {};
      std::string why = WhyNever(*objection);
      if (why.empty()) why = WhyNotNow(*objection);
      ProvedMove proved;
      if (why.empty()) proved = prover_.Prove(*objection, Wants::kNoWorse);
      if (why.empty()) why = proved.why_not;
      if (why.empty()) {
        Commit(*objection, proved.to, std::move(proved));
        done.emplace_back(objection->pod, node);
        continue;
      }
      prover_.UndoTo(mark);
      Restore(kept, done);
      const std::string key = view_.pod(objection->pod).Key();
      for (const Objection* other : group)
        Stay(*other, other == objection ? why : "its node would not be empty: " + key + " stays there");
      return;
    }
  }

  // The objections from `i` on that empty one node, made as one: with the node cordoned, and pods that may not move yet
  // on their way as well, since what they will need must stay free. Returns the index behind them.
  std::size_t TryEmptying(const std::vector<Objection>& objections, std::size_t i) {
    const NodeNumber node = *objections[i].empties;
    std::size_t end = i;
    while (end < objections.size() && objections[end].empties == node) ++end;
    const Overlay::Mark mark = prover_.mark();
    const Kept kept = Keep();
    std::vector<std::pair<PodNumber, NodeNumber>> done;
    std::string why;
    prover_.Cordon(node);
    for (std::size_t at = i; at < end && why.empty(); ++at) {
      const Objection& objection = objections[at];
      hold_ = {};
      why = moved_.contains(objection.pod) ? "it has moved" : WhyNever(objection);
      std::string not_yet = why.empty() ? WhyNotNow(objection) : "";
      if (!not_yet.empty() && hold_.empty()) why = not_yet;
      if (!why.empty()) break;
      ProvedMove proved = prover_.Prove(objection, Wants::kNoWorse);
      why = proved.why_not;
      if (!why.empty()) break;
      done.emplace_back(objection.pod, view_.pod(objection.pod).node);
      if (not_yet.empty()) {
        const bool leaves_it = view_.pod(objection.pod).node == node;
        Commit(objection, proved.to, std::move(proved));
        plan_.moves.back().empties = leaves_it;
      } else {
        CommitForLater(objection, proved.to, std::move(not_yet));
      }
    }
    if (why.empty() && CountMovable(view_, node) > 0) why = "other pods stay there";
    if (why.empty()) {
      plan_.emptied.push_back(view_.node(node).name());
      return end;
    }
    prover_.UndoTo(mark);
    Restore(kept, done);
    hold_ = {};
    for (std::size_t at = i; at < end; ++at) {
      if (!moved_.contains(objections[at].pod))
        Stay(objections[at], view_.node(node).name() + " would not be empty: " + why);
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

  // What a group that fails puts back, beside the overlay and the moves that it made: these alone are taken back, so
  // that a group costs by its own size, however much the plan has moved.
  struct Kept {
    std::size_t move_count;
    std::size_t later_count;
    whatif::EvictionBudgets budgets;
    EvictionCounter counter;
    std::optional<MoveAllowance> allowance;
  };
  Kept Keep() const { return {plan_.moves.size(), later_.size(), budgets_, counter_, allowance_}; }
  void Restore(const Kept& kept, const std::vector<std::pair<PodNumber, NodeNumber>>& done) {
    plan_.moves.resize(kept.move_count);
    later_.resize(kept.later_count);
    budgets_ = kept.budgets;
    counter_ = kept.counter;
    allowance_ = kept.allowance;
    for (auto at = done.rbegin(); at != done.rend(); ++at) {
      violations_.Move(view_.pod(at->first), at->second);
      view_.TakeBack(at->first, at->second);
      moved_.erase(at->first);
    }
    prover_.OnViewChanged();
  }

  // Why no plan can move the pod of this objection; empty: one could.
  std::string WhyNever(const Objection& objection) const {
    const PodView& pod = view_.pod(objection.pod);
    if (pod.pod->metadata.deletion_time) return "it is being deleted";
    if (whatif::IsMirrorPod(*pod.pod) || IsStaticPod(pod)) return "it is a static pod, which its kubelet starts again";
    if (IsOfDaemonSet(pod)) return "it is of a DaemonSet, which starts it again on its node";
    if (!pod.is_finished && whatif::KindOf(*pod.pod) == PodKind::kBare) return "no controller would make another one";
    if (ComesBackAtOnce(*objection.strategy)) return "a new pod in its place would be objected to at once";
    return {};
  }

  // `hold_` says that it is one of the limits which another round need not have.
  std::string WhyNotNow(const Objection& objection) {
    const PodView& pod = view_.pod(objection.pod);
    if (allowance_) {
      Hold hold = allowance_->WhyNot(*pod.pod, NameOf(*objection.strategy), IsAboutPod(*objection.strategy),
                                     pod.is_finished, objection.is_urgent);
      hold_ = hold.cause;
      if (!hold.cause.empty()) return std::move(hold.why);
    }
    switch (counter_.Ask(pod)) {
      case EvictionCounter::Answer::kEvicted: break;
      case EvictionCounter::Answer::kNodeLimit: return "maxNoOfPodsToEvictPerNode is reached";
      case EvictionCounter::Answer::kRefused: return "maxNoOfPodsToEvictPerNamespace is reached";
      case EvictionCounter::Answer::kTotalLimit: return "maxNoOfPodsToEvictTotal is reached";
    }
    if (std::string why = WhyOverNodeLimit(objection); !why.empty()) return why;
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

  // LowNodeUtilization's own limit; and, where a query tells how full nodes are and nothing of pods, one pod of a node
  // between two measurements.
  std::string WhyOverNodeLimit(const Objection& objection) const {
    const auto* const low = std::get_if<LowNodeUtilizationArgs>(objection.strategy);
    if (low == nullptr) return {};
    const bool is_by_query = low->metrics && low->metrics->source == MetricsSource::kPrometheus;
    if (!low->node_limit && !is_by_query) return {};
    const std::string& node = view_.node(view_.pod(objection.pod).node).name();
    const auto gone = std::ranges::count_if(plan_.moves, [&](const PlannedMove& move) {
      return move.from == node && move.profile == objection.profile->name &&
             move.strategy == NameOf(*objection.strategy);
    });
    if (static_cast<std::uint64_t>(gone) < low->node_limit.value_or(1)) return {};
    return low->node_limit ? "evictionLimits.node is reached"
                           : "one pod of a node moves, and then the node is measured again";
  }

  void Commit(const Objection& objection, std::optional<NodeNumber> to, ProvedMove proved) {
    const PodView& pod = view_.pod(objection.pod);
    PlannedMove& move = plan_.moves.emplace_back();
    move.pod = pod.pod;
    move.key = pod.Key();
    move.uid = pod.pod->metadata.uid;
    move.owner = whatif::OwnerOf(*pod.pod);
    move.from = view_.node(pod.node).name();
    if (to) {
      move.to = view_.node(*to).name();
      move.ties = std::move(proved.ties);
      move.has_more_ties = move.ties.size() > kTiesMax;
      if (move.has_more_ties) move.ties.pop_back();
      move.changes = violations_.ChangesOf(pod, *to);
      for (ViolationChange& gain : proved.gains) {
        gain.strategy = objection.strategy;
        move.changes.push_back(std::move(gain));
      }
    }
    move.strategy = NameOf(*objection.strategy);
    move.profile = objection.profile->name;
    move.reason = objection.reason;
    counter_.Evict(pod);
    if (allowance_) allowance_->Take(*pod.pod, pod.is_finished);
    if (to) budgets_.Take(*pod.pod);
    MoveInView(objection, to);
  }

  // It is on its way, and not evicted in this round.
  void CommitForLater(const Objection& objection, NodeNumber to, std::string why) {
    later_.push_back(Staying(objection, std::move(why)));
    MoveInView(objection, to);
  }

  void MoveInView(const Objection& objection, std::optional<NodeNumber> to) {
    if (to) violations_.Move(view_.pod(objection.pod), *to);
    moved_.insert(objection.pod);
    staying_.erase(objection.pod);
    view_.MovePod(objection.pod, to);
    prover_.OnViewChanged();
  }

  const Policy& policy_;
  const PlanOptions& options_;
  ClusterView view_;
  Violations violations_;
  whatif::EvictionBudgets budgets_;
  EvictionCounter counter_;
  std::optional<MoveAllowance> allowance_;
  std::string_view hold_;  // of the pod that is tried: the cause for which the allowance holds it
  MoveProver prover_;
  std::size_t chains_tried_ = 0;
  std::set<PodNumber> moved_;
  std::map<PodNumber, StayingPod> staying_;  // of this pass
  std::vector<StayingPod> later_;            // that are on their way out of a node which is being emptied
  RebalancePlan plan_;
};

}  // namespace

Expected<RebalancePlan> PlanRebalance(whatif::OfflineCluster& cluster, const whatif::ClusterState& state,
                                      const Policy& policy, const PlanOptions& options) {
  ClusterView view(state);
  BERTH_RETURN_IF_ERROR(AddMeasuredUse(view, policy, ReadyNodes(view, policy.node_selector), options.measurements));
  for (const StrategyArgs* strategy : StrategiesOf(policy)) {
    if (const auto* const rule = std::get_if<CustomMetricArgs>(strategy))
      BERTH_RETURN_IF_ERROR(CheckSamples(*rule, options.measurements));
  }
  return Planner(cluster, state, policy, options, std::move(view)).Run();
}

}  // namespace berth::rebalance
