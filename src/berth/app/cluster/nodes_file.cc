// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/nodes_file.h"

#include "berth/codec/yaml_lines.h"
#include "berth/devcluster/kubelet/nodes_file.h"
#include "berth/shell/client/file.h"

namespace berth::app {

cli::Flag& AddNodesFile(cli::Command& command, std::string& path) {
  return command.Option("nodes-file", path, "YAML file of the simulated nodes: amounts, zones, prices, taints")
      .Type(cli::kFileHint);
}

cli::Flag& AddWriteKubeconfig(cli::Command& command, std::string& path) {
  return command.Option("write-kubeconfig", path, "write a kubeconfig for the cluster to this file")
      .Type(cli::kFileHint);
}

Expected<std::vector<kubelet::NodeShape>> ReadNodesFile(const std::string& path) {
  if (path.empty()) return std::vector<kubelet::NodeShape>();
  constexpr std::size_t kBytesMax = std::size_t{4} << 20;
  auto text = client::ReadSmallFile(path, kBytesMax);
  if (!text.ok()) return text.error().Wrap("--nodes-file");
  auto shapes = kubelet::ParseNodesFile(*text);
  if (!shapes.ok()) return codec::InFile("--nodes-file " + path, *text, shapes.error());
  return shapes;
}

}  // namespace berth::app
