// SPDX-License-Identifier: Apache-2.0
// Makes the plugins of each profile of a configuration and assigns them to their extension points.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/framework/handle.h"

namespace berth::runtime {

// `handle` must outlive the plugins; its release is set from the configuration. Resources that extenders manage and
// that the scheduler is to ignore are passed to NodeResourcesFit. The errors are upstream's, with the profile's name:
// an unknown plugin, invalid arguments, a profile without a bind plugin and the like. The error for an unknown plugin
// suggests the nearest registered name.
Expected<std::vector<std::unique_ptr<ProfilePlugins>>> MakeProfiles(
    const config::KubeSchedulerConfiguration& configuration, std::span<const config::KnownPlugin> registry,
    framework::Handle& handle);

}  // namespace berth::runtime
