// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/drain_answer.h"

#include <cstddef>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"

namespace berth::answers {
namespace {

using whatif::DrainedPod, whatif::DrainOutcome, whatif::DrainPlan;

std::string BudgetText(const DrainedPod& pod) {
  if (pod.budgets.empty()) return "-";
  return NamesText(pod.budgets, 2) +
         (pod.budget == whatif::BudgetAnswer::kSeveral ? "" : " " + std::string(ToString(pod.budget)));
}

std::string PlaceText(const DrainedPod& pod) {
  if (pod.outcome != DrainOutcome::kMoves) return "-";
  if (!pod.why_unknown.empty()) return "unknown";
  return pod.place.empty() ? "nowhere" : pod.place;
}

bool Leaves(const DrainedPod& pod) {
  return pod.outcome != DrainOutcome::kIgnored && pod.outcome != DrainOutcome::kStays;
}

std::string Summary(const DrainPlan& plan) {
  std::string text;
  const auto add = [&](DrainOutcome outcome, std::string_view what) {
    const std::size_t count = plan.CountOf(outcome);
    if (count > 0) text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(what);
  };
  add(DrainOutcome::kMoves, "to move");
  add(DrainOutcome::kLost, "to be lost");
  add(DrainOutcome::kEnding, "ending already");
  add(DrainOutcome::kIgnored, "of DaemonSets ignored");
  add(DrainOutcome::kStays, "static");
  return text.empty() ? "no pods" : "pods: " + text;
}

}  // namespace

std::vector<std::string> DrainLines(const DrainPlan& plan, bool is_wide, const cli::Table::Style& style) {
  std::vector<cli::Column> columns = {{"POD"}, {"NODE"}, {"DRAIN"}, {"BUDGET"}, {"GOES TO"}};
  if (is_wide) columns.insert(columns.begin() + 2, {"OWNER"});
  cli::Table table(std::move(columns));
  for (const DrainedPod& pod : plan.pods) {
    if (!is_wide && !Leaves(pod)) continue;
    const cli::Color color = pod.obstacle.empty() ? cli::Color::kNone : cli::Color::kRed;
    std::vector<cli::Cell> cells = {
        {pod.key, color}, pod.node, std::string(ToString(pod.outcome)), BudgetText(pod), PlaceText(pod)};
    if (is_wide) cells.insert(cells.begin() + 2, pod.owner.empty() ? "-" : pod.owner);
    table.AddRow(std::move(cells));
  }
  Page page(style);
  if (table.row_count() > 0) page.Rows(table);
  page.Gap();
  const bool can_drain = plan.CanDrain();
  page.Text(NamesText(plan.nodes, 5) + (can_drain ? " can be drained (" : " cannot be drained (") + Summary(plan) +
            (can_drain ? ")." : "):"));
  for (const DrainedPod& pod : plan.pods) {
    if (!pod.obstacle.empty()) page.Text(pod.key + ": " + pod.obstacle, 2);
  }
  return std::move(page).Take();
}

codec::json::object DrainJson(const DrainPlan& plan) {
  codec::json::array pods;
  for (const DrainedPod& pod : plan.pods) {
    codec::json::object object = KeyJson(pod.key);
    object["node"] = pod.node;
    object["owner"] = pod.owner;
    object["drain"] = ToString(pod.outcome);
    object["budget"] = ToString(pod.budget);
    object["budgets"] = NamesJson(pod.budgets);
    object["goesTo"] = pod.place;
    object["comesBack"] = pod.comes_back;
    object["obstacle"] = pod.obstacle;
    if (!pod.why_unknown.empty()) object["unknown"] = pod.why_unknown;
    if (pod.refusal) object["refusal"] = RefusalJson(*pod.refusal);
    pods.push_back(std::move(object));
  }
  return {{"kind", "DrainPlan"},
          {"nodes", NamesJson(plan.nodes)},
          {"canDrain", plan.CanDrain()},
          {"force", plan.options.is_forced},
          {"pods", std::move(pods)}};
}

}  // namespace berth::answers
