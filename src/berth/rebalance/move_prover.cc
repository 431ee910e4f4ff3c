// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/move_prover.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/rebalance/plan.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

using framework::NodeIndex;
using Detail = scheduler::Overlay::Detail;
using Wants = Violations::Wants;

}  // namespace

bool IsAboutPod(const StrategyArgs& strategy) {
  return std::holds_alternative<PodLifeTimeArgs>(strategy) || std::holds_alternative<TooManyRestartsArgs>(strategy) ||
         std::holds_alternative<FailedPodsArgs>(strategy);
}

MoveProver::MoveProver(std::unique_ptr<scheduler::Overlay> overlay, const ClusterView& view,
                       const Violations& violations, bool chooses_target)
    : overlay_(std::move(overlay)), view_(view), violations_(violations), chooses_target_(chooses_target) {
  for (const NodeIndex row : overlay_->nodes().rows()) {
    const std::string& name = overlay_->nodes().Info(row).name();
    const auto node = view_.FindNode(name);
    BERTH_CHECK(node.has_value(), name);
    node_of_row_.resize(std::max<std::size_t>(node_of_row_.size(), row + std::size_t{1}));
    node_of_row_[row] = *node;
  }
}

ProvedMove MoveProver::Prove(const Objection& objection, Wants wants) {
  const PodView& pod = view_.pod(objection.pod);
  if (wants == Wants::kBetter && IsNodeMended(objection)) {
    ProvedMove proved;
    proved.why_not = "its node is not too full any more";
    return proved;
  }
  whatif::RemoveWithClaims(*overlay_, *pod.pod);
  const whatif::Replacement replacement =
      whatif::MakeReplacement(*overlay_, *pod.pod, "replacement-of-" + pod.pod->metadata.uid);
  if (!replacement.pod) {
    ProvedMove proved;
    proved.why_not = "where it would go is not known: " + replacement.why_unknown;
    return proved;
  }
  return chooses_target_ ? ProveOfOurs(objection, replacement.pod, wants)
                         : ProveOfScheduler(objection, replacement.pod, wants);
}

ProvedMove MoveProver::ProveOfScheduler(const Objection& objection, const framework::PodInfoPtr& replacement,
                                        Wants wants) {
  const auto answer = overlay_->Evaluate(replacement, Detail::kChoice, ++seed_);
  if (answer.outcome.result != runtime::Result::kFeasible) return Nowhere(replacement);
  ProvedMove proved;
  proved.why_not = WhyNotThere(objection, answer.outcome.node, wants);
  if (!proved.why_not.empty()) return proved;
  // The scheduler may choose any of the best nodes, so that each must do.
  const auto all = overlay_->Evaluate(replacement, Detail::kAll, seed_);
  const NodeIndex chosen = all.outcome.node;
  if (const auto* const better = std::get_if<BetterScoreArgs>(objection.strategy)) {
    proved.why_not = WhyNoGain(*better, view_.pod(objection.pod), all.outcome, chosen, proved);
    if (!proved.why_not.empty()) return proved;
  }
  for (const NodeIndex best : all.outcome.best) {
    proved.why_not = WhyNotThere(objection, best, wants);
    if (!proved.why_not.empty()) return proved;
    if (best != chosen && proved.ties.size() <= kTiesMax) proved.ties.push_back(overlay_->nodes().Info(best).name());
  }
  proved.why_not = WhyNotThere(objection, chosen, wants);
  if (proved.why_not.empty()) Place(replacement, chosen, proved);
  return proved;
}

// Chooses the target where berth may: of the nodes that are better, the one that the scheduler scores highest.
ProvedMove MoveProver::ProveOfOurs(const Objection& objection, const framework::PodInfoPtr& replacement, Wants wants) {
  ProvedMove proved;
  if (objection.wanted && TryWanted(objection, replacement, wants, proved)) return proved;
  const auto all = overlay_->Evaluate(replacement, Detail::kAll, ++seed_);
  if (all.outcome.result != runtime::Result::kFeasible) return Nowhere(replacement);
  const std::vector<NodeIndex>& feasible = all.outcome.feasible;
  std::vector<std::size_t> order(feasible.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<std::int64_t>& totals = all.outcome.totals;
  if (totals.size() == feasible.size()) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
  }
  const auto* const better = std::get_if<BetterScoreArgs>(objection.strategy);
  const NodeNumber here = view_.pod(objection.pod).node;
  std::string first;
  bool is_of_here = false;  // which says least: we would not place it there
  for (const std::size_t i : order) {
    std::string why = WhyNoBetter(objection, feasible[i], wants);
    const bool is_no_better = !why.empty();
    if (!is_no_better && better != nullptr)
      why = WhyNoGain(*better, view_.pod(objection.pod), all.outcome, feasible[i], proved);
    if (why.empty()) {
      Place(replacement, feasible[i], proved);
      return proved;
    }
    // There may be thousands of nodes, so that only shown reasons are put into words.
    if (!first.empty() && !is_of_here) continue;
    is_of_here = NodeOf(feasible[i]) == here;
    if (first.empty() || !is_of_here) first = is_no_better ? SaidOf(objection, feasible[i], why) : std::move(why);
  }
  proved.why_not = std::move(first);
  return proved;
}

// Tries only the node that the strategy wants: as a nominated node it is filtered before all others. False: the
// scheduler's core does not take it.
bool MoveProver::TryWanted(const Objection& objection, const framework::PodInfoPtr& replacement, Wants wants,
                           ProvedMove& proved) {
  auto copy = std::make_shared<framework::PodInfo>(*replacement);
  copy->nominated_node_name = view_.node(*objection.wanted).name();
  const framework::PodInfoPtr nominated = std::move(copy);
  const auto answer = overlay_->Evaluate(nominated, Detail::kChoice, ++seed_);
  if (answer.outcome.result != runtime::Result::kFeasible || !answer.outcome.is_nominated_node) return false;
  const NodeIndex row = answer.outcome.node;
  if (!WhyNotThere(objection, row, wants).empty()) return false;
  Place(nominated, row, proved);
  return proved.why_not.empty();
}

