// SPDX-License-Identifier: Apache-2.0
// Events as scripts declare them: "Node/Add", "Pod/UpdatePodLabel", "AssignedPod/Delete", "Node/*".
#pragma once

#include <string_view>

#include "berth/base/expected.h"
#include "berth/framework/cluster_event.h"

namespace berth::plugins {

// Of pods and nodes, which are all that a script sees. The error names what there is.
Expected<framework::ClusterEvent> ParseEvent(std::string_view text);

}  // namespace berth::plugins
