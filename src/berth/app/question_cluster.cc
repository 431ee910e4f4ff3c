// SPDX-License-Identifier: Apache-2.0
#include "berth/app/question_cluster.h"

#include <cstdio>
#include <string>
#include <utility>

#include "berth/app/question_configuration.h"
#include "berth/shell/cli/text.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::app {

Expected<whatif::OfflineOptions> OfflineOptionsFor(const std::string& config, plugins::KnownPlugins plugins, Time now) {
  BERTH_ASSIGN_OR_RETURN(QuestionConfiguration loaded, LoadQuestionConfiguration("--config", config, plugins));
  for (const std::string& line : loaded.unknown) std::fprintf(stderr, "berth: %s\n", cli::Printable(line).c_str());
  whatif::OfflineOptions options;
  options.configuration = std::move(loaded.configuration);
  options.plugins = plugins;
  options.read_file = plugin_files::PluginFiles(config);
  options.now = now;
  return options;
}

Expected<QuestionCluster> LoadQuestionCluster(const QuestionOptions& options, plugins::KnownPlugins plugins) {
  // What is wrong with the configuration is said before a large cluster is read.
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions offline, OfflineOptionsFor(options.config, plugins, Time{}));
  QuestionCluster made;
  BERTH_ASSIGN_OR_RETURN(made.state, ReadClusterFor(options));
  offline.now = made.state.read_at;
  BERTH_ASSIGN_OR_RETURN(made.cluster, whatif::OfflineCluster::Make(std::move(offline)));
  made.cluster->Load(made.state);
  return made;
}

}  // namespace berth::app
