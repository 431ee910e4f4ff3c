// SPDX-License-Identifier: Apache-2.0
// The scheduler of a command whose cluster is in the same process: `berth demo`, `berth cluster`.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/expected.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/framework/release.h"
#include "berth/shell/metrics/prometheus_metrics.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {

// That of the file; empty: the default, for pods of the scheduler "berth".
Expected<config::KubeSchedulerConfiguration> OwnClusterConfiguration(const std::string& file,
                                                                     const config::FeatureGates& gates);

// What it counts, for the page.
struct OwnClusterMetrics {
  explicit OwnClusterMetrics(const framework::Release& release);

  metrics::PrometheusMetrics of_process;
  instruments::SchedulerMetrics of_scheduler;
};

// `cluster` and `metrics` must outlive the shell.
runner::ShellOptions OwnClusterShellOptions(embedded_cluster::EmbeddedCluster& cluster, OwnClusterMetrics& metrics,
                                            const std::string& file, std::uint64_t seed, config::KnownPlugins plugins);

// Says why the shell could not be made. Returns the exit status: a file is the user's.
int FailWithShell(const Error& error, const std::string& file);

}  // namespace berth::app
