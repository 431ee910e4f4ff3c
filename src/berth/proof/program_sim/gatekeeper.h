// SPDX-License-Identifier: Apache-2.0
// A plugin for simulated schedulers: some pods wait at Permit, are refused there, or fail in PreBind. The default
// profile's plugins do none of that.
#pragma once

#include <string_view>

#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"

namespace berth::program_sim {

inline constexpr std::string_view kGatekeeper = "Gatekeeper";

// Until `strict_until` it makes trouble; from then on it lets each pod pass, some after a delay in PreBind. `clock`
// must outlive the plugin.
config::KnownPlugin GatekeeperPlugin(const Clock& clock, Time strict_until);

}  // namespace berth::program_sim
