// SPDX-License-Identifier: Apache-2.0
// TopologyPlacementGenerator: a group with a topology constraint may be placed on the nodes of one domain: those with
// the same value of the constraint's label. A group whose pods run in a domain stays there.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateTopologyPlacementGenerator(framework::Handle& handle);

}  // namespace berth::plugins
