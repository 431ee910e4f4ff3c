// SPDX-License-Identifier: Apache-2.0
// TaintToleration: refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate, and prefers nodes
// with few PreferNoSchedule taints that it does not tolerate.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateTaintToleration();

}  // namespace berth::plugins
