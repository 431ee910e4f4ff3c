// SPDX-License-Identifier: Apache-2.0
#include "berth/app/replay_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

CLI::App* AddReplayCommand(CLI::App& app, ReplayOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* command =
      app.add_subcommand("replay", "repeats what `berth run --record` has recorded, decision by decision");
  command
      ->add_option("recording", options.recording, "the directory, of whose recordings the newest is meant, or a file")
      ->required()
      ->type_name(cli::kFileHint);
  command->add_flag("--decisions", options.with_decisions, "a line for each decision");
  CLI::Option* explain =
      command->add_option("--explain", options.explain,
                          "a decision in full: NAMESPACE/POD, whose last one is meant, or the decision's number");
  command->add_option("--until", options.until,
                      "stop there: a time (2026-11-25T10:00:00Z), or how long after the beginning (10m)");
  CLI::Option* config = command->add_option(
      "--config", options.config,
      "file with another KubeSchedulerConfiguration: what would have come of the same history with it");
  config->excludes(explain);
  config->type_name(cli::kFileHint);
  AddPluginDirectory(*command, plugin_directory);
  command->footer(
      "Ends with 0 when every decision is as it was recorded, with 1 when the recording cannot be read, with 2 on bad "
      "flags and configurations, with 3 when a decision differs (docs/replay.md).");
  return command;
}

}  // namespace berth::app
