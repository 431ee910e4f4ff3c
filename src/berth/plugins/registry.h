// SPDX-License-Identifier: Apache-2.0
// The plugins that come with berth: name and factory, one line each in registry.cc. Nothing registers itself.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

// One that profiles may name, and its factory.
struct KnownPlugin {
  std::string name;
  // `args` are validated and have their defaults; std::monostate stands for the defaults. kInvalid for arguments of a
  // kind that the plugin does not take. `handle` must outlive the plugin.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(const config::PluginArgs& args, framework::Handle& handle)>
      create;
  // Where it is set a profile may have several of the plugin, each under a name and with arguments of its own: "NAME"
  // and "NAME/anything". `name` is the one that is wanted.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(std::string_view name, const config::PluginArgs& args,
                                                             framework::Handle& handle)>
      create_named = {};
};

// All that profiles may name: those that come with berth, and an author's own.
using KnownPlugins = std::span<const KnownPlugin>;

// The plugin that profiles call by that name; null when there is none.
const KnownPlugin* FindPlugin(KnownPlugins plugins, std::string_view name);

const std::vector<KnownPlugin>& InTreePlugins();

}  // namespace berth::plugins
