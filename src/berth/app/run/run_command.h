// SPDX-License-Identifier: Apache-2.0
// `berth run`: schedules the pods of a cluster. Returns the exit status; a failure is one line on standard error. Call
// it once per process, on the main thread, after cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/kubernetes_release.h"
#include "berth/app/run/kube_scheduler_options.h"
#include "berth/app/run/run_recording.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/known_plugins.h"
#include "berth/rebalance/controller.h"

namespace berth::app {

struct RunOptions {
  KubeSchedulerOptions flags;  // kube-scheduler's own
  config::FeatureGates gates;  // of the same flags; with an automatic release those of one for which they are right
  ReleaseChoice release;
  // The program was called by that name, which changes some defaults: --kubeconfig, for example, does not fill in what
  // a configuration file leaves out.
  bool is_kube_scheduler = false;
  std::string program = "berth run";  // as the help calls it
  ConnectionOptions connection;       // only its context is used
  std::string scheduler_name;         // renames the default profile; not with a configuration file
  std::string policy;                 // in place of a configuration file, the ready profile of that name
  std::optional<std::uint64_t> seed;
  std::string metrics_bind_address;       // plain HTTP; empty: not served
  bool pods_by_annotation = false;        // see scheduler::PodChoice
  std::optional<std::string> namespaces;  // separated by commas; default: every one
  RecordOptions record;
  std::string plugin_directory;  // whose plugins the program has loaded, for the recording
  bool once = false;
  std::string provisioning_requests;  // the processorInstance whose requests are answered; empty: none are
  std::string rebalance;              // a DeschedulerPolicy's file; empty: no pods are moved
  rebalance::ControllerOptions rebalancer;
  // With `once`: how long berth waits, without placing any pod, for pods that met an error or wait for their victims.
  int once_patience_s = 30;
  // How long API servers must have been of another release before it is followed; zero: that is done at a start alone.
  Duration follows_upgrades_after = std::chrono::minutes(5);
};

int RunOnCluster(const RunOptions& options, config::KnownPlugins plugins);

}  // namespace berth::app
