// SPDX-License-Identifier: Apache-2.0
// From a configuration to the plugins that run: makes each profile's instances and puts them in their places.
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

// `handle` must outlive the plugins, and learns which release the configuration follows. Resources that extenders
// manage and the scheduler is to ignore reach NodeResourcesFit. The errors are upstream's: an unknown plugin, arguments
// that the plugin refuses, a profile without a bind plugin and the like, with the profile's name. After the name of an
// unknown plugin comes the nearest one of the registry.
Expected<std::vector<std::unique_ptr<ProfilePlugins>>> MakeProfiles(
    const config::KubeSchedulerConfiguration& configuration, std::span<const config::KnownPlugin> registry,
    framework::Handle& handle);

}  // namespace berth::runtime
