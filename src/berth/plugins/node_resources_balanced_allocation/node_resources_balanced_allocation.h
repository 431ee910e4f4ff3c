// SPDX-License-Identifier: Apache-2.0
// NodeResourcesBalancedAllocation: prefers nodes whose resources the pod makes more evenly used. 75 is neutral: the pod
// changes nothing; towards 100 it improves the balance, towards 50 it makes it worse (upstream's formula since 1.35).
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct NodeResourcesBalancedAllocationArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeResourcesBalancedAllocation(
    const config::NodeResourcesBalancedAllocationArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
