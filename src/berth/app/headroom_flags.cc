// SPDX-License-Identifier: Apache-2.0
#include "berth/app/headroom_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"

namespace berth::app {
namespace {

// Each loss of each workload is tried: more would take minutes in a large cluster.
constexpr std::size_t kLossesMax = 20;

}  // namespace

CLI::App* AddHeadroomCommand(CLI::App& app, HeadroomCommandOptions& options,
                             std::optional<std::string>& plugin_directory) {
  CLI::App* command = app.add_subcommand("headroom", "how many node losses each workload of a cluster survives");
  AddQuestionFlags(*command, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  AddQuestionRelease(*command, options.question.release);
  command->get_option("--namespace")->description("only workloads of this namespace; default: of all");
  command->add_option("--max-losses", options.losses_max, "losses to try")
      ->check(CLI::Range(std::size_t{1}, kLossesMax))
      ->capture_default_str();
  command->add_option("--require", options.required, "end with 3 if a workload survives fewer losses")
      ->check(CLI::Range(std::size_t{0}, kLossesMax));
  AddPluginDirectory(*command, plugin_directory);
  command->footer(
      "Ends with 0 when the question was answered, 1 when the cluster could not be read or the answer was "
      "interrupted,\n"
      "2 when the flags are wrong, 3 when a workload survives fewer losses than --require says.");
  return command;
}

}  // namespace berth::app
