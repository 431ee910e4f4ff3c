// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/controller.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "berth/base/check.h"
#include "berth/rebalance/workloads.h"

namespace berth::rebalance {
namespace {

using Result = RoundReport::Result;

// The moves that can be made at once: those before the first one that goes to a node which another one leaves. Until
// that pod has ended, the replacement would find its place taken.
std::size_t CountAtOnce(const std::vector<PlannedMove>& moves) {
  std::set<std::string_view> left;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (!moves[i].to.empty() && left.contains(moves[i].to)) return i;
    left.insert(moves[i].from);
  }
  return moves.size();
}

// What the records of a workload share.
struct Siblings {
  Time newest{};
  std::shared_ptr<std::set<std::string>> uids = std::make_shared<std::set<std::string>>();
};

std::map<std::string, Siblings, std::less<>> SiblingsOf(const whatif::ClusterState& state, const Workloads& workloads,
                                                        const std::vector<PlannedMove>& moves) {
  std::map<std::string, Siblings, std::less<>> siblings;
  for (const PlannedMove& move : moves) siblings[workloads.Of(*move.pod)];
  for (const auto& pod : state.pods) {
    const auto at = siblings.find(workloads.Of(*pod));
    if (at == siblings.end()) continue;
    at->second.uids->insert(pod->metadata.uid);
    at->second.newest = std::max(at->second.newest, pod->metadata.creation_time.value_or(Time{}));
  }
  return siblings;
}

const api::Node& NodeOf(const whatif::ClusterState& state, std::string_view name) {
  const auto at = std::ranges::find_if(state.nodes, [&](const auto& node) { return node->metadata.name == name; });
  BERTH_CHECK(at != state.nodes.end(), name);
  return **at;
}

}  // namespace

std::string_view ToString(Result result) {
  switch (result) {
    case Result::kQuiet: return "quiet";
    case Result::kMoved: return "moved";
    case Result::kWouldMove: return "would_move";
    case Result::kWaiting: return "waiting";
    case Result::kEnding: return "ending";
  }
  return "";
}

RoundReport Controller::RunRound(Time now) {
  RoundReport report;
  report.next = options_.interval;
  const auto wait = [&](Hold hold) {
    report.result = outside_.IsEnding() ? Result::kEnding : Result::kWaiting;
    report.wait = std::move(hold);
    return report;
  };

  whatif::ClusterState state;
  if (Hold hold = Prepare(now, state); !hold.cause.empty()) return wait(std::move(hold));
  const MoveAllowance allowance(state, ledger_, options_.limits, Refused(), now);
  const auto measurements = outside_.Measure(now);
  if (!measurements.ok()) return wait({"metrics", measurements.error().message});
  PlanOptions how;
  how.now = now;
  how.measurements = &*measurements;
  how.allowance = &allowance;
  how.is_interrupted = [this] { return outside_.IsEnding(); };
  auto plan = outside_.Plan(state, how);
  if (!plan.ok())
    return wait({plan.error().code == ErrorCode::kUnavailable ? "metrics" : "policy", plan.error().message});
  if (plan->is_interrupted) return wait({});

  report.looked_at = plan->looked_at;
  report.staying = std::move(plan->staying);
  report.moves = std::move(plan->moves);
  const std::size_t at_once = CountAtOnce(report.moves);
  report.later = report.moves.size() - at_once;
  report.moves.resize(at_once);
  if (options_.executes && !plan->given_up.empty()) {
    if (Hold hold = GiveUp(state, plan->given_up); !hold.cause.empty()) return wait(std::move(hold));
  }
  if (report.moves.empty()) return report;
  report.result = Result::kWouldMove;
  if (!options_.executes) return report;
  const std::size_t planned = report.moves.size();
  report.wait = Execute(state, report.moves, now);
  report.later += planned - report.moves.size();
  report.result = report.moves.empty() ? Result::kWaiting : Result::kMoved;
  if (report.later > 0) report.next = std::min(report.next, kSoon);
  return report;
}

