// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_cluster.h"

#include <cstdio>
#include <string>
#include <utility>

#include "berth/app/questions/question_configuration.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_files.h"

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
             const whatif::ClusterState& state, const ask::Pods& added,
             ask::OtherSchedulers others) -> Expected<ask::CoreToMake> {
    BERTH_ASSIGN_OR_RETURN(QuestionConfiguration loaded,
                           LoadQuestionConfiguration("--config", config, plugins, state.kubernetes_version, release));
    ask::CoreToMake made;
    made.notes = std::move(loaded.unknown);
    if (release.version.IsAuto()) {
      if (auto other = DescribeOtherRules(state.kubernetes_version, loaded.configuration.release.minor))
        made.notes.push_back(*std::move(other));
    }
    if (others == ask::OtherSchedulers::kByDefaults && config.empty()) {
      const auto names = AddProfilesOf({added, state.pods}, loaded.configuration);
      if (!names.empty()) made.notes.push_back(DecidedByDefaults(names));
    }
    made.options.configuration = std::move(loaded.configuration);
    made.options.plugins = plugins;
    made.options.read_file = plugin_files::PluginFiles(config);
    return made;
  };
}

}  // namespace berth::app
