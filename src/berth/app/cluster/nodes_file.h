// SPDX-License-Identifier: Apache-2.0
// The flags --nodes-file and --write-kubeconfig of what has simulated nodes or serves a cluster.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

cli::Flag& AddNodesFile(cli::Command& command, std::string& path);
cli::Flag& AddWriteKubeconfig(cli::Command& command, std::string& path);

// Empty for an empty path. The error begins with "--nodes-file PATH".
Expected<std::vector<kubelet::NodeShape>> ReadNodesFile(const std::string& path);

}  // namespace berth::app
