// SPDX-License-Identifier: Apache-2.0
#include "berth/app/question_cluster.h"

#include <cstdio>
#include <utility>

#include "berth/app/configuration_file.h"
#include "berth/core/config/default.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::app {

Expected<whatif::OfflineOptions> OfflineOptionsFor(const std::string& config, plugins::KnownPlugins plugins, Time now) {
  whatif::OfflineOptions options;
  options.configuration = config::DefaultConfiguration();
  if (!config.empty()) {
    BERTH_ASSIGN_OR_RETURN(options.configuration, LoadConfigurationFile(config));
  }
  if (!options.configuration.extenders.empty())
    std::fprintf(stderr, "berth: the configuration's HTTP extenders are not asked: answers are without their say\n");
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
