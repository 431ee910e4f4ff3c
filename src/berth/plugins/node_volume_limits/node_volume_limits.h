// SPDX-License-Identifier: Apache-2.0
// NodeVolumeLimits: no more volumes of a CSI driver on a node than the driver says it can attach. Upstream:
// pkg/scheduler/framework/plugins/nodevolumelimits. With Release::scales_volume_limits a node without the driver of a
// new volume is refused, if the driver asks for that.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeVolumeLimits(framework::Handle& handle);

}  // namespace berth::plugins
