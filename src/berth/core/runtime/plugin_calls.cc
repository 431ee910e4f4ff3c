// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/plugin_calls.h"

#include "berth/core/runtime/charged.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

namespace {

// An author's plugins are asked row by row, and their budget between rows.
void FilterByOwn(EvaluationCycle& cycle, const framework::FilterPlugin& plugin, std::span<const NodeIndex> rows,
                 std::span<VerdictId> verdicts) {
  const framework::Cycle for_plugins = cycle.ForPlugins();
  framework::StatusTable& statuses = cycle.kept->statuses;
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    const Status status = Charged(cycle, true, kUnitsPerCall,
                                  [&] { return plugin.Filter(for_plugins, cycle.pod(), cycle.nodes().Info(row)); });
    if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
  }
}

Status ScoreByOwn(EvaluationCycle& cycle, const framework::ScorePlugin& plugin, std::span<const NodeIndex> rows,
                  std::span<std::int64_t> scores) {
  const framework::Cycle for_plugins = cycle.ForPlugins();
  for (const NodeIndex row : rows) {
    Status status = Charged(cycle, true, kUnitsPerCall, [&] {
      Status said;
      scores[row] = plugin.Score(for_plugins, cycle.pod(), row, cycle.nodes().Info(row), said);
      return said;
    });
    if (!status.IsSuccess()) return status;
  }
  return {};
}

}  // namespace

void FilterRows(EvaluationCycle& cycle, std::size_t filter, std::span<const NodeIndex> rows,
                std::span<VerdictId> verdicts) {
  const ProfileTraits::Filter& entry = cycle.profile.filters[filter];
  const RowFilter& by_rows = entry.by_rows;
  const framework::FilterPlugin& plugin = by_rows.plugin();
  framework::StatusTable& statuses = cycle.kept->statuses;
  statuses.SetPlugin(plugin.Name(), static_cast<int>(filter));
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  const Status failed = GuardedCall([&] {
    if (entry.is_own && !by_rows.has_fast_path()) {
      FilterByOwn(cycle, plugin, rows, verdicts);
    } else if (cycle.options.form == Form::kPlain) {
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
  const ProfileTraits::Score& entry = cycle.profile.scores[score];
  const RowScore& by_rows = entry.by_rows;
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  Status status = Guarded([&] {
    if (entry.is_own && !by_rows.has_fast_path()) return ScoreByOwn(cycle, by_rows.plugin(), rows, scores);
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
