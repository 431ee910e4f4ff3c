// SPDX-License-Identifier: Apache-2.0
// PodGroupPodsCount: of several placements, those are better on which more of the group's pods run.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreatePodGroupPodsCount(framework::Handle& handle);

}  // namespace berth::plugins
