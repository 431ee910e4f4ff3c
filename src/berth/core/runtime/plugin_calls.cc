// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/plugin_calls.h"

#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

void FilterRows(EvaluationCycle& cycle, std::size_t filter, std::span<const NodeIndex> rows,
                std::span<VerdictId> verdicts) {
  const RowFilter& by_rows = cycle.profile.filters[filter].by_rows;
  const framework::FilterPlugin& plugin = by_rows.plugin();
  framework::StatusTable& statuses = cycle.kept->statuses;
  statuses.SetPlugin(plugin.Name(), static_cast<int>(filter));
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  const Status failed = GuardedCall([&] {
    if (cycle.options.form == Form::kPlain) {
      framework::FilterByNode(plugin, for_plugins, cycle.pod(), rows, verdicts, statuses);
    } else {
      by_rows.FilterRows(for_plugins, cycle.pod(), rows, verdicts, statuses);
    }
  });
  if (cycle.sampled != nullptr)
    cycle.sampled->EndCall(instruments::Point::kFilter, plugin.Name(), failed.code(), began);
  if (failed.IsSuccess()) return;
  // The call threw on some row, which says nothing about the others: rows are evaluated one by one.
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    const Status status = Guarded([&] { return plugin.Filter(for_plugins, cycle.pod(), cycle.nodes().Info(row)); });
    if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
  }
}

Status ScoreRows(EvaluationCycle& cycle, std::size_t score, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores) {
  const RowScore& by_rows = cycle.profile.scores[score].by_rows;
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  Status status = Guarded([&] {
    Status said;
    if (cycle.options.form == Form::kPlain) {
      framework::ScoreByNode(by_rows.plugin(), for_plugins, cycle.pod(), rows, scores, said);
    } else {
      by_rows.ScoreRows(for_plugins, cycle.pod(), rows, scores, said);
    }
    return said;
  });
  if (cycle.sampled != nullptr)
    cycle.sampled->EndCall(instruments::Point::kScore, by_rows.plugin().Name(), status.code(), began);
  return status;
}

}  // namespace berth::runtime
