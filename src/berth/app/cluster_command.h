// SPDX-License-Identifier: Apache-2.0
// `berth cluster`: a development cluster in this process: API server, nodes, controllers and berth as its scheduler.
// Returns the exit status; a failure is one line on standard error. Call it once per process, on the main thread, after
// cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/app/own_cluster_release.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct ClusterCommandOptions {
  std::string listen = "127.0.0.1:8001";
  int nodes = 5;
  std::string nodes_file;                       // of the nodes' shapes, in place of `nodes`; empty: none
  std::string config;                           // a KubeSchedulerConfiguration file; empty: the default one
  std::string kubeconfig = "berth.kubeconfig";  // where to write one; empty: nowhere
  std::vector<std::string> host_names;
  bool has_tls = false;
  std::string data;   // a file that the objects are kept in; empty: they are forgotten at the end
  std::string token;  // that clients have to show; "random": one is made; empty: none
  std::optional<std::uint64_t> seed;
  OwnClusterRelease release;
};

int RunCluster(const ClusterCommandOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
