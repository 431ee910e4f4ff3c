// SPDX-License-Identifier: Apache-2.0
// The events after which a refused pod is tried again, as upstream labels them. Within turns only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "berth/core/runtime/profile_plugins.h"

namespace berth::whatif {

// The events for which one of these plugins of the profile has registered, sorted: "NodeAdd", "PodDelete", ...
std::vector<std::string> WakingEvents(const runtime::ProfilePlugins& profile, const std::set<std::string>& plugins);

}  // namespace berth::whatif