std::string MoveProver::WhyNoGain(const BetterScoreArgs& args, const PodView& pod, const runtime::Outcome& outcome,
                                  NodeIndex row, ProvedMove& proved) const {
  const auto total_of = [&](NodeIndex wanted) -> std::optional<std::int64_t> {
    const auto at = std::ranges::find(outcome.feasible, wanted);
    const auto i = static_cast<std::size_t>(at - outcome.feasible.begin());
    return i < outcome.totals.size() ? std::optional(outcome.totals[i]) : std::nullopt;
  };
  std::optional<std::int64_t> here;
  for (const NodeIndex each : outcome.feasible) {
    if (NodeOf(each) == pod.node) here = total_of(each);
  }
  const std::optional<std::int64_t> there = total_of(row);
  // A node that would not take the pod again has no score: whatever takes it is better.
  if (!here || !there) {
    proved.gains = {{nullptr, -1, "its node would not take it again"}};
    return {};
  }
  const std::int64_t gain = *there - *here;
  proved.gains = {
      {nullptr, -static_cast<double>(gain), "score " + std::to_string(*here) + " to " + std::to_string(*there)}};
  if (gain >= args.min_gain) return {};
  return "the scheduler would give it " + std::to_string(gain) + " points more, which is less than " +
         std::to_string(args.min_gain);
}

ProvedMove MoveProver::Nowhere(const framework::PodInfoPtr& replacement) {
  whatif::Placer placer(*overlay_);
  placer.Place(replacement);
  ProvedMove proved;
  proved.fits_nowhere = true;
  proved.why_not = "it fits nowhere else: " + placer.Explain(replacement, false).message;
  return proved;
}

void MoveProver::Place(const framework::PodInfoPtr& replacement, NodeIndex row, ProvedMove& proved) {
  proved.to = NodeOf(row);
  const framework::Status placed = overlay_->Place(replacement, row);
  if (!placed.IsSuccess()) proved.why_not = "it fits nowhere else: " + placed.Message();
}

void MoveProver::Cordon(NodeNumber node) {
  auto cordoned = std::make_shared<api::Node>(*view_.node(node).node);
  cordoned->unschedulable = true;
  overlay_->SetNode(std::move(cordoned));
}

std::string MoveProver::WhyNotThere(const Objection& objection, NodeIndex row, Wants wants) {
  const std::string why = WhyNoBetter(objection, row, wants);
  return why.empty() ? why : SaidOf(objection, row, why);
}

// Where the pod is, which is no better unless the strategy objects to the pod itself.
bool MoveProver::IsBack(const Objection& objection, NodeNumber to) const {
  return to == view_.pod(objection.pod).node && !IsAboutPod(*objection.strategy);
}

std::string MoveProver::WhyNoBetter(const Objection& objection, NodeIndex row, Wants wants) {
  const PodView& pod = view_.pod(objection.pod);
  const NodeNumber to = NodeOf(row);
  if (IsBack(objection, to)) return "it is there";
  if (std::ranges::find(objection.kept_free, to) != objection.kept_free.end()) return "room is made for another pod";
  std::string why = WhyNotTarget(*objection.strategy, pod, to);
  return why.empty() ? violations_.WhyWorse(*objection.strategy, pod, to, wants) : why;
}

std::string MoveProver::SaidOf(const Objection& objection, NodeIndex row, const std::string& why) const {
  const NodeNumber to = NodeOf(row);
  const std::string& name = view_.node(to).name();
  if (IsBack(objection, to)) return "the scheduler would put it back on " + name;
  return "the scheduler would put it on " + name + ", where " + why;
}

// Whether the pod's node is not too full any more. An objection may be as old as the plan, and other pods may have left
// the node since.
bool MoveProver::IsNodeMended(const Objection& objection) {
  const auto* const low = std::get_if<LowNodeUtilizationArgs>(objection.strategy);
  if (low == nullptr) return false;
  const UtilizationGroups& groups = GroupsOf(*objection.strategy, *low);
  return IsWithin(view_.node(view_.pod(objection.pod).node), groups.high, groups.source);
}

// What strategies about whole nodes ask of a node beside being better.
std::string MoveProver::WhyNotTarget(const StrategyArgs& strategy, const PodView& pod, NodeNumber to) {
  if (const auto* const low = std::get_if<LowNodeUtilizationArgs>(&strategy)) {
    const UtilizationGroups& groups = GroupsOf(strategy, *low);
    if (!IsWithin(view_.With(to, pod), groups.high, groups.source)) return "the node would be too full";
  }
  if (const auto* const high = std::get_if<HighNodeUtilizationArgs>(&strategy)) {
    const std::vector<NodeNumber>& targets = GroupsOf(strategy, *high).targets;
    if (std::ranges::find(targets, to) == targets.end()) return "the node is nearly empty itself";
  }
  // The last pod of a node would make it no better there.
  if (std::holds_alternative<ConsolidateArgs>(strategy) && CountMovable(view_, to) == 0)
    return "the node is empty itself";
  return {};
}

// Grouping looks at all nodes, so that it is done once until a pod moves, and not for each candidate.
template <typename Args>
const UtilizationGroups& MoveProver::GroupsOf(const StrategyArgs& strategy, const Args& args) {
  if (grouped_by_ != &strategy) groups_ = GroupNodes(args, view_, violations_.nodes());
  grouped_by_ = &strategy;
  return groups_;
}

}  // namespace berth::rebalance
