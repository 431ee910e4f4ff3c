// SPDX-License-Identifier: Apache-2.0
#include "berth/app/question_configuration.h"

#include <set>
#include <string_view>

#include "berth/app/configuration_file.h"
#include "berth/app/kubernetes_release.h"
#include "berth/core/config/default.h"
#include "berth/framework/release.h"

namespace berth::app {
namespace {

constexpr std::string_view kConfigFlag = "--config";

// Names that were taken out of the profile.
std::set<std::string> DropUnknown(config::Profile& profile, plugins::KnownPlugins known) {
  std::set<std::string> dropped;
  const auto sift = [&](config::PluginSet& set) {
    std::erase_if(set.enabled, [&](const auto& plugin) {
      if (plugins::FindPlugin(known, plugin.name) != nullptr) return false;
      dropped.insert(plugin.name);
      return true;
    });
  };
  sift(profile.plugins.multi_point);
  for (config::PluginSet& point : profile.plugins.points.values) sift(point);
  return dropped;
}

}  // namespace

std::string ExtenderNotAsked(const config::Extender& extender) {
  return "extender " + extender.url_prefix + " is not asked: its part of the decision is missing";
}

Expected<QuestionConfiguration> LoadQuestionConfiguration(const std::string& flag, const std::string& path,
                                                          plugins::KnownPlugins known,
                                                          std::string_view server_version) {
  QuestionConfiguration out;
  const Expected<int> of_server = ReleaseFor(server_version);
  const int minor = of_server.ok() ? *of_server : framework::kOldestRelease;
  if (path.empty()) {
    out.configuration = config::DefaultConfiguration(config::FeatureGates(minor));
    return out;
  }
  auto loaded = LoadConfigurationFile(path, config::FeatureGates(minor));
  for (int newer = minor + 1; !loaded.ok() && !of_server.ok() && newer <= framework::kNewestRelease; ++newer) {
    if (auto by_newer = LoadConfigurationFile(path, config::FeatureGates(newer)); by_newer.ok())
      loaded = std::move(by_newer);
  }
  if (!loaded.ok()) {
    Error error = loaded.error();
    if (error.message.starts_with(kConfigFlag)) error.message.replace(0, kConfigFlag.size(), flag);
    return error;
  }
  out.configuration = std::move(*loaded);
  for (config::Profile& profile : out.configuration.profiles) {
    for (const std::string& name : DropUnknown(profile, known))
      out.unknown.push_back("profile \"" + profile.scheduler_name + "\": plugin \"" + name +
                            "\" is unknown here: its part of the decision is missing");
  }
  for (const auto& extender : out.configuration.extenders) out.unknown.push_back(ExtenderNotAsked(extender));
  return out;
}

}  // namespace berth::app
