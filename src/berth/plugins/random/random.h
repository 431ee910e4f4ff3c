// SPDX-License-Identifier: Apache-2.0
// Random: a policy of berth's own. Every feasible node has the same chance in each cycle, whatever the other plugins
// say of it. The same cycle seed gives the same node.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateRandom();

}  // namespace berth::plugins
