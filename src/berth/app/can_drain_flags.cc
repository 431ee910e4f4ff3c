// SPDX-License-Identifier: Apache-2.0
#include "berth/app/can_drain_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"

namespace berth::app {

CLI::App* AddCanDrainCommand(CLI::App& app, CanDrainOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* command =
      app.add_subcommand("can-drain", "what draining nodes would do to their pods, before anyone drains them");
  AddQuestionFlags(*command, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  AddQuestionRelease(*command, options.question.release);
  command->add_option("NODE", options.nodes, "the nodes, in the order in which they are drained")->required();
  command->add_flag("--force", options.drain.is_forced, "as with kubectl drain: pods without a controller may be lost");
  AddPluginDirectory(*command, plugin_directory);
  command->footer(
      "Ends with 0 when the nodes can be drained, 1 when the cluster could not be read, 2 when the flags or names are "
      "wrong,\n"
      "3 when the nodes cannot be drained.");
  return command;
}

}  // namespace berth::app
