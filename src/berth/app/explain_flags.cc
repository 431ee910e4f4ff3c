// SPDX-License-Identifier: Apache-2.0
#include "berth/app/explain_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"

namespace berth::app {

CLI::App* AddExplainCommand(CLI::App& app, ExplainOptions& options, std::optional<std::string>& plugin_directory) {
  CLI::App* explain = app.add_subcommand("explain", "why a pod is pending, or why it is where it is");
  explain->require_subcommand(1);
  explain->footer("Any cluster, whichever scheduler runs there; nothing is changed. For example:\n  " + app.get_name() +
                  " explain pod -n shop web-7d5b\n  " + app.get_name() + " explain pod shop/web-7d5b --nodes");
  CLI::App* pod = explain->add_subcommand("pod", "a pod, pending or placed");
  pod->add_option("POD", options.pod, "its name, or NAMESPACE/NAME")->required();
  pod->add_flag("--nodes", options.with_nodes, "what every node says, too");
  using enum QuestionOutput;
  AddQuestionFlags(*pod, options.question, {kTable, kWide, kJson, kYaml});
  AddPluginDirectory(*pod, plugin_directory);
  pod->footer(
      "Exit status: 0 it has a node or would get one, 1 the answer could not be found, 2 wrong usage, 3 no\n"
      "node takes it or a gate holds it back.");
  return explain;
}

}  // namespace berth::app
