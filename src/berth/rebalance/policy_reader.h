// SPDX-License-Identifier: Apache-2.0
// Reads a DeschedulerPolicy (descheduler/v1alpha2, of descheduler 0.36) from YAML or JSON, strictly: what the
// descheduler refuses is refused, with a field path and what would be right. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

// Far beyond any policy.
inline constexpr std::size_t kPolicyProfilesMax = 100;
inline constexpr std::size_t kPolicyStrategiesMax = 100;  // of one extension point of a profile

// One line for all that is wrong: "profiles[0].pluginConfig[1].args.thresholds[cpu]: ...".
Expected<Policy> ReadPolicy(std::string_view text);

}  // namespace berth::rebalance
