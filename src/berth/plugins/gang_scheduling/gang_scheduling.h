// SPDX-License-Identifier: Apache-2.0
// GangScheduling: a gang is scheduled when it has minCount pods, and placed when minCount of them fit. A composite gang
// counts groups as a gang counts pods. Without pod groups in the scheduler it does nothing.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateGangScheduling(framework::Handle& handle);

}  // namespace berth::plugins
