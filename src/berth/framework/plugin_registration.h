// SPDX-License-Identifier: Apache-2.0
// PluginRegistration: an author's plugin: its name in profiles, and its factory. A value.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "berth/base/expected.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/plugin_args.h"

namespace berth::framework {

struct PluginRegistration {
  std::string name;
  // Makes the instance for one profile, on the thread that starts the scheduler. `args` must not be kept; `handle`
  // outlives the plugin.
  std::function<Expected<std::unique_ptr<Plugin>>(PluginArgs& args, Handle& handle)> create;
};

// `create(PluginArgs&, Handle&)` returns the plugin as a unique_ptr, or as an Expected if it may fail for reasons other
// than its arguments. An exception becomes an error with the plugin's name.
template <typename Create>
PluginRegistration WithPlugin(std::string name, Create create) {
  return {std::move(name),
          [factory = std::move(create)](PluginArgs& args, Handle& handle) -> Expected<std::unique_ptr<Plugin>> {
            auto made = factory(args, handle);
            if constexpr (std::convertible_to<decltype(made), std::unique_ptr<Plugin>>) {
              return std::unique_ptr<Plugin>(std::move(made));
            } else {
              if (!made.ok()) return made.error();
              return std::unique_ptr<Plugin>(std::move(made).value());
            }
          }};
}

}  // namespace berth::framework
