// SPDX-License-Identifier: Apache-2.0
#include "berth/app/configuration_file.h"

#include <cstddef>
#include <string_view>

#include "berth/base/edit_distance.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/shell/client/file.h"

namespace berth::app {

Expected<config::KubeSchedulerConfiguration> LoadConfigurationFile(const std::string& path) {
  const auto text = client::ReadSmallFile(path);
  if (!text.ok()) return Error{text.error().code, "--config " + text.error().message};
  auto loaded = config::LoadConfiguration(*text);
  if (!loaded.ok()) return loaded.error().Wrap("--config " + path);
  if (const auto valid = config::ValidateConfiguration(*loaded); !valid.ok())
    return valid.error().Wrap("--config " + path);
  return loaded;
}

std::vector<std::string> UnnoticedNames(const config::KubeSchedulerConfiguration& configuration,
                                        plugins::KnownPlugins plugins) {
  constexpr std::size_t kLinesMax = 20;
  std::vector<std::string_view> known;
  for (const plugins::PluginRegistration& plugin : plugins) known.push_back(plugin.name);
  std::vector<std::string> lines;
  for (const config::Profile& profile : configuration.profiles) {
    const auto look = [&](const std::string& name, const std::string& where) {
      if (name == "*" || lines.size() == kLinesMax || plugins::FindPlugin(plugins, name) != nullptr) return;
      lines.push_back("profile \"" + profile.scheduler_name + "\": " + where + ": there is no plugin \"" + name +
                      "\"; the nearest name is \"" + std::string(NearestName(name, known)) + "\"");
    };
    for (const config::PluginConfig& config : profile.plugin_config) look(config.name, "pluginConfig");
    for (const std::string& name : profile.plugins.multi_point.disabled) look(name, "plugins.multiPoint.disabled");
    for (std::size_t i = 0; i < config::kExtensionPointCount; ++i) {
      const std::string field(config::FieldName(static_cast<config::ExtensionPoint>(i)));
      for (const std::string& name : profile.plugins.points.values[i].disabled)
        look(name, "plugins." + field + ".disabled");
    }
  }
  return lines;
}

}  // namespace berth::app
