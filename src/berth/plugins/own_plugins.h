// SPDX-License-Identifier: Apache-2.0
// Puts the plugins that authors register (framework/plugin_registration.h) into the registry, beside those that come
// with berth.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/core/config/known_plugins.h"
#include "berth/framework/plugin_registration.h"

namespace berth::plugins {

struct OwnPlugin {
  framework::PluginRegistration registration;
  std::string file;  // that it was loaded from; empty: it is part of the program
};

// Its factory reads the arguments as they stand in the configuration. Wrong arguments, no plugin, and one that calls
// itself by another name are errors that name the plugin.
config::KnownPlugin KnownPluginOf(framework::PluginRegistration own);

// The plugins that come with berth, then these. Names are taken once: the error says what to do.
Expected<std::vector<config::KnownPlugin>> AllPlugins(std::span<const OwnPlugin> own);

}  // namespace berth::plugins
