// SPDX-License-Identifier: Apache-2.0
// What a DaemonSet needs next. Pure.
#pragma once

#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

// `pods` are those that it controls.
PodDecision DecideDaemonSet(const WorkloadView& set, const Pods& pods, const Nodes& nodes, Time now);

}  // namespace berth::controllers
