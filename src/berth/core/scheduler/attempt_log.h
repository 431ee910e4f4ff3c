// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's lines of the log about attempts to schedule a pod, at its verbosities. A core that nobody measures
// (SchedulerOptions::metrics) answers questions, or is a test's: of its attempts nothing is told. Within turns only.
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
// --v=10, where the outcome has the scores (EvaluatorOptions::with_detail).
void LogScores(const CoreState& state, const Profile& profile, const framework::PodInfo& pod,
               const runtime::Outcome& outcome);
// --v=2; an error always.
void LogFailedAttempt(const CoreState& state, const framework::PodInfo& pod, const SchedulingFailure& failure);
// --v=4: what was decided and why, which upstream has no line for. A line costs more than the decision.
void LogDecision(const Decision& decision);
// --v=2
void LogBound(const CoreState& state, const BindingCycle& cycle);

}  // namespace berth::scheduler
