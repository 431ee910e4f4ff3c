// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/fast_path.h"

namespace berth::framework {

void FilterByNode(const FilterPlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) {
  for (const NodeIndex row : rows) {
    if (verdicts[row] != kVerdictOk) continue;
    const Status status = plugin.Filter(cycle, pod, cycle.nodes.Info(row));
    if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
  }
}

void ScoreByNode(const ScorePlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) {
  for (const NodeIndex row : rows) {
    scores[row] = plugin.Score(cycle, pod, row, cycle.nodes.Info(row), status);
    if (!status.IsSuccess()) return;
  }
}

void FastFilter::FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                            std::span<VerdictId> verdicts, StatusTable& statuses) const {
  FilterByNode(*this, cycle, pod, rows, verdicts, statuses);
}

void FastScore::ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                          std::span<std::int64_t> scores, Status& status) const {
  ScoreByNode(*this, cycle, pod, rows, scores, status);
}

}  // namespace berth::framework
