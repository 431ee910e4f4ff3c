// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"

namespace berth::app {

CLI::App* AddRunCommand(CLI::App& app, RunOptions& options, std::optional<std::string>& plugin_directory,
                        int& verbosity) {
  CLI::App* command = app.add_subcommand("run", "schedule the pods of a cluster");
  AddConnection(*command, options.connection);
  command->add_option("--config", options.config, "KubeSchedulerConfiguration file");
  AddPluginDirectory(*command, plugin_directory);
  command->add_option("--scheduler-name", options.scheduler_name,
                      "the schedulerName of the pods to take; default: default-scheduler");
  command->add_option("--seed", options.seed, "seed of all chance; default: a random one, which is logged")
      ->check(CheckSeed, "");
  command
      ->add_option("--metrics-bind-address", options.metrics_bind_address,
                   "address and port of GET /metrics, over plain HTTP: what plugins and extenders count; default: not "
                   "served")
      ->check(CheckAddress, "");
  command->add_flag("--pods-by-annotation", options.pods_by_annotation,
                    "take pods by the annotation scheduler.alpha.kubernetes.io/name, too, where their schedulerName "
                    "is unset or default-scheduler");
  command->add_option("--namespaces", options.namespaces,
                      "take pods of these namespaces only, separated by commas; default: of every namespace");
  CLI::Option* const once =
      command->add_flag("--once", options.once,
                        "place what is pending and end: with 0 when every pod was placed, else with 1 and a line for "
                        "each that was not");
  command
      ->add_option("--once-patience", options.once_patience_s,
                   "with --once: seconds without a pod placed after which those are given up that met an error or wait "
                   "for their victims to go, and seconds that the first lists of objects may take")
      ->check(CLI::Range(1, 86'400))
      ->needs(once)
      ->capture_default_str();
  AddLeaderElection(*command, options.leader_election);
  command->add_option("--secure-port", options.secure_port, "0, or unset: not in this version");
  AddVerbosity(*command, verbosity, "for a line on each decision, with its reasons");
  command->footer("SIGINT and SIGTERM end it: bindings under way get " + std::to_string(kShutdownGraceSeconds) +
                  " s to end, and then their events as long again.");
  command->callback([command, &options] {
    if (options.secure_port != 0) {
      throw CLI::ValidationError(
          "--secure-port",
          "serving metrics and health comes with a later version: leave it out or say --secure-port=0");
    }
    if (command->count("--scheduler-name") > 0 && options.scheduler_name.empty()) {
      throw CLI::ValidationError("--scheduler-name", "should be a name, for example berth");
    }
    if (!options.config.empty() && !options.scheduler_name.empty()) {
      throw CLI::ValidationError("--scheduler-name",
                                 "names the default profile; with --config the file's profiles have the names");
    }
  });
  return command;
}

}  // namespace berth::app
