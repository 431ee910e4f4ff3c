// SPDX-License-Identifier: Apache-2.0
// `berth demo`: berth at work on an embedded cluster. Returns the exit status; a failure is one line on standard error.
// Call it once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <cstdint>
#include <string>

#include "berth/app/own_cluster_release.h"
#include "berth/core/config/known_plugins.h"

namespace berth::app {

struct DemoOptions {
  bool serve = false;
  std::string listen = "127.0.0.1:8001";
  int nodes = 5;
  int replicas = 3;
  std::uint64_t seed = 1;
  std::string config;      // a KubeSchedulerConfiguration file, whose first profile schedules; empty: the default one
  std::string nodes_file;  // of the nodes' shapes, in place of `nodes`; empty: none
  std::string write_kubeconfig;  // with `serve`: where to; empty: nowhere
  OwnClusterRelease release;
  std::string policy;    // the policy to show, on a cluster of its own; empty: the plain demo
  std::string scenario;  // of those that show something else, likewise
};

int RunDemo(const DemoOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
