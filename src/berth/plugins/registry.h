// The plugins that come with berth: name and factory, one line each in registry.cc. Adding a plugin touches its folder
// and that line; nothing registers itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/config/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

struct PluginRegistration {
  std::string name;
  // `args` are validated and have their defaults; std::monostate stands for the defaults. kInvalid for arguments of a
  // kind that the plugin does not take. `handle` must outlive the plugin.
  std::function<Expected<std::unique_ptr<framework::Plugin>>(const config::PluginArgs& args, framework::Handle& handle)>
      create;
};

const std::vector<PluginRegistration>& InTreePlugins();

}  // namespace berth::plugins