// The part of a round before the plan: reads, observes earlier moves, and measures.
Hold Controller::Prepare(Time now, whatif::ClusterState& state) {
  if (options_.executes && !has_ledger_) {
    const auto text = outside_.LoadLedger();
    if (!text.ok()) return {"api_errors", "the ledger cannot be read: " + text.error().message};
    auto ledger = MoveLedger::Parse(*text);
    if (!ledger.ok()) return {"ledger", "the ledger is not one of berth's: " + ledger.error().message};
    ledger_ = std::move(*ledger);
    has_ledger_ = true;
  }
  std::erase_if(refusals_, [&](const auto& each) { return now - each.second.until > kRefusedMax; });
  auto read = outside_.Read();
  if (!read.ok()) return {"api_errors", read.error().message};
  state = std::move(*read);
  for (const MoveChange& change : ledger_.Observe(state, now, options_.placement_max)) outside_.OnChange(change);
  for (const auto& node : state.nodes) {
    if (!options_.executes || !WasUncordoned(*node)) continue;
    // A failure is ignored: the node is left alone with the mark that it has, too, and the next round tries again.
    (void)outside_.MarkNode(*node, LeaveAloneMark(now + kUncordonedPause));
  }
  return WhyUnwell(state, options_.health);
}

Hold Controller::GiveUp(const whatif::ClusterState& state, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto done = outside_.MarkNode(NodeOf(state, name), NodeMark());
    // A node that has changed is looked at again in the next round.
    if (!done.ok() && done.error().code != ErrorCode::kConflict)
      return {"api_errors", "node " + name + " cannot be uncordoned: " + done.error().message};
  }
  return {};
}

Hold Controller::Cordon(const whatif::ClusterState& state, const std::string& name) {
  const api::Node& node = NodeOf(state, name);
  if (IsConsolidating(node)) return {};
  const auto done = outside_.MarkNode(node, CordonMark());
  if (done.ok()) return {};
  if (done.error().code == ErrorCode::kConflict)
    return {"node_changed", "node " + name + " has changed since it was read"};
  return {"api_errors", "node " + name + " cannot be cordoned: " + done.error().message};
}

// Evicts; `moves` keeps those that were made.
Hold Controller::Execute(const whatif::ClusterState& state, std::vector<PlannedMove>& moves, Time now) {
  const Workloads workloads(state);
  const auto siblings = SiblingsOf(state, workloads, moves);
  for (const PlannedMove& move : moves) {
    MoveRecord record;
    record.key = move.key;
    record.uid = move.uid;
    record.workload = workloads.Of(*move.pod);
    record.from = move.from;
    record.to = move.to;
    record.ties = move.ties;
    record.has_more_ties = move.has_more_ties;
    record.strategy = move.strategy;
    record.at = now;
    const Siblings& of_workload = siblings.find(record.workload)->second;
    record.newest = of_workload.newest;
    record.siblings = of_workload.uids;
    ledger_.Intend(std::move(record));
  }
  if (const auto saved = outside_.SaveLedger(ledger_.Text()); !saved.ok()) {
    for (const PlannedMove& move : moves) ledger_.Remove(move.uid);
    moves.clear();
    // The process that has written it may have moved pods.
    has_ledger_ = false;
    return {"api_errors", "the ledger cannot be written: " + saved.error().message};
  }

  Hold wait;
  std::size_t made = 0;
  std::size_t tried = 0;  // those whose eviction may have taken effect: the next look finds out
  std::set<std::string_view> cordoned;
  for (; made < moves.size() && !outside_.IsEnding(); tried = ++made) {
    const PlannedMove& move = moves[made];
    if (move.empties && cordoned.insert(move.from).second) {
      wait = Cordon(state, move.from);
      if (!wait.cause.empty()) break;
    }
    const auto evicted = outside_.Evict(move);
    if (evicted.ok()) {
      ledger_.SetEvicted(move.uid);
      refusals_.erase(workloads.Of(*move.pod));
      outside_.OnEvicted(move);
      continue;
    }
    const Error& error = evicted.error();
    outside_.OnNotEvicted(move, error);
    wait = {"eviction_failed", move.key + ": " + error.message};
    if (error.code == ErrorCode::kTooManyRequests) {
      wait.cause = "eviction_refused";
      OnRefused(workloads.Of(*move.pod), error, now);
    }
    tried = made + (error.outcome_unknown ? 1 : 0);
    break;
  }
  for (std::size_t i = tried; i < moves.size(); ++i) ledger_.Remove(moves[i].uid);
  moves.resize(made);
  return wait;
}

void Controller::OnRefused(const std::string& workload, const Error& error, Time now) {
  Refusal& refusal = refusals_[workload];
  refusal.pause = std::clamp(refusal.pause * 2, kRefusedMin, kRefusedMax);
  refusal.until = now + std::max<Duration>(refusal.pause, std::chrono::milliseconds(error.retry_after_ms));
}

RefusedUntil Controller::Refused() const {
  RefusedUntil until;
  for (const auto& [workload, refusal] : refusals_) until[workload] = refusal.until;
  return until;
}

}  // namespace berth::rebalance
