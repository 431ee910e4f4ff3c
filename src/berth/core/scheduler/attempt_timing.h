// SPDX-License-Identifier: Apache-2.0
// PointTiming and CallTiming: how long extension points, and in sampled attempts single plugins, take from Reserve on
// (runtime/evaluation_metrics.h has those before). Within turns only. They influence nothing.
#pragma once

#include <string_view>
#include <utility>

#include "berth/base/time.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// Extension points that run one after the other: each begins where the one before it ended.
class PointTiming {
 public:
  PointTiming(CoreState& state, const Profile& profile) : PointTiming(state, profile, state.stopwatch.latest()) {}
  PointTiming(CoreState& state, const Profile& profile, Time began) : state_(state), profile_(profile), began_(began) {}

  void End(instruments::Point point, framework::Code code = framework::Code::kSuccess) {
    const Time now = state_.stopwatch.Read();
    profile_.metrics->ObservePoint(point, code, now - std::exchange(began_, now));
  }
  // Of a list of plugins: one that is empty takes no time.
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

// One call of one plugin.
class CallTiming {
 public:
  CallTiming(CoreState& state, bool is_sampled)
      : state_(is_sampled ? &state : nullptr), began_(is_sampled ? state.stopwatch.Read() : Time{}) {}

  void End(instruments::Point point, std::string_view plugin, framework::Code code) const {
    if (state_ != nullptr) state_->metrics.ObservePlugin(point, plugin, code, state_->stopwatch.Read() - began_);
  }
  // Time{} where nothing is timed.
  Time began() const { return began_; }

 private:
  CoreState* const state_;  // null: not a sampled attempt
  const Time began_;
};

}  // namespace berth::scheduler
