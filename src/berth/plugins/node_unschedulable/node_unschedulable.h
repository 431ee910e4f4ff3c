// SPDX-License-Identifier: Apache-2.0
// NodeUnschedulable: refuses cordoned nodes (spec.unschedulable), unless the pod tolerates the taint
// node.kubernetes.io/unschedulable:NoSchedule that goes with it.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeUnschedulable();

}  // namespace berth::plugins
