// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity: keeps a pod away from, or brings it near to, nodes by the pods that run there or in the same
// topology domain (zone, host name). Terms of running pods count as well: their required anti-affinity refuses, all
// others score. Upstream: pkg/scheduler/framework/plugins/interpodaffinity.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct InterPodAffinityArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateInterPodAffinity(const config::InterPodAffinityArgs& args,
                                                          framework::Handle& handle);

}  // namespace berth::plugins
