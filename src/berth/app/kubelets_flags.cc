// SPDX-License-Identifier: Apache-2.0
#include "berth/app/kubelets_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/app/nodes_file.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::app {

CLI::App* AddKubeletsCommand(CLI::App& app, KubeletsOptions& options, int& verbosity) {
  CLI::App* command = app.add_subcommand("kubelets", "simulated nodes and kubelets for any cluster");
  AddConnection(*command, options.connection);
  CLI::Option* const nodes = command->add_option("--nodes", options.nodes, "how many")
                                 ->check(CLI::Range(1, kubelet::kNodesMax))
                                 ->capture_default_str();
  AddNodesFile(*command, options.nodes_file)->excludes(nodes);
  AddVerbosity(*command, verbosity);
  return command;
}

}  // namespace berth::app
