// SPDX-License-Identifier: Apache-2.0
// PodGroupAnnotations: a plugin of berth's own. Pods that say berth.dev/pod-group and berth.dev/min-count are a gang,
// on clusters that have no PodGroups. Needs GangScheduling in the same profile.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreatePodGroupAnnotations();

}  // namespace berth::plugins
