// SPDX-License-Identifier: Apache-2.0
// The admission plugin Priority: what a pod's PriorityClass means for its spec. Pure function, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/codec/json.h"

namespace berth::apiserver {

// Fills in spec.priority, spec.preemptionPolicy and, from a globalDefault class, spec.priorityClassName. To be called
// on the create of a pod, before its set_defaults, with all PriorityClass objects. Returns why the pod is forbidden
// (403, `pods "x" is forbidden: WHY`): no such class, or a priority of its own that differs from the class's.
std::optional<std::string> ResolvePodPriority(codec::json::object& pod,
                                              const std::vector<const codec::json::object*>& priority_classes);

}  // namespace berth::apiserver
