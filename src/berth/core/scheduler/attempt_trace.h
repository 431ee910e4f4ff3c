// SPDX-License-Identifier: Apache-2.0
// What the scheduling and binding cycles tell instruments::PodTraces. Traced attempts are among the sampled ones, so
// that the others cost one test of a flag each. Within turns only.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/core_state.h"

namespace berth::scheduler {

// While it lives, the extension points that end are noted in the pod's trace, if the pod is traced. A second one for
// the same pod has no effect.
class TraceFocus {
 public:
  TraceFocus(CoreState& state, const Profile& profile, const framework::PodInfo& pod, bool is_sampled) {
    if (is_sampled && state.metrics.traces != nullptr) [[unlikely]]
      Begin(state, profile, pod);
  }
  ~TraceFocus() {
    if (state_ != nullptr) [[unlikely]]
      End();
  }
  TraceFocus(const TraceFocus&) = delete;
  TraceFocus& operator=(const TraceFocus&) = delete;

 private:
  void Begin(CoreState& state, const Profile& profile, const framework::PodInfo& pod);
  void End();

  CoreState* state_ = nullptr;  // null: nothing is noted
  instruments::ProfileMetrics* metrics_ = nullptr;
};

// The end of a sampled attempt. `result` and the others are as in instruments::AttemptEnd.
struct AttemptOutcome {
  std::string_view result;
  std::string_view message{};
  std::string_view node_name{};
};
void TraceAttemptEnd(CoreState& state, const Profile* profile, const queue::QueuedPodInfo& queued,
                     const AttemptOutcome& outcome);
// Nothing more is to be traced of the pod, for this reason.
void TraceEnd(CoreState& state, std::string_view uid, std::string_view result, std::string_view node_name = {});
// An operation of the pod goes out. See PodTraces::AddOperation.
void TraceOperation(CoreState& state, std::string_view uid, std::uint64_t operation, bool is_in_point);

}  // namespace berth::scheduler
