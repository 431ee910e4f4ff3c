// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/plan_answer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"

namespace berth::answers {
namespace {

using rebalance::PlannedMove, rebalance::RebalancePlan, rebalance::StayingPod, rebalance::ViolationChange;

// What gets better (or worse), in the strategies' words or, where they have none, in numbers.
std::string ChangesText(const PlannedMove& move, bool is_better) {
  std::string text;
  for (const ViolationChange& change : move.changes) {
    if ((change.change < 0) != is_better) continue;
    const std::string name(NameOf(*change.strategy));
    text += text.empty() ? "" : "; ";
    if (!is_better) text += name + ": ";
    text += change.text.empty()
                ? Counted(static_cast<std::size_t>(std::llround(std::abs(change.change))), "violation", "violations") +
                      (is_better ? " fewer" : " more")
                : change.text;
  }
  return text;
}

std::string Summary(const RebalancePlan& plan) {
  std::map<std::string, std::size_t> by_strategy;
  for (const PlannedMove& move : plan.moves) ++by_strategy[move.strategy];
  std::string text =
      Counted(plan.moves.size(), "pod", "pods") + " of " + std::to_string(plan.looked_at) + " would move";
  std::string_view separator = ": ";
  for (const auto& [strategy, count] : by_strategy) {
    text.append(separator).append(std::to_string(count)).append(" for ").append(strategy);
    separator = ", ";
  }
  text += ".";
  std::size_t chains = 0;
  for (const PlannedMove& move : plan.moves) chains = std::max(chains, move.chain);
  const auto links = static_cast<std::size_t>(
      std::ranges::count_if(plan.moves, [](const auto& move) { return !move.makes_room_for.empty(); }));
  if (chains > 0) {
    text += " " + Counted(links, "of these makes", "of these make") + " room for another, in " +
            Counted(chains, "chain", "chains") + ": the moves of a chain belong together, in this order.";
  }
  text += " " + Counted(plan.staying.size(), "more that is objected to stays", "more that are objected to stay") + ".";
  if (plan.pending > 0)
    text += " " + Counted(plan.pending, "pod is", "pods are") + " pending: the scheduler may give them the room first.";
  if (plan.are_chains_cut) text += " As many chains of moves as is allowed were looked at; there may be more.";
  if (!plan.is_complete) text += " The plan is not complete: plan again after these moves.";
  return text;
}

codec::json::object MoveJson(const PlannedMove& move) {
  codec::json::array changes;
  for (const ViolationChange& change : move.changes) {
    changes.push_back(
        codec::json::object{{"strategy", NameOf(*change.strategy)}, {"change", change.change}, {"text", change.text}});
  }
  codec::json::object object = KeyJson(move.key);
  object["uid"] = move.uid;
  object["owner"] = move.owner;
  object["from"] = move.from;
  object["to"] = move.to;
  object["profile"] = move.profile;
  object["strategy"] = move.strategy;
  object["reason"] = move.reason;
  object["gain"] = GainText(move);
  object["cost"] = ChangesText(move, false);
  object["chain"] = move.chain;
  object["makesRoomFor"] = move.makes_room_for;
  object["changes"] = std::move(changes);
  return object;
}

}  // namespace

std::string GainText(const PlannedMove& move) {
  if (move.to.empty()) return "a finished pod is gone";
  if (!move.makes_room_for.empty()) return "room for " + move.makes_room_for;
  if (move.strategy == "HighNodeUtilization" || move.empties) return "its node is emptied";
  std::string text = ChangesText(move, true);
  if (!text.empty()) return text;
  return move.strategy == "Consolidate" ? "it makes room" : "a new pod";
}

std::vector<std::string> PlanLines(const RebalancePlan& plan, bool is_wide, const cli::Table::Style& style) {
  Page page(style);
  if (!plan.moves.empty()) {
    std::vector<cli::Column> columns = {{"POD"}, {"FROM"}, {"TO"}, {"WHY"}, {"GAIN"}};
    if (is_wide) columns = {{"POD"}, {"OWNER"}, {"FROM"}, {"TO"}, {"STRATEGY"}, {"WHY"}, {"GAIN"}, {"COST"}, {"CHAIN"}};
    cli::Table table(std::move(columns));
    for (const PlannedMove& move : plan.moves) {
      const std::string to = move.to.empty() ? "-" : move.to;
      if (is_wide) {
        const std::string cost = ChangesText(move, false);
        table.AddRow({move.key, move.owner.empty() ? "-" : move.owner, move.from, to, move.strategy, move.reason,
                      GainText(move), cost.empty() ? "-" : cost, move.chain == 0 ? "-" : std::to_string(move.chain)});
      } else {
        table.AddRow({move.key, move.from, to, move.strategy, GainText(move)});
      }
    }
    page.Rows(table);
    page.Gap();
  }
  page.Text(Summary(plan));
  const std::size_t shown = is_wide ? plan.staying.size() : std::min(plan.staying.size(), kStayingShownMax);
  for (std::size_t i = 0; i < shown; ++i) {
    const StayingPod& pod = plan.staying[i];
    page.Text(pod.key + " stays on " + pod.node + " (" + pod.strategy + "): " + pod.why, 2);
  }
  if (shown < plan.staying.size())
    page.Line("  and " + std::to_string(plan.staying.size() - shown) + " more (-o wide tells all)");
  return std::move(page).Take();
}

codec::json::object PlanJson(const RebalancePlan& plan) {
  codec::json::array moves;
  for (const PlannedMove& move : plan.moves) moves.push_back(MoveJson(move));
  codec::json::array staying;
  for (const StayingPod& pod : plan.staying) {
    codec::json::object object = KeyJson(pod.key);
    object["node"] = pod.node;
    object["profile"] = pod.profile;
    object["strategy"] = pod.strategy;
    object["reason"] = pod.reason;
    object["why"] = pod.why;
    staying.push_back(std::move(object));
  }
  return {{"kind", "RebalancePlan"},
          {"pods", plan.looked_at},
          {"pending", plan.pending},
          {"complete", plan.is_complete},
          {"moves", std::move(moves)},
          {"staying", std::move(staying)},
          {"emptied", NamesJson(plan.emptied)},
          {"chainsCut", plan.are_chains_cut}};
}

}  // namespace berth::answers
