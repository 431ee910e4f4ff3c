// SPDX-License-Identifier: Apache-2.0
// `berth run`: schedules the pods of a cluster. Returns the process's exit status; says in one line on standard error
// why it failed. Once a process, on the main thread, after cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/kube_scheduler_options.h"
#include "berth/core/config/feature_gates.h"
#include "berth/plugins/registry.h"

namespace berth::app {

// How long `berth run` waits for bindings under way when it is told to end, in seconds; as long again for events.
inline constexpr int kShutdownGraceSeconds = 5;

struct RunOptions {
  KubeSchedulerOptions flags;  // kube-scheduler's own
  config::FeatureGates gates;  // of the same flags
  bool is_kube_scheduler =
      false;                     // called by that name: --kubeconfig does not fill in what a file leaves out, and so on
  ConnectionOptions connection;  // of this only the context
  std::string scheduler_name;    // renames the default profile; not with a configuration file
  std::optional<std::uint64_t> seed;
  std::string metrics_bind_address;       // plain HTTP; empty: not served
  bool pods_by_annotation = false;        // see scheduler::PodChoice
  std::optional<std::string> namespaces;  // separated by commas; default: every one
  bool once = false;
  // With `once`, how long a pod is waited for that met an error or waits for its victims, while none is placed.
  int once_patience_s = 30;
};

int RunOnCluster(const RunOptions& options, plugins::KnownPlugins plugins);

}  // namespace berth::app
