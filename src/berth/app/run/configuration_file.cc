// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/configuration_file.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "berth/app/config_map_hint.h"
#include "berth/base/edit_distance.h"
#include "berth/base/log.h"
#include "berth/codec/yaml.h"
#include "berth/codec/yaml_lines.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/shell/client/file.h"

namespace berth::app {

namespace {

// How the file at that path is called in messages.
std::string NameOf(const std::string& path) { return "--config " + path; }

Expected<std::string> ReadText(const std::string& path) {
  auto text = client::ReadSmallFile(path);
  if (!text.ok()) return Error{text.error().code, "--config " + text.error().message};
  return text;
}

Expected<config::KubeSchedulerConfiguration> Parse(const std::string& name, const std::string& text,
                                                   const config::FeatureGates& gates) {
  auto loaded = config::LoadConfiguration(text, gates);
  if (!loaded.ok()) {
    if (const auto hint = ConfigMapHint(text, "KubeSchedulerConfiguration")) return InvalidError(name + ": " + *hint);
    return codec::InFile(name, text, loaded.error());
  }
  if (const auto documents = codec::ParseYamlStream(text); documents.ok() && documents->size() > 1)
    log::Warning("app", "Of several documents in a file the first counts alone, as in kube-scheduler",
                 {{"configuration", name}, {"documents", documents->size()}});
  return loaded;
}

}  // namespace

Expected<config::KubeSchedulerConfiguration> LoadConfigurationText(const std::string& name, const std::string& text,
                                                                   const config::FeatureGates& gates) {
  BERTH_ASSIGN_OR_RETURN(config::KubeSchedulerConfiguration loaded, Parse(name, text, gates));
  if (const auto valid = config::ValidateConfiguration(loaded); !valid.ok())
    return codec::InFile(name, text, valid.error());
  return loaded;
}

Expected<config::KubeSchedulerConfiguration> LoadConfigurationFile(const std::string& path,
                                                                   const config::FeatureGates& gates) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return LoadConfigurationText(NameOf(path), text, gates);
}

Expected<config::KubeSchedulerConfiguration> ReadConfigurationFile(const std::string& path,
                                                                   const config::FeatureGates& gates) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return Parse(NameOf(path), text, gates);
}

Error InConfigurationFile(const std::string& path, const Error& error) {
  const auto text = client::ReadSmallFile(path);
  return codec::InFile(NameOf(path), text.ok() ? *text : std::string(), error);
}

std::vector<std::string> FieldsWithoutEffect(const config::KubeSchedulerConfiguration& configuration,
                                             bool is_from_file) {
  const config::KubeSchedulerConfiguration defaults;
  std::vector<std::string> lines;
  const auto add = [&](std::string_view field, std::string_view why) {
    lines.push_back(std::string(field) + " has no effect: " + std::string(why));
  };
  if (configuration.parallelism != defaults.parallelism)
    add("parallelism", "one thread evaluates nodes, many of them at a time");
  const bool do_whole_nodes_go_out = std::any_of(configuration.extenders.begin(), configuration.extenders.end(),
                                                 [](const auto& extender) { return extender.GetsWholeNodes(); });
  if (!do_whole_nodes_go_out) {
    constexpr std::string_view kEveryNode = "berth looks at every node, and no extender gets whole nodes";
    if (configuration.percentage_of_nodes_to_score != 0) add("percentageOfNodesToScore", kEveryNode);
    for (std::size_t i = 0; i < configuration.profiles.size(); ++i) {
      if (configuration.profiles[i].percentage_of_nodes_to_score.value_or(0) != 0)
        add("profiles[" + std::to_string(i) + "].percentageOfNodesToScore", kEveryNode);
    }
  }
  if (is_from_file && configuration.enable_contention_profiling != defaults.enable_contention_profiling)
    add("enableContentionProfiling", "berth has no profile of Go's runtime to give");
  const config::ClientConnection& connection = configuration.client_connection;
  const auto is_spoken = [](std::string_view types) {
    return types.empty() || types.find("*/*") != std::string_view::npos ||
           types.find("application/json") != std::string_view::npos ||
           types.find("application/vnd.kubernetes.protobuf") != std::string_view::npos;
  };
  constexpr std::string_view kTypes = "berth speaks application/json and application/vnd.kubernetes.protobuf";
  if (!is_spoken(connection.content_type)) add("clientConnection.contentType", kTypes);
  if (!is_spoken(connection.accept_content_types)) add("clientConnection.acceptContentTypes", kTypes);
  if (connection.burst && connection.qps.value_or(0) <= 0)
    add("clientConnection.burst", "without clientConnection.qps, or with a negative one, there is no limit");
  if (configuration.delay_cache_until_active && !configuration.leader_election.leader_elect)
    add("delayCacheUntilActive", "without leader election berth is active from the start");
  return lines;
}

std::vector<std::string> UnnoticedNames(const config::KubeSchedulerConfiguration& configuration,
                                        config::KnownPlugins plugins) {
  constexpr std::size_t kLinesMax = 20;
  std::vector<std::string_view> known;
  for (const config::KnownPlugin& plugin : plugins) known.push_back(plugin.name);
  std::vector<std::string> lines;
  for (const config::Profile& profile : configuration.profiles) {
    const auto look = [&](const std::string& name, const std::string& where) {
      if (name == "*" || lines.size() == kLinesMax || config::FindPlugin(plugins, name) != nullptr) return;
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
