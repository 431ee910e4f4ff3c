// SPDX-License-Identifier: Apache-2.0
// ProfileMetrics: the metric cells of one profile, looked up once. Written within turns only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/metric_registry.h"
#include "berth/base/time.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/framework/status.h"

namespace berth::instruments {

// The plugins of a profile at the extension points whose evaluations are counted, in the profile's order.
struct EvaluatedPlugins {
  std::vector<std::string_view> pre_filter;
  std::vector<std::string_view> filter;
  std::vector<std::string_view> pre_score;
  std::vector<std::string_view> score;
};

class ProfileMetrics {
 public:
  // `all` must outlive it.
  ProfileMetrics(SchedulerMetrics& all, std::string_view profile, const EvaluatedPlugins& plugins);

  SchedulerMetrics& all() const { return all_; }

  // An attempt has ended, `took` after its pod was popped.
  void ObserveAttempt(AttemptResult result, Duration took);
  // All plugins of an extension point have run.
  void ObservePoint(Point point, framework::Code code, Duration took) {
    HistogramCell* const cell = points_.cells[PointCells::IndexOf(point, code)];
    if (cell == nullptr) return ObserveRarely(point, code, took);
    cell->Observe(Seconds(took));
  }
  // Until the same call with null, points are noted in `traces` as well. Meanwhile `points_` is empty, so that each
  // takes the slow path: a program without traces pays nothing.
  void NoteIn(PodTraces* traces);
  // A pod's wait at Permit has ended.
  void ObservePermitWait(framework::Code code, Duration took);
  // Whether a cycle has reused an earlier pod's evaluation.
  void ObserveReuse(bool is_reused) { (is_reused ? hint_used_ : no_hint_).Add(); }

  // Number of evaluations by plugin, in the order of EvaluatedPlugins.
  std::vector<CounterCell*> pre_filter;
  std::vector<CounterCell*> filter;
  std::vector<CounterCell*> pre_score;
  std::vector<CounterCell*> score;

 private:
  void ObserveRarely(Point point, framework::Code code, Duration took);

  SchedulerMetrics& all_;
  const std::string profile_;
  HistogramFamily& point_duration_;
  HistogramFamily& attempt_duration_;
  CounterFamily& attempts_;
  CounterCell& hint_used_;
  CounterCell& no_hint_;
  PointCells points_;
  PointCells points_aside_;      // the cells, while points are noted
  PodTraces* traces_ = nullptr;  // null: points are not noted
  std::array<CounterCell*, 3> attempt_counts_{};
  std::array<HistogramCell*, 3> attempt_durations_{};
};

}  // namespace berth::instruments
