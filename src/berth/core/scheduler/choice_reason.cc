// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/choice_reason.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace berth::scheduler {
namespace {

// The index in `outcome.feasible` of the best node with a lower total than the chosen one; nullopt: there is none.
std::optional<std::size_t> RunnerUp(const runtime::Outcome& outcome) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < outcome.totals.size(); ++i) {
    if (outcome.totals[i] >= outcome.total) continue;
    if (!found || outcome.totals[i] > outcome.totals[*found]) found = i;
  }
  return found;
}

// Names the plugin that contributes most to the chosen node's lead over the runner-up.
std::string AheadBy(const runtime::ProfilePlugins& plugins, const framework::NodeTable& nodes,
                    const runtime::Outcome& outcome, std::size_t chosen, std::size_t runner_up) {
  std::int64_t most = 0;
  // What remains after the plugins' shares comes from extenders.
  std::int64_t rest = outcome.totals[chosen] - outcome.totals[runner_up];
  std::string text;
  const std::string other(nodes.Info(outcome.feasible[runner_up]).name());
  for (const auto& [plugin, scores] : outcome.scores) {
    const std::int64_t difference = WeightOf(plugins, plugin) * (scores[chosen] - scores[runner_up]);
    rest -= difference;
    if (difference <= most) continue;
    most = difference;
    text = std::string(plugin) + " scores " + std::to_string(scores[chosen]) + " here, " +
           std::to_string(scores[runner_up]) + " on " + other;
  }
  return rest > most ? "extenders prefer it to " + other : text;
}

}  // namespace

std::int64_t WeightOf(const runtime::ProfilePlugins& plugins, std::string_view plugin) {
  for (const runtime::WeightedScore& score : plugins.score) {
    if (score.plugin->Name() == plugin) return score.weight;
  }
  return 1;
}

std::string ChoiceReason(const runtime::ProfilePlugins& plugins, const framework::NodeTable& nodes,
                         const runtime::Outcome& outcome) {
  if (outcome.is_nominated_node) return "room was made for it there";
  if (outcome.feasible.size() < 2) return {};
  std::string reason;
  if (const std::size_t equals = outcome.best.size(); equals > 1) {
    reason = "equal to " + std::to_string(equals - 1) + (equals == 2 ? " other" : " others") + ", chosen by chance";
  }
  const auto chosen = std::ranges::find(outcome.feasible, outcome.node);
  const std::optional<std::size_t> runner_up = RunnerUp(outcome);
  if (chosen == outcome.feasible.end() || !runner_up) return reason;
  const auto index = static_cast<std::size_t>(chosen - outcome.feasible.begin());
  return (reason.empty() ? "" : reason + "; ") + AheadBy(plugins, nodes, outcome, index, *runner_up);
}

}  // namespace berth::scheduler
