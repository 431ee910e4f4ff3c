// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

CLI::App* AddRebalanceCommand(CLI::App& app, RebalanceOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* rebalance =
      app.add_subcommand("rebalance", "move pods that break a rule, if a better place is proved first");
  rebalance->require_subcommand(1);
  CLI::App* plan = rebalance->add_subcommand(
      "plan", "which pods a DeschedulerPolicy would have moved, where each would go, and why the others stay");
  AddQuestionFlags(*plan, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  plan->add_option("--policy", options.policy, "file with the DeschedulerPolicy (descheduler/v1alpha2)")
      ->required()
      ->type_name(cli::kFileHint);
  AddPluginDirectory(*plan, plugin_directory);
  plan->footer(
      "Nothing is done to the cluster. Ends with 0 when there is a plan, even an empty one, 1 when the cluster could\n"
      "not be read, 2 when the flags or the policy are wrong.");
  return rebalance;
}

}  // namespace berth::app
