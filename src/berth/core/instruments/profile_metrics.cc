// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/profile_metrics.h"

#include <utility>

#include "berth/core/instruments/metric_list.h"
#include "berth/core/instruments/pod_traces.h"

namespace berth::instruments {

ProfileMetrics::ProfileMetrics(SchedulerMetrics& all, std::string_view profile, const EvaluatedPlugins& plugins)
    : all_(all),
      profile_(profile),
      point_duration_(all.registry.AddHistogram(DescriptionOf("scheduler_framework_extension_point_duration_seconds"))),
      attempt_duration_(all.registry.AddHistogram(DescriptionOf("scheduler_scheduling_attempt_duration_seconds"))),
      attempts_(all.registry.AddCounter(DescriptionOf("scheduler_schedule_attempts_total"))),
      hint_used_(all.registry.AddCounter(DescriptionOf("scheduler_batch_attempts_total")).With({profile, "hint_used"})),
      no_hint_(all.registry.AddCounter(DescriptionOf("scheduler_batch_attempts_total")).With({profile, "no_hint"})) {
  CounterFamily& evaluations = all.registry.AddCounter(DescriptionOf("scheduler_plugin_evaluation_total"));
  const auto find = [&](const std::vector<std::string_view>& names, Point point, std::vector<CounterCell*>& cells) {
    for (const std::string_view name : names) cells.push_back(&evaluations.With({name, ToString(point), profile}));
  };
  find(plugins.pre_filter, Point::kPreFilter, pre_filter);
  find(plugins.filter, Point::kFilter, filter);
  find(plugins.pre_score, Point::kPreScore, pre_score);
  find(plugins.score, Point::kScore, score);
}

void ProfileMetrics::ObserveAttempt(AttemptResult result, Duration took) {
  const auto index = static_cast<std::size_t>(result);
  if (attempt_counts_[index] == nullptr) {
    attempt_counts_[index] = &attempts_.With({ToString(result), profile_});
    attempt_durations_[index] = &attempt_duration_.With({ToString(result), profile_});
  }
  attempt_counts_[index]->Add();
  attempt_durations_[index]->Observe(Seconds(took));
}

void ProfileMetrics::ObserveRarely(Point point, framework::Code code, Duration took) {
  HistogramCell*& cell = (traces_ != nullptr ? points_aside_ : points_).cells[PointCells::IndexOf(point, code)];
  if (cell == nullptr) cell = &point_duration_.With({ToString(point), framework::ToString(code), profile_});
  cell->Observe(Seconds(took));
  if (traces_ != nullptr) traces_->NotePoint(point, code, took);
}

void ProfileMetrics::NoteIn(PodTraces* traces) {
  if ((traces != nullptr) != (traces_ != nullptr)) std::swap(points_, points_aside_);
  traces_ = traces;
}

void ProfileMetrics::ObservePermitWait(framework::Code code, Duration took) {
  all_.cycles.permit_wait.With({framework::ToString(code)}).Observe(Seconds(took));
  if (traces_ != nullptr) traces_->NotePermitWait(code, took);
}

}  // namespace berth::instruments
