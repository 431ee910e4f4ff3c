// SPDX-License-Identifier: Apache-2.0
// PointTiming and CallTiming measure extension points from Reserve on and, in sampled attempts, single plugins.
// runtime/evaluation_metrics.h measures the points before Reserve. For metrics only; within turns only.
#pragma once

#include <string_view>
#include <utility>

#include "berth/base/time.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// Times extension points that run one after the other: each begins where the one before it ended.
class PointTiming {
 public:
  PointTiming(CoreState& state, const Profile& profile) : PointTiming(state, profile, state.stopwatch.latest()) {}
  PointTiming(CoreState& state, const Profile& profile, Time began) : state_(state), profile_(profile), began_(began) {}

  void End(instruments::Point point, framework::Code code = framework::Code::kSuccess) {
    const Time now = state_.stopwatch.Read();
    profile_.metrics->ObservePoint(point, code, now - std::exchange(began_, now));
  }
  // Ends a point that runs a list of plugins; an empty list takes no time.
  template <typename Plugins>
  void End(instruments::Point point, const Plugins& plugins) {
    if (!plugins.empty()) return End(point);
    profile_.metrics->ObservePoint(point, framework::Code::kSuccess, Duration{0});
  }

 private:
  CoreState& state_;
  const Profile& profile_;
  Time began_;
};

// Times one call of one plugin.
class CallTiming {
 public:
  CallTiming(CoreState& state, bool is_sampled)
      : state_(is_sampled ? &state : nullptr), began_(is_sampled ? state.stopwatch.Read() : Time{}) {}

  void End(instruments::Point point, std::string_view plugin, framework::Code code) const {
    if (state_ != nullptr) state_->metrics.ObservePlugin(point, plugin, code, state_->stopwatch.Read() - began_);
  }
  // Time{} when the attempt is not sampled.
  Time began() const { return began_; }

 private:
  CoreState* const state_;  // null: the attempt is not sampled
  const Time began_;
};

}  // namespace berth::scheduler
