// SPDX-License-Identifier: Apache-2.0
#include "berth/app/apiserver_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"
#include "berth/app/nodes_file.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::app {

CLI::App* AddApiServerCommand(CLI::App& app, ApiServerCommandOptions& options, int& verbosity) {
  CLI::App* command = app.add_subcommand("apiserver", "the embedded API server by itself");
  command->add_option("--listen", options.listen, "address and port")->check(CheckAddress, "")->capture_default_str();
  CLI::Option* const nodes = command->add_option("--nodes", options.nodes, "simulated nodes")
                                 ->check(CLI::Range(0, kubelet::kNodesMax))
                                 ->capture_default_str();
  AddNodesFile(*command, options.nodes_file)->excludes(nodes);
  command->add_flag("--no-controllers", options.no_controllers,
                    "as beside a kube-controller-manager: no pods are made or collected, but volumes are");
  AddKubernetesVersion(*command, options.release_minor, false, "the Kubernetes that it says it is");
  AddWriteKubeconfig(*command, options.write_kubeconfig);
  command->add_option("--host-name", options.host_names,
                      "a name that clients reach it by, beside its address and localhost; may be repeated");
  AddVerbosity(*command, verbosity);
  return command;
}

}  // namespace berth::app
