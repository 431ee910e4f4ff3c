// SPDX-License-Identifier: Apache-2.0
// Which events make it worth trying a pod again that VolumeBinding refused. Functions of their arguments: any thread.
#pragma once

#include <vector>

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::vector<framework::ClusterEventWithHint> VolumeBindingEvents();

}  // namespace berth::plugins
