// SPDX-License-Identifier: Apache-2.0
// Which events may make a pod schedulable that NodeVolumeLimits refused.
#pragma once

#include <vector>

#include "berth/framework/cluster_event.h"

namespace berth::plugins {

std::vector<framework::ClusterEventWithHint> VolumeLimitEvents();

}  // namespace berth::plugins
