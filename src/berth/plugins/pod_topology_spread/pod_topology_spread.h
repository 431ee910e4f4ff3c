// SPDX-License-Identifier: Apache-2.0
// PodTopologySpread: spreads pods over topology domains, such as zones and nodes, as topologySpreadConstraints or the
// profile's default constraints say. See README.md in this folder. Within turns only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct PodTopologySpreadArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreatePodTopologySpread(const config::PodTopologySpreadArgs& args,
                                                           framework::Handle& handle);

}  // namespace berth::plugins
