// PluginRegistration: the name under which profiles know a plugin of one's own, and how an instance is made. A value.
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
  // One instance a profile. `args` lives as long as the call, `handle` longer than the plugin.
  std::function<Expected<std::unique_ptr<Plugin>>(PluginArgs& args, Handle& handle)> create;
};

// `create(PluginArgs&, Handle&)` returns the plugin as a unique_ptr, or an Expected of one where making it may fail for
// another reason than its arguments. What it throws is an error that names the plugin.
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
