// SPDX-License-Identifier: Apache-2.0
// SchedulingGates: keeps a pod out of activeQ while spec.schedulingGates has an entry.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateSchedulingGates();

}  // namespace berth::plugins
