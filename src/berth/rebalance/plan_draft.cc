// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/plan_draft.h"

#include <algorithm>
#include <variant>

#include "berth/base/check.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

using whatif::BudgetAnswer;
using whatif::PodKind;

// Whether the pod would be objected to again as soon as it is there, whatever its age.
bool ComesBackAtOnce(const StrategyArgs& strategy) {
  const auto* const args = std::get_if<PodLifeTimeArgs>(&strategy);
  if (args == nullptr) return false;
  const bool asks_for_age = args->max_seconds.has_value();
  const bool asks_for_trouble = !args->conditions.empty() || !args->exit_codes.empty();
  return !asks_for_age && !asks_for_trouble && std::ranges::find(args->states, "Running") != args->states.end();
}

}  // namespace

PlanDraft::PlanDraft(whatif::OfflineCluster& cluster, const whatif::ClusterState& state, const Policy& policy,
                     const PlanOptions& options, ClusterView view)
    : view_(std::move(view)),
      violations_(policy, view_, ReadyNodes(view_, policy.node_selector), options.now, options.measurements),
      budgets_(state),
      counter_(policy.limits),
      allowance_(options.allowance == nullptr ? std::nullopt : std::optional(*options.allowance)),
      prover_(cluster.MakeOverlay(), view_, violations_, options.chooses_target) {}

std::string PlanDraft::WhyNever(const Objection& objection) const {
  const PodView& pod = view_.pod(objection.pod);
  if (pod.pod->metadata.deletion_time) return "it is being deleted";
  if (whatif::IsMirrorPod(*pod.pod) || IsStaticPod(pod)) return "it is a static pod, which its kubelet starts again";
  if (IsOfDaemonSet(pod)) return "it is of a DaemonSet, which starts it again on its node";
  if (!pod.is_finished && whatif::KindOf(*pod.pod) == PodKind::kBare) return "no controller would make another one";
  if (ComesBackAtOnce(*objection.strategy)) return "a new pod in its place would be objected to at once";
  return {};
}

Refusal PlanDraft::WhyNotNow(const Objection& objection) const {
  const PodView& pod = view_.pod(objection.pod);
  if (allowance_) {
    Hold hold = allowance_->WhyNot(*pod.pod, NameOf(*objection.strategy), IsAboutPod(*objection.strategy),
                                   pod.is_finished, objection.is_urgent);
    if (!hold.cause.empty()) return {std::move(hold.why), hold.cause};
  }
  switch (counter_.Ask(pod)) {
    case EvictionCounter::Answer::kEvicted: break;
    case EvictionCounter::Answer::kNodeLimit: return {"maxNoOfPodsToEvictPerNode is reached", {}};
    case EvictionCounter::Answer::kRefused: return {"maxNoOfPodsToEvictPerNamespace is reached", {}};
    case EvictionCounter::Answer::kTotalLimit: return {"maxNoOfPodsToEvictTotal is reached", {}};
  }
  if (std::string why = WhyOverNodeLimit(objection); !why.empty()) return {std::move(why), {}};
  if (pod.is_finished) return {};
  const whatif::EvictionBudgets::Result result = budgets_.Ask(*pod.pod);
  switch (result.answer) {
    case BudgetAnswer::kNone:
    case BudgetAnswer::kAllows: return {};
    case BudgetAnswer::kWaits:
      return {"PodDisruptionBudget " + result.budgets.front() + " allows no more until those that moved are replaced",
              {}};
    case BudgetAnswer::kForbids:
      return {"PodDisruptionBudget " + result.budgets.front() + " allows no eviction now", {}};
    case BudgetAnswer::kSeveral: return {"it has several PodDisruptionBudgets: the API evicts no such pod", {}};
  }
  return {};
}

// LowNodeUtilization's own limit; and, where a query tells how full nodes are and nothing of pods, one pod of a node
// between two measurements.
std::string PlanDraft::WhyOverNodeLimit(const Objection& objection) const {
  const auto* const low = std::get_if<LowNodeUtilizationArgs>(objection.strategy);
  if (low == nullptr) return {};
  const bool is_by_query = low->metrics && low->metrics->source == MetricsSource::kPrometheus;
  if (!low->node_limit && !is_by_query) return {};
  const std::string& node = view_.node(view_.pod(objection.pod).node).name();
  const auto gone = std::ranges::count_if(moves_, [&](const PlannedMove& move) {
    return move.from == node && move.profile == objection.profile->name && move.strategy == NameOf(*objection.strategy);
  });
  if (static_cast<std::uint64_t>(gone) < low->node_limit.value_or(1)) return {};
  return low->node_limit ? "evictionLimits.node is reached"
                         : "one pod of a node moves, and then the node is measured again";
}

StayingPod PlanDraft::Staying(const Objection& objection, Refusal refusal) const {
  const PodView& pod = view_.pod(objection.pod);
  return {pod.Key(),
          view_.node(pod.node).name(),
          std::string(NameOf(*objection.strategy)),
          objection.profile->name,
          objection.reason,
          std::move(refusal.why),
          refusal.hold};
}

ProvedMove PlanDraft::Prove(const Objection& objection, Violations::Wants wants) {
  ++proof_count_;
  const scheduler::Overlay::Mark before = prover_.mark();
  ProvedMove proved = prover_.Prove(objection, wants);
  if (!proved.why_not.empty()) prover_.UndoTo(before);
  return proved;
}

void PlanDraft::Commit(const Objection& objection, std::optional<NodeNumber> to, ProvedMove proved) {
  const PodView& pod = view_.pod(objection.pod);
  PlannedMove& move = moves_.emplace_back();
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
  if (objection.makes_room_for) move.makes_room_for = view_.pod(*objection.makes_room_for).Key();
  counter_.Evict(pod);
  if (allowance_) allowance_->Take(*pod.pod, pod.is_finished);
  if (to) made_.push_back({objection.pod, pod.node, true, budgets_.Take(*pod.pod)});
  MoveInView(objection.pod, to);
}

void PlanDraft::CommitForLater(const Objection& objection, NodeNumber to, Refusal not_yet) {
  later_.push_back(Staying(objection, std::move(not_yet)));
  made_.push_back({objection.pod, view_.pod(objection.pod).node, false, false});
  MoveInView(objection.pod, to);
}

void PlanDraft::MoveInView(PodNumber pod, std::optional<NodeNumber> to) {
  if (to) violations_.Move(view_.pod(pod), *to);
  revision_ = ++last_revision_;
  moved_.insert(pod);
  view_.MovePod(pod, to);
  prover_.OnViewChanged();
}

void PlanDraft::UndoTo(const Mark& mark) {
  prover_.UndoTo(mark.overlay);
  if (made_.size() == mark.made_count) return;
  for (; made_.size() > mark.made_count; made_.pop_back()) {
    const Made& made = made_.back();
    const PodView& pod = view_.pod(made.pod);
    violations_.Move(pod, made.from);
    view_.TakeBack(made.pod, made.from);
    moved_.erase(made.pod);
    if (!made.is_evicted) {
      later_.pop_back();
      continue;
    }
    moves_.pop_back();
    counter_.TakeBack(pod);
    if (allowance_) allowance_->GiveBack(*pod.pod);
    if (made.takes_budget) budgets_.GiveBack(*pod.pod);
  }
  revision_ = mark.revision;
  prover_.OnViewChanged();
}

void PlanDraft::JoinMoves(std::size_t first) {
  ++chain_count_;
  for (std::size_t i = first; i < moves_.size(); ++i) moves_[i].chain = chain_count_;
}

}  // namespace berth::rebalance
