// SPDX-License-Identifier: Apache-2.0
// The plugins that profiles may name, with their factories. A value: whoever starts the core provides the list.
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

// A plugin that profiles may name, and its factory.
struct KnownPlugin {
  std::string name;
  // `args` are validated and include defaults; std::monostate stands for the defaults. kInvalid if the arguments are of
  // another plugin's type. `handle` must outlive the plugin.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(const PluginArgs& args, framework::Handle& handle)> create;
  // If set, a profile may have several instances of the plugin, each with its own name and arguments: "NAME" and
  // "NAME/anything". `name` is the instance's name.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(std::string_view name, const PluginArgs& args,
                                                             framework::Handle& handle)>
      create_named = {};
  // An author's plugin, whose work in a cycle is bounded (framework/work_budget.h).
  bool is_own = false;
};

// All plugins that profiles may name: those that come with berth and an author's own.
using KnownPlugins = std::span<const KnownPlugin>;

// The plugin that has this name in profiles; null when there is none.
const KnownPlugin* FindPlugin(KnownPlugins plugins, std::string_view name);

}  // namespace berth::config
