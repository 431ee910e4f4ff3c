// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster_flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/app/nodes_file.h"
#include "berth/app/own_cluster_release.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {
namespace {

// A header's value, which the token is part of, has printable characters only.
std::string CheckToken(const std::string& text) {
  const bool is_printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return text.empty() || !is_printable ? "--token must be letters, digits and signs without spaces, or \"random\"" : "";
}

}  // namespace

CLI::App* AddClusterCommand(CLI::App& app, ClusterCommandOptions& options, std::optional<std::string>& plugin_directory,
                            int& verbosity) {
  CLI::App* command = app.add_subcommand("cluster", "a development cluster: API server, nodes, controllers and berth");
  command->add_option("--listen", options.listen, "address and port")->check(CheckAddress, "")->capture_default_str();
  CLI::Option* const nodes = command->add_option("--nodes", options.nodes, "simulated nodes")
                                 ->check(CLI::Range(1, kubelet::kNodesMax))
                                 ->capture_default_str();
  AddNodesFile(*command, options.nodes_file)->excludes(nodes);
  AddWriteKubeconfig(*command, options.kubeconfig)->capture_default_str();
  command->add_option("--data", options.data, "keep the objects in this file, and begin with those that are in it")
      ->type_name(cli::kFileHint);
  command->add_flag("--tls", options.has_tls, "serve HTTPS, with a certificate that is made for it");
  command->add_option("--token", options.token, "what clients have to show; \"random\" makes one, for the kubeconfig")
      ->check(CheckToken, "");
  command->add_option("--host-name", options.host_names,
                      "a name that clients reach it by, beside its address and localhost; may be repeated");
  command->add_option("--config", options.config, "KubeSchedulerConfiguration file of the scheduler")
      ->type_name(cli::kFileHint);
  AddOwnClusterRelease(*command, options.release);
  AddPluginDirectory(*command, plugin_directory);
  command->add_option("--seed", options.seed, "seed of all chance")->check(CheckSeed, "");
  AddVerbosity(*command, verbosity);
  return command;
}

}  // namespace berth::app
