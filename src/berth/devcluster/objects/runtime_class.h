// SPDX-License-Identifier: Apache-2.0
// The admission plugin RuntimeClass: what a pod's RuntimeClass means for its spec. Pure function, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/codec/json.h"

namespace berth::objects {

// Fills in spec.overhead, and adds the class's node selector and tolerations. To be called on the create of a pod, with
// all RuntimeClass objects; a pod without a class stays as it is. Returns why the pod is forbidden
// (403, `pods "x" is forbidden: WHY`): no such class, or one that contradicts the pod.
std::optional<std::string> ApplyRuntimeClass(codec::json::object& pod,
                                             const std::vector<const codec::json::object*>& runtime_classes);

}  // namespace berth::objects
