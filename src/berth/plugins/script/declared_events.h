// SPDX-License-Identifier: Apache-2.0
// Events as scripts declare them: "Node/Add", "Pod/UpdatePodLabel", "AssignedPod/Delete", "Node/*".
#pragma once

#include <string_view>

#include "berth/base/expected.h"
#include "berth/framework/cluster_event.h"

namespace berth::plugins {

// Reads an event of pods or nodes, which are all that a script sees. The error names the events that there are.
Expected<framework::ClusterEvent> ParseEvent(std::string_view text);

}  // namespace berth::plugins
