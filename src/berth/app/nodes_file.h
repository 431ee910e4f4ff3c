// SPDX-License-Identifier: Apache-2.0
// The flags --nodes-file and --write-kubeconfig of what has simulated nodes or serves a cluster.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace berth::app {

CLI::Option* AddNodesFile(CLI::App& command, std::string& path);
CLI::Option* AddWriteKubeconfig(CLI::App& command, std::string& path);

// Empty for an empty path. The error begins with "--nodes-file PATH".
Expected<std::vector<kubelet::NodeShape>> ReadNodesFile(const std::string& path);

}  // namespace berth::app
