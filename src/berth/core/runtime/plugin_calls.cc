#include "berth/core/runtime/plugin_calls.h"

#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::FilterPlugin;
using framework::NodeIndex;
using framework::ScorePlugin;
using framework::Status;
using framework::VerdictId;

void FilterRows(EvaluationCycle& cycle, std::size_t filter, std::span<const NodeIndex> rows,
                std::span<VerdictId> verdicts) {
  const FilterPlugin& plugin = *cycle.profile.filters[filter].plugin;
  framework::StatusTable& statuses = cycle.kept->statuses;
  statuses.SetPlugin(plugin.Name(), static_cast<int>(filter));
  const framework::Cycle for_plugins = cycle.ForPlugins();
  const Status failed = GuardedCall([&] {
    if (cycle.options.form == Form::kPlain) {
      plugin.FilterPlugin::FilterRows(for_plugins, cycle.pod(), rows, verdicts, statuses);
    } else {
      plugin.FilterRows(for_plugins, cycle.pod(), rows, verdicts, statuses);
    }
  });
  if (failed.IsSuccess()) return;
  // It threw over one node, which says nothing about the others: they are asked one by one.
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    const Status status = Guarded([&] { return plugin.Filter(for_plugins, cycle.pod(), cycle.nodes().Info(row)); });
    if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
  }
}

Status ScoreRows(EvaluationCycle& cycle, std::size_t score, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores) {
  const ScorePlugin& plugin = *cycle.profile.scores[score].plugin;
  const framework::Cycle for_plugins = cycle.ForPlugins();
  return Guarded([&] {
    Status said;
    if (cycle.options.form == Form::kPlain) {
      plugin.ScorePlugin::ScoreRows(for_plugins, cycle.pod(), rows, scores, said);
    } else {
      plugin.ScoreRows(for_plugins, cycle.pod(), rows, scores, said);
    }
    return said;
  });
}

}  // namespace berth::runtime
