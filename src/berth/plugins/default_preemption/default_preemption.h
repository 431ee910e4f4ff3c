// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption: makes room for an unschedulable pod by evicting pods of lower priority from one node. PostFilter
// finds the node and its victims; the evictions run beside scheduling, and PreEnqueue holds the pod back meanwhile.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct DefaultPreemptionArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateDefaultPreemption(const config::DefaultPreemptionArgs& args,
                                                           framework::Handle& handle);

}  // namespace berth::plugins
