// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/refusals.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/node_chooser.h"

namespace berth::runtime {

using framework::NodeIndex;
using framework::Status;

Status StatusOfRow(const EvaluationCycle& cycle, NodeIndex row) {
  return cycle.chooser == nullptr ? cycle.absent_status : cycle.chooser->StatusOf(cycle, row);
}

std::vector<std::pair<Status, std::size_t>> CountRefusals(const EvaluationCycle& cycle) {
  std::vector<std::pair<Status, std::size_t>> refusals;
  const Outcome& outcome = cycle.outcome;
  if (cycle.kept == nullptr || outcome.result == Result::kNoNodes) return refusals;
  if (outcome.is_nominated_node || outcome.feasible_count == cycle.nodes().node_count()) return refusals;
  VerdictCounts counts;
  if (cycle.chooser == nullptr) {
    counts.absent = cycle.nodes().rows().size();
  } else {
    cycle.chooser->CountVerdicts(cycle, counts);
  }
  for (framework::VerdictId id = 1; id < counts.by_verdict.size(); ++id) {
    if (counts.by_verdict[id] > 0) refusals.emplace_back(cycle.kept->statuses.Get(id), counts.by_verdict[id]);
  }
  if (counts.absent > 0 && !cycle.absent_status.IsSuccess()) refusals.emplace_back(cycle.absent_status, counts.absent);
  return refusals;
}

std::string FitErrorText(const EvaluationCycle& cycle) {
  const Outcome& outcome = cycle.outcome;
  if (outcome.result == Result::kNoNodes) return std::string(kNoNodesText);
  std::string text = "0/" + std::to_string(outcome.node_count) + " nodes are available:";
  if (!outcome.pre_filter_status.IsSuccess()) {
    text += " " + outcome.pre_filter_status.Message() + ".";
  } else {
    std::map<std::string_view, std::size_t> histogram;
    const auto counts = CountRefusals(cycle);
    for (const auto& [status, count] : counts) {
      for (const std::string& reason : status.reasons()) histogram[reason] += count;
    }
    std::vector<std::string> parts;
    for (const auto& [reason, count] : histogram) parts.push_back(std::to_string(count) + " " + std::string(reason));
    std::sort(parts.begin(), parts.end());  // sorted as strings: "10 x" before "2 y"
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? " " : ", ") + parts[i];
    if (!parts.empty()) text += ".";
  }
  if (!cycle.post_filter_message.empty()) text += " " + cycle.post_filter_message;
  return text;
}

}  // namespace berth::runtime
