// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/comparison.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/framework/preemption_review.h"

namespace berth::shadow {
namespace {

using Detail = scheduler::Overlay::Detail;
using framework::NodeIndex;

std::string NameOf(const scheduler::Overlay& overlay, NodeIndex row) {
  return row == framework::kNoNode ? std::string() : std::string(overlay.nodes().Info(row).name());
}

std::int64_t WeightOf(const runtime::ProfilePlugins& profile, std::string_view plugin) {
  for (const runtime::WeightedScore& score : profile.score) {
    if (score.plugin->Name() == plugin) return score.weight;
  }
  return 1;
}

// Which plugins tell row `a` from row `b`, as indices into the outcome's feasible rows.
std::vector<PluginPoints> Differences(const runtime::Outcome& outcome, const runtime::ProfilePlugins& profile,
                                      std::size_t ours, std::size_t theirs) {
  std::vector<PluginPoints> differences;
  for (const auto& [plugin, normalized] : outcome.scores) {
    const std::int64_t weight = WeightOf(profile, plugin);
    if (normalized[ours] != normalized[theirs])
      differences.push_back({std::string(plugin), normalized[ours] * weight, normalized[theirs] * weight});
  }
  std::stable_sort(differences.begin(), differences.end(), [](const PluginPoints& a, const PluginPoints& b) {
    return std::abs(a.ours - a.theirs) > std::abs(b.ours - b.theirs);
  });
  return differences;
}

// Compares placements on different nodes, or one that only the other scheduler made.
void ComparePlaced(scheduler::Overlay& overlay, const Sighting& theirs, std::uint64_t seed, Comparison& said) {
  const auto [evaluator, outcome] = overlay.Evaluate(theirs.pod, Detail::kAll, seed);
  const NodeIndex row = overlay.nodes().Find(said.their_node);
  const auto at = std::find(outcome.feasible.begin(), outcome.feasible.end(), row);
  if (at == outcome.feasible.end()) {
    said.match = said.our_node.empty() ? Match::kRefusedHere : Match::kUnfitNode;
    if (said.match == Match::kRefusedHere) return;
    const framework::Status status = row == framework::kNoNode ? framework::Status() : evaluator.StatusOf(row);
    if (row == framework::kNoNode) {
      said.our_message = "the node is not known";
    } else if (status.IsSuccess()) {
      said.our_message = outcome.is_nominated_node ? "the pod's nominated node takes it" : "PreFilter left it out";
    } else {
      said.our_message = std::string(status.plugin()) + ": " + status.Message();
    }
    return;
  }
  const auto theirs_at = static_cast<std::size_t>(at - outcome.feasible.begin());
  if (!outcome.is_scored) {
    said.match = Match::kEqualNode;
    return;
  }
  const auto best = std::max_element(outcome.totals.begin(), outcome.totals.end());
  said.points = *best - outcome.totals[theirs_at];
  said.match = said.points == 0 ? Match::kEqualNode : Match::kWorseNode;
  if (said.match == Match::kEqualNode) return;
  const auto ours = std::find(outcome.feasible.begin(), outcome.feasible.end(), overlay.nodes().Find(said.our_node));
  const auto ours_at = static_cast<std::size_t>(ours == outcome.feasible.end() ? best - outcome.totals.begin()
                                                                               : ours - outcome.feasible.begin());
  said.plugins = Differences(outcome, *overlay.ProfileOf(*theirs.pod), ours_at, theirs_at);
}

// Whether no criterion of preemption tells their node from ours.
bool IsAcceptable(scheduler::Overlay& overlay, const Sighting& theirs, const std::string& node, std::uint64_t seed) {
  const auto [evaluator, outcome] = overlay.Evaluate(theirs.pod, Detail::kAll, seed);
  if (outcome.result != runtime::Result::kRefused) return false;
  framework::PreemptionReview question{.is_dry_run = true};
  const framework::PostFilterResult result = evaluator.RunPostFilter(&question);
  const framework::PreemptionReport* const report = result.preemption.get();
  return report != nullptr &&
         std::binary_search(report->acceptable.begin(), report->acceptable.end(), overlay.nodes().Find(node));
}

// The other scheduler's message as it would be if it had preempted on berth's node: kube-scheduler 1.37 names the node.
std::string TheirMessageOnOurNode(const Comparison& said) {
  const std::string named = " on node " + said.their_preemption + ", preempting ";
  std::string message = said.their_message;
  const std::size_t at =
      said.their_preemption.empty() || said.our_preemption.empty() ? message.npos : message.find(named);
  if (at != message.npos) message.replace(at, named.size(), " on node " + said.our_preemption + ", preempting ");
  return message;
}

}  // namespace

std::string_view ToString(Match match) {
  switch (match) {
    case Match::kSameNode: return "sameNode";
    case Match::kEqualNode: return "equallyGoodNode";
    case Match::kSameRefusal: return "sameRefusal";
    case Match::kOtherReasons: return "otherReasons";
    case Match::kOtherPreemption: return "otherPreemption";
    case Match::kWorseNode: return "worseNode";
    case Match::kUnfitNode: return "unfitNode";
    case Match::kRefusedHere: return "refusedHere";
    case Match::kPlacedHere: return "placedHere";
    case Match::kFailedHere: return "failedHere";
  }
  return "";
}

OwnDecision Decide(scheduler::Overlay& overlay, const framework::PodInfoPtr& pod, std::uint64_t seed) {
  const auto [evaluator, outcome] = overlay.Evaluate(pod, Detail::kChoice, seed);
  OwnDecision decision;
  decision.result = outcome.result;
  switch (outcome.result) {
    case runtime::Result::kFeasible: decision.node = NameOf(overlay, outcome.node); break;
    case runtime::Result::kError: decision.message = outcome.error; break;
    case runtime::Result::kNoNodes: decision.message = evaluator.Message(); break;
    case runtime::Result::kRefused: {
      framework::PreemptionReview question{.is_dry_run = true};
      const framework::PostFilterResult result = evaluator.RunPostFilter(&question);
      if (result.preemption) decision.preemption = NameOf(overlay, result.preemption->chosen);
      decision.message = evaluator.Message();
      break;
    }
  }
  return decision;
}

Comparison Compare(scheduler::Overlay& overlay, const Sighting& theirs, const OwnDecision& ours, std::uint64_t seed) {
  Comparison said;
  said.pod = theirs.pod->Key();
  said.scheduler_name = theirs.pod->spec().scheduler_name;
  said.their_node = theirs.after->spec.node_name;
  said.our_node = ours.node;
  said.our_message = ours.message;
  if (!theirs.is_placed()) {
    said.their_message = theirs.after->status.FindCondition("PodScheduled")->message;
    said.their_preemption = theirs.after->status.nominated_node_name;
    said.our_preemption = ours.preemption;
  }
  if (ours.result == runtime::Result::kError) {
    said.match = Match::kFailedHere;
  } else if (theirs.is_placed()) {
    if (said.their_node == said.our_node) {
      said.match = Match::kSameNode;
    } else {
      ComparePlaced(overlay, theirs, seed, said);
    }
  } else if (!ours.node.empty()) {
    said.match = Match::kPlacedHere;
  } else if (TheirMessageOnOurNode(said) != said.our_message) {
    said.match = Match::kOtherReasons;
  } else if (said.their_preemption == said.our_preemption ||
             (!said.their_preemption.empty() && !said.our_preemption.empty() &&
              IsAcceptable(overlay, theirs, said.their_preemption, seed))) {
    said.match = Match::kSameRefusal;
  } else {
    said.match = Match::kOtherPreemption;
  }
  return said;
}

}  // namespace berth::shadow
