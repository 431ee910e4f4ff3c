// SPDX-License-Identifier: Apache-2.0
#include "berth/app/simulate_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/whatif/additions.h"

namespace berth::app {

CLI::App* AddSimulateCommand(CLI::App& app, SimulateOptions& options, std::optional<std::string>& plugin_directory,
                             int& verbosity) {
  CLI::App* simulate =
      app.add_subcommand("simulate", "where pods of manifests would go, on a cluster as it is or with other nodes");
  simulate
      ->add_option("-f,--filename", options.files,
                   "manifests in YAML or JSON: a file, a directory, or - for standard input; repeatable")
      ->take_all()
      ->expected(1)
      ->type_name(cli::kFileHint);
  simulate->add_option("--remove-node", options.remove_nodes, "a node to take away; repeatable")
      ->take_all()
      ->expected(1)
      ->type_name(kNodeHint);
  CLI::Option* add = simulate->add_option("--add-nodes", options.add_nodes, "so many nodes more")
                         ->check(CLI::Range(std::size_t{1}, whatif::kNodeCopiesMax));
  CLI::Option* like =
      simulate
          ->add_option("--node-like", options.node_like, "the node of the cluster that those of --add-nodes are like")
          ->type_name(kNodeHint);
  add->needs(like);
  like->needs(add);
  AddQuestionFlags(*simulate, options.question,
                   {QuestionOutput::kTable, QuestionOutput::kWide, QuestionOutput::kJson, QuestionOutput::kYaml});
  AddQuestionRelease(*simulate, options.question.release);
  simulate
      ->add_option("--compare", options.compare,
                   "file with another KubeSchedulerConfiguration, whose answer is shown beside that of --config")
      ->type_name(cli::kFileHint);
  AddPluginDirectory(*simulate, plugin_directory);
  AddVerbosity(*simulate, verbosity, "to see how long it takes");
  simulate->footer(
      "Nothing in the cluster is changed. Ends with 0 when every pod asked about gets a node, with 1 on a failure, "
      "with "
      "2 on bad flags, manifests or configurations, with 3 when a pod stays pending.");
  return simulate;
}

}  // namespace berth::app
