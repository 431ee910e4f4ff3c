// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/command_line.h"
#include "berth/app/common_flags.h"
#include "berth/shell/net/url.h"

namespace berth::app {

namespace {

// Until all of upstream's flags are known: those that a kubeadm manifest gives. Unlike upstream's, the port is closed
// unless it is asked for.
void AddSecurePort(CLI::App& command, SecurePortOptions& options) {
  options.serving.port = 0;
  command
      .add_option("--secure-port", options.serving.port,
                  "port of HTTPS: health checks, metrics and the like, with authentication and authorization; 0: none")
      ->capture_default_str();
  command.add_option("--bind-address", options.serving.bind_address, "IP address on which --secure-port listens")
      ->check([](const std::string& text) { return net::IsIpAddress(text) ? "" : Quoted(text) + " is no IP address"; },
              "")
      ->capture_default_str();
  CLI::Option* const certificate = command.add_option("--tls-cert-file", options.serving.cert_file,
                                                      "certificate of --secure-port; default: a self-signed one");
  CLI::Option* const key =
      command.add_option("--tls-private-key-file", options.serving.key_file, "the key of --tls-cert-file");
  certificate->needs(key);
  key->needs(certificate);
  serving::AuthenticationOptions& authentication = options.authentication;
  command.add_option("--authentication-kubeconfig", authentication.kubeconfig,
                     "kubeconfig of the API server that is asked who a token stands for");
  command.add_flag("--authentication-skip-lookup", authentication.skip_lookup,
                   "look no client authorities up in the cluster");
  command.add_flag("--authentication-tolerate-lookup-failure", authentication.tolerate_lookup_failure,
                   "start all the same when they cannot be looked up; default: true");
  command.add_option("--client-ca-file", authentication.client_ca_file,
                     "authorities whose client certificates say who asks; default: looked up in the cluster");
  command.add_option("--authorization-kubeconfig", options.authorization.kubeconfig,
                     "kubeconfig of the API server that is asked what a user may do");
  command
      .add_option("--authorization-always-allow-paths", options.authorization.always_allow_paths,
                  "paths that anybody may see, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
}

}  // namespace

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
  AddSecurePort(*command, options.secure_port);
  AddVerbosity(*command, verbosity, "for a line on each decision, with its reasons");
  command->footer("SIGINT and SIGTERM end it: bindings under way get " + std::to_string(kShutdownGraceSeconds) +
                  " s to end, and then their events as long again.");
  command->callback([command, &options] {
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_lnames().empty())
        options.flags[option->get_lnames().front()] =
            option->count() > 0 ? CLI::detail::join(option->results()) : option->get_default_str();
    }
    if (options.secure_port.serving.port < 0 || options.secure_port.serving.port > 65'535)
      throw CLI::ValidationError("--secure-port", "should be a number from 0 to 65535");
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
