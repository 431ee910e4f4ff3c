// SPDX-License-Identifier: Apache-2.0
// The admission plugin Priority: what the PriorityClass of a pod or a pod group means for its spec. Pure functions,
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"

namespace berth::objects {

// Fills in spec.priority, spec.preemptionPolicy and, from a globalDefault class, spec.priorityClassName. To be called
// on the create of a pod, before its set_defaults, with all PriorityClass objects. Returns why the pod is forbidden
// (403, `pods "x" is forbidden: WHY`): no such class, or a priority of its own that differs from the class's.
std::optional<std::string> ResolvePodPriority(codec::json::object& pod,
                                              const std::vector<const codec::json::object*>& priority_classes);

// Resolves the priority of a PodGroup or a CompositePodGroup; `what` is "pod group" or "composite pod group".
std::optional<std::string> ResolvePodGroupPriority(codec::json::object& group, std::string_view what,
                                                   const std::vector<const codec::json::object*>& priority_classes);

}  // namespace berth::objects
