// SPDX-License-Identifier: Apache-2.0
// What a DaemonSet needs next. Pure.
#pragma once

#include <array>
#include <string_view>

#include "berth/api/pod.h"
#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

// What every pod of a DaemonSet tolerates.
struct DaemonToleration {
  std::string_view key;
  api::TaintEffect effect;
};
inline constexpr std::array kDaemonTolerations = {
    DaemonToleration{"node.kubernetes.io/not-ready", api::TaintEffect::kNoExecute},
    DaemonToleration{"node.kubernetes.io/unreachable", api::TaintEffect::kNoExecute},
    DaemonToleration{"node.kubernetes.io/disk-pressure", api::TaintEffect::kNoSchedule},
    DaemonToleration{"node.kubernetes.io/memory-pressure", api::TaintEffect::kNoSchedule},
    DaemonToleration{"node.kubernetes.io/pid-pressure", api::TaintEffect::kNoSchedule},
    DaemonToleration{"node.kubernetes.io/unschedulable", api::TaintEffect::kNoSchedule}};

// `pods` are those that it controls.
PodDecision DecideDaemonSet(const WorkloadView& set, const Pods& pods, const Nodes& nodes, Time now);

}  // namespace berth::controllers
