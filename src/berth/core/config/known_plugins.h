// SPDX-License-Identifier: Apache-2.0
// The plugins that profiles may name, and how each is made. A value: who starts the core says which there are.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {

// One that profiles may name, and its factory.
struct KnownPlugin {
  std::string name;
  // `args` are validated and have their defaults; std::monostate stands for the defaults. kInvalid for arguments of a
  // kind that the plugin does not take. `handle` must outlive the plugin.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(const PluginArgs& args, framework::Handle& handle)> create;
  // Where it is set a profile may have several of the plugin, each under a name and with arguments of its own: "NAME"
  // and "NAME/anything". `name` is the one that is wanted.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(std::string_view name, const PluginArgs& args,
                                                             framework::Handle& handle)>
      create_named = {};
};

// All that profiles may name: those that come with berth, and an author's own.
using KnownPlugins = std::span<const KnownPlugin>;

// The plugin that profiles call by that name; null when there is none.
const KnownPlugin* FindPlugin(KnownPlugins plugins, std::string_view name);

}  // namespace berth::config
