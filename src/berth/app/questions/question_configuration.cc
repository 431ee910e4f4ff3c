// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_configuration.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/app/run/configuration_file.h"
#include "berth/ask/question_fields.h"
#include "berth/base/shown_url.h"
#include "berth/core/config/default.h"
#include "berth/plugins/names.h"
#include "berth/shell/cli/text.h"

namespace berth::app {
namespace {

constexpr std::string_view kConfigFlag = "--config";
constexpr std::size_t kAddedProfilesMax = 16;

// Names that were taken out of the profile.
std::set<std::string> DropUnknown(config::Profile& profile, config::KnownPlugins known) {
  std::set<std::string> dropped;
  const auto sift = [&](config::PluginSet& set) {
    std::erase_if(set.enabled, [&](const auto& plugin) {
      if (config::FindPlugin(known, plugin.name) != nullptr) return false;
      dropped.insert(plugin.name);
      return true;
    });
  };
  sift(profile.plugins.multi_point);
  for (config::PluginSet& point : profile.plugins.points.values) sift(point);
  return dropped;
}

// A profile whose queue sort was taken out, and which has disabled the usual one for it, has that one again. Whether it
// had to be.
bool RestoreQueueSort(config::Profile& profile) {
  config::PluginSet& sort = profile.plugins.points.values[static_cast<std::size_t>(config::ExtensionPoint::kQueueSort)];
  const auto disables = [](const config::PluginSet& set) {
    return std::ranges::any_of(
        set.disabled, [](const std::string& name) { return name == "*" || name == plugins::names::kPrioritySort; });
  };
  if (!sort.enabled.empty() || (!disables(sort) && !disables(profile.plugins.multi_point))) return false;
  sort.enabled.push_back({std::string(plugins::names::kPrioritySort), 0});
  return true;
}

// Reads the configuration as the release with these gates has it.
using ConfigurationBy = std::function<Expected<config::KubeSchedulerConfiguration>(const config::FeatureGates& gates)>;

Expected<config::KubeSchedulerConfiguration> Load(const ConfigurationBy& read, const QuestionRelease& release,
                                                  int minor) {
  BERTH_ASSIGN_OR_RETURN(const config::FeatureGates gates, GatesOf(release, minor));
  return read(gates);
}

// What is wrong for the cluster's release alone is reported as such.
std::string OtherReleaseHint(const ConfigurationBy& read, const QuestionRelease& release, int minor) {
  if (!release.version.IsAuto()) return "";
  for (const int other : ReleasesOf({}, {})) {
    if (other != minor && Load(read, release, other).ok())
      return "; the cluster is of 1." + std::to_string(minor) + ": --kubernetes-version 1." + std::to_string(other) +
             " decides as that version does";
  }
  return "";
}

Expected<QuestionConfiguration> Load(const ConfigurationBy& read, config::KnownPlugins known,
                                     std::string_view server_version, const QuestionRelease& release) {
  const std::vector<int> minors = ReleasesOf(release, server_version);
  auto loaded = Load(read, release, minors.front());
  for (std::size_t i = 1; i < minors.size() && !loaded.ok(); ++i) {
    if (auto by_other = Load(read, release, minors[i]); by_other.ok()) loaded = std::move(by_other);
  }
  if (!loaded.ok()) {
    Error error = loaded.error();
    if (minors.size() == 1) error.message += OtherReleaseHint(read, release, minors.front());
    return error;
  }
  QuestionConfiguration out;
  out.configuration = std::move(*loaded);
  for (config::Profile& profile : out.configuration.profiles) {
    const std::set<std::string> dropped = DropUnknown(profile, known);
    for (const std::string& name : dropped)
      out.unknown.push_back("profile \"" + profile.scheduler_name + "\": plugin \"" + name +
                            "\" is unknown here: its part of the decision is missing");
    if (!dropped.empty() && RestoreQueueSort(profile))
      out.unknown.push_back("profile \"" + profile.scheduler_name + "\": PrioritySort is in place of its queue sort");
  }
  for (const auto& extender : out.configuration.extenders) out.unknown.push_back(ExtenderNotAsked(extender));
  return out;
}

}  // namespace

std::vector<std::string> AddProfilesOf(std::initializer_list<PodList> lists,
                                       config::KubeSchedulerConfiguration& configuration) {
  std::set<std::string> known;
  for (const config::Profile& profile : configuration.profiles) known.insert(profile.scheduler_name);
  std::set<std::string> added;
  for (const PodList pods : lists) {
    for (const auto& pod : pods) {
      const std::string& name = pod->spec.scheduler_name;
      if (name.empty() || known.contains(name) || added.size() == kAddedProfilesMax) continue;
      added.insert(name);
      known.insert(name);
    }
  }
  const config::Profile defaults = configuration.profiles.front();
  for (const std::string& name : added) configuration.profiles.emplace_back(defaults).scheduler_name = name;
  return {added.begin(), added.end()};
}

std::string DecidedByDefaults(const std::vector<std::string>& scheduler_names) {
  return "without --config, kube-scheduler's defaults decide for the schedulerName " +
         answers::NamesText(scheduler_names, scheduler_names.size());
}

void WarnOfDefaults(const std::vector<std::string>& scheduler_names) {
  if (scheduler_names.empty()) return;
  std::fprintf(stderr, "berth: %s\n", cli::Printable(DecidedByDefaults(scheduler_names)).c_str());
}

std::string ExtenderNotAsked(const config::Extender& extender) {
  return "extender " + ShownUrl(extender.url_prefix) + " is not asked: its part of the decision is missing";
}

Expected<QuestionConfiguration> LoadQuestionConfiguration(const std::string& flag, const std::string& path,
                                                          config::KnownPlugins known, std::string_view server_version,
                                                          const QuestionRelease& release) {
  const auto read = [&](const config::FeatureGates& gates) -> Expected<config::KubeSchedulerConfiguration> {
    return path.empty() ? config::DefaultConfiguration(gates) : LoadConfigurationFile(path, gates);
  };
  auto loaded = Load(read, known, server_version, release);
  if (loaded.ok() || !loaded.error().message.starts_with(kConfigFlag)) return loaded;
  Error error = loaded.error();
  error.message.replace(0, kConfigFlag.size(), flag);
  return error;
}

Expected<QuestionConfiguration> LoadConfigurationOfQuestion(const std::string& text, config::KnownPlugins known,
                                                            std::string_view server_version,
                                                            const QuestionRelease& release) {
  const auto read = [&](const config::FeatureGates& gates) {
    return LoadConfigurationText(std::string(ask::kConfiguration), text, gates);
  };
  auto loaded = Load(read, known, server_version, release);
  if (!loaded.ok()) return loaded;
  const std::size_t count = loaded->configuration.profiles.size();
  if (count > ask::kOwnProfilesMax)
    return InvalidError(std::string(ask::kConfiguration) + ": profiles: at most " +
                        std::to_string(ask::kOwnProfilesMax) + " can be asked about, not " + std::to_string(count));
  return loaded;
}

}  // namespace berth::app
