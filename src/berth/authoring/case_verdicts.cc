// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/case_verdicts.h"

#include <optional>
#include <utility>

#include "berth/core/runtime/evaluator.h"

namespace berth::authoring {
namespace {

using runtime::Form;
using runtime::Result;

Verdicts Ask(runtime::Evaluator& evaluator, const framework::PodInfoPtr& pod, const CaseCluster& cluster) {
  const framework::NodeTable& nodes = cluster.nodes();
  const runtime::Outcome& outcome = evaluator.Evaluate(pod, nodes, nullptr, 1, cluster.now());
  Verdicts said;
  if (outcome.result == Result::kError) said.error = outcome.error;
  if (outcome.result == Result::kNoNodes) said.error = evaluator.Message();
  if (!said.error.empty()) return said;
  for (const framework::NodeIndex row : nodes.rows()) {
    const framework::Status status = evaluator.StatusOf(row);
    said.filter[nodes.Info(row).name()] = status.IsSuccess() ? std::string(kPass) : status.Message();
  }
  for (const auto& [plugin, scores] : outcome.scores) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      said.scores[{std::string(plugin), nodes.Info(outcome.feasible[i]).name()}] = scores[i];
  }
  return said;
}

// A description of the first difference; nullopt: there is none.
std::optional<std::string> FirstDifference(const Verdicts& plain, const Verdicts& other) {
  if (plain.error != other.error) return other.error.empty() ? "no error" : other.error;
  for (const auto& [node, verdict] : other.filter) {
    const auto at = plain.filter.find(node);
    if (at == plain.filter.end() || at->second != verdict) return "filter " + node + ": " + verdict;
  }
  for (const auto& [key, score] : other.scores) {
    const auto at = plain.scores.find(key);
    if (at == plain.scores.end() || at->second != score)
      return "score " + key.second + " of " + key.first + ": " + std::to_string(score);
  }
  if (plain.filter != other.filter || plain.scores != other.scores) return "other nodes are scored";
  return std::nullopt;
}

}  // namespace

Verdicts VerdictsOn(const api::Pod& pod, const CaseCluster& cluster) {
  Verdicts said;
  const runtime::ProfilePlugins* profile = cluster.ProfileOf(pod);
  const framework::PodInfoPtr waiting = cluster.FindPending(pod);
  if (profile == nullptr || waiting == nullptr) {
    said.error = "no profile is called " + pod.spec.scheduler_name;
    return said;
  }
  if (const auto gate = cluster.GateOf(pod)) {
    said.error = "held back by " + *gate;
    return said;
  }
  runtime::Evaluator plain(*profile, {.form = Form::kPlain, .with_detail = true});
  said = Ask(plain, waiting, cluster);
  runtime::Evaluator column(*profile, {.form = Form::kColumn, .with_detail = true});
  runtime::Evaluator reuse(*profile, {.form = Form::kReuse, .with_detail = true});
  const auto check = [&](runtime::Evaluator& evaluator, const char* how) {
    if (auto difference = FirstDifference(said, Ask(evaluator, waiting, cluster)))
      said.differences.push_back({how, std::move(*difference)});
  };
  check(column, "in the column form");
  check(reuse, "when answers are kept");
  check(reuse, "for a second pod");
  return said;
}

}  // namespace berth::authoring
