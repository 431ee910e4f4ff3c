// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's log lines about attempts to schedule a pod, at its verbosities. A core without metrics
// (SchedulerOptions::metrics) answers questions or runs in a test: its attempts are not logged. Within turns only.
#pragma once

#include "berth/core/runtime/outcome.h"
#include "berth/core/scheduler/binding_cycle.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// --v=3
void LogAttempt(const CoreState& state, const framework::PodInfo& pod);
// --v=10. Logs nothing unless the outcome has scores (EvaluatorOptions::with_detail).
void LogScores(const CoreState& state, const Profile& profile, const framework::PodInfo& pod,
               const runtime::Outcome& outcome);
// --v=2; errors at every verbosity.
void LogFailedAttempt(const CoreState& state, const framework::PodInfo& pod, const SchedulingFailure& failure);
// --v=4: what was decided and why. Upstream has no such line. Writing it costs more than the decision.
void LogDecision(const Decision& decision);
// --v=2
void LogBound(const CoreState& state, const BindingCycle& cycle);

}  // namespace berth::scheduler
