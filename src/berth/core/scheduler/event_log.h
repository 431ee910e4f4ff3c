// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's log lines about watch events of pods and nodes (its eventhandlers.go), at its verbosities. A core
// without metrics logs none, as in attempt_log.h. Within turns only.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

enum class ObjectEvent : std::uint8_t { kAdd, kUpdate, kDelete };

// Additions and deletions with --v=3, updates with --v=4. `is_scheduled`: the pod has a node.
void LogPodEvent(const CoreState& state, ObjectEvent event, const framework::PodInfo& pod, bool is_scheduled);
void LogNodeEvent(const CoreState& state, ObjectEvent event, std::string_view node);

}  // namespace berth::scheduler
