// SPDX-License-Identifier: Apache-2.0
// kube-scheduler's lines of the log about what the API server says of pods and nodes (its eventhandlers.go), at its
// verbosities. As attempt_log.h: nothing is told of a core that nobody measures. Within turns only.
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
