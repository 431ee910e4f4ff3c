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

}  // namespace berth::app
