// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_cluster.h"

#include <cstdio>
#include <string>
#include <utility>

#include "berth/app/kubernetes_release.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/shell/cli/text.h"

namespace berth::app {

Expected<whatif::OfflineOptions> OfflineOptionsFor(const std::string& config, config::KnownPlugins plugins,
                                                   std::string_view server_version, const QuestionRelease& release) {
  BERTH_ASSIGN_OR_RETURN(QuestionConfiguration loaded,
                         LoadQuestionConfiguration("--config", config, plugins, server_version, release));
  for (const std::string& line : loaded.unknown) std::fprintf(stderr, "berth: %s\n", cli::Printable(line).c_str());
  whatif::OfflineOptions options;
  options.configuration = std::move(loaded.configuration);
  options.plugins = plugins;
  options.read_file = plugin_files::PluginFiles(config);
  return options;
}

Expected<void> CheckConfiguration(const QuestionOptions& options, config::KnownPlugins plugins) {
  const auto loaded = LoadQuestionConfiguration("--config", options.config, plugins, {}, options.release);
  if (!loaded.ok()) return loaded.error();
  return {};
}

ask::CoreFor CoreForQuestions(const QuestionOptions& options, config::KnownPlugins plugins) {
  return [config = options.config, release = options.release, plugins](
             const whatif::ClusterState& state, const ask::Pods& added, ask::OtherSchedulers others,
             std::string_view own) -> Expected<ask::CoreToMake> {
    const std::string& version = state.kubernetes_version;
    BERTH_ASSIGN_OR_RETURN(QuestionConfiguration loaded,
                           own.empty() ? LoadQuestionConfiguration("--config", config, plugins, version, release)
                                       : LoadConfigurationOfQuestion(std::string(own), plugins, version, release));
    ask::CoreToMake made;
    made.notes = std::move(loaded.unknown);
    if (release.version.IsAuto()) {
      if (auto other = DescribeOtherRules(version, loaded.configuration.release.minor))
        made.notes.push_back(*std::move(other));
    }
    if (others == ask::OtherSchedulers::kByDefaults && config.empty() && own.empty()) {
      const auto names = AddProfilesOf({added, state.pods}, loaded.configuration);
      if (!names.empty()) made.notes.push_back(DecidedByDefaults(names));
    }
    made.options.configuration = std::move(loaded.configuration);
    made.options.plugins = plugins;
    if (own.empty()) made.options.read_file = plugin_files::PluginFiles(config);
    return made;
  };
}

ask::CoreFor CoreForQuestions(config::KubeSchedulerConfiguration configuration, config::KnownPlugins plugins,
                              plugin_files::ReadPluginFile read_file) {
  return [configuration = std::move(configuration), plugins, read_file = std::move(read_file)](
             const whatif::ClusterState&, const ask::Pods&, ask::OtherSchedulers,
             std::string_view own) -> Expected<ask::CoreToMake> {
    ask::CoreToMake made;
    made.options.plugins = plugins;
    if (own.empty()) {
      made.options.configuration = configuration;
      made.options.read_file = read_file;
      return made;
    }
    const std::string version(KubernetesVersion(configuration.release.minor));
    BERTH_ASSIGN_OR_RETURN(QuestionConfiguration loaded,
                           LoadConfigurationOfQuestion(std::string(own), plugins, version));
    // With the feature gates that the scheduler has been given.
    loaded.configuration.release = configuration.release;
    made.options.configuration = std::move(loaded.configuration);
    made.notes = std::move(loaded.unknown);
    return made;
  };
}

}  // namespace berth::app
