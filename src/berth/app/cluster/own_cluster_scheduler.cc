// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/own_cluster_scheduler.h"

#include <utility>

#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/run/configuration_file.h"
#include "berth/core/config/default.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::app {

Expected<config::KubeSchedulerConfiguration> OwnClusterConfiguration(const std::string& file,
                                                                     const config::FeatureGates& gates) {
  if (!file.empty()) return LoadConfigurationFile(file, gates);
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(gates);
  configuration.profiles.front().scheduler_name = "berth";
  return configuration;
}

OwnClusterMetrics::OwnClusterMetrics(const framework::Release& release)
    : of_scheduler(of_process.registry(), release) {}

runner::ShellOptions OwnClusterShellOptions(embedded_cluster::EmbeddedCluster& cluster, OwnClusterMetrics& metrics,
                                            const std::string& file, std::uint64_t seed, config::KnownPlugins plugins) {
  runner::ShellOptions options;
  options.metrics = &metrics.of_process;
  options.scheduler_metrics = &metrics.of_scheduler;
  options.seed = seed;
  options.hostname = HostName();
  options.plugins = plugins;
  options.read_file = plugin_files::PluginFiles(file);
  options.waits_for_outside_data = true;
  options.make_client = [&io = cluster.io()](net::HttpClientOptions to) {
    return MakeOutsideClient(io, std::move(to));
  };
  return options;
}

int FailWithShell(const Error& error, const std::string& file) {
  return file.empty() ? cli::FailWith(error) : cli::FailWith(error.Wrap("--config " + file), cli::kExitUsage);
}

}  // namespace berth::app
