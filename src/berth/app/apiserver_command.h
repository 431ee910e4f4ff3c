// SPDX-License-Identifier: Apache-2.0
// `berth apiserver`: the embedded API server by itself. Returns the exit status; a failure is one line on standard
// error. Call it once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace berth::app {

struct ApiServerCommandOptions {
  std::string listen = "127.0.0.1:8001";
  int nodes = 0;
  std::vector<std::string> host_names;
  bool no_controllers = false;
  std::string nodes_file;            // of the nodes' shapes, in place of `nodes`; empty: none
  std::string write_kubeconfig;      // where to; empty: nowhere
  std::optional<int> release_minor;  // of the Kubernetes that it says it is
};

int RunApiServer(const ApiServerCommandOptions& options);

}  // namespace berth::app
