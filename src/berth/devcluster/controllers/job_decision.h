// SPDX-License-Identifier: Apache-2.0
// What a Job needs next. Pure.
#pragma once

#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

// `pods` are those that it controls.
PodDecision DecideJob(const WorkloadView& job, const Pods& pods, Time now);

}  // namespace berth::controllers
