// SPDX-License-Identifier: Apache-2.0
// `berth kubelets`: simulated nodes and kubelets for any cluster. Returns the exit status; a failure is one line on
// standard error. Call it once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include "berth/app/connection.h"

namespace berth::app {

struct KubeletsOptions {
  ConnectionOptions connection;
  int nodes = 5;
  std::string nodes_file;  // of the nodes' shapes, in place of `nodes`; empty: none
};

int RunKubelets(const KubeletsOptions& options);

}  // namespace berth::app
