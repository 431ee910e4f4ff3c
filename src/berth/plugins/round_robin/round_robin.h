// SPDX-License-Identifier: Apache-2.0
// RoundRobin: a policy of berth's own. Feasible nodes take turns in the order of their names. The turn is the
// profile's: each profile has an instance of its own.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateRoundRobin();

}  // namespace berth::plugins
