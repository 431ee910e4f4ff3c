// SPDX-License-Identifier: Apache-2.0
// NodeAffinity: refuses nodes that do not match the pod's nodeSelector and required node affinity, and prefers nodes
// that match its preferred terms. The profile's own affinity (addedAffinity) counts
// beside the pod's.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct NodeAffinityArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeAffinity(const config::NodeAffinityArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
