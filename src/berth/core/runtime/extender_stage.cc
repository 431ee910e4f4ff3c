// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/extender_stage.h"

#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/node_filters.h"

namespace berth::runtime {

using framework::NodeIndex;

void ApplyExtenderFilters(EvaluationCycle& cycle, std::vector<NodeIndex>& feasible,
                          std::span<framework::VerdictId> verdicts) {
  const ExtenderVerdicts& extenders = *cycle.request.extenders;
  if (extenders.filters_only) return;
  std::erase_if(feasible, [&](NodeIndex row) {
    const std::string& name = cycle.nodes().Info(row).name();
    if (extenders.passed.contains(name)) return false;
    const auto refused = extenders.refused.find(name);
    verdicts[row] = refused == extenders.refused.end() ? kVerdictNoNode : VerdictOf(cycle, refused->second);
    return true;
  });
}

void AddExtenderScores(const EvaluationCycle& cycle, std::span<const NodeIndex> feasible,
                       std::span<std::int64_t> totals) {
  const ExtenderVerdicts& extenders = *cycle.request.extenders;
  if (extenders.filters_only) return;
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    const auto score = extenders.scores.find(cycle.nodes().Info(feasible[i]).name());
    if (score == extenders.scores.end()) continue;
    totals[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(totals[i]) + static_cast<std::uint64_t>(score->second));
  }
}

}  // namespace berth::runtime
