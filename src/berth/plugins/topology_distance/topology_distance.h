// SPDX-License-Identifier: Apache-2.0
// TopologyDistance: a policy of berth's own. Prefers nodes near those where the pod's peers are, such as the other pods
// of its pod group, on several levels of topology. See README.md in this folder. Within turns only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/topology_distance/topology_distance_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateTopologyDistance(const TopologyDistanceArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
