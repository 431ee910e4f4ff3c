// SPDX-License-Identifier: Apache-2.0
// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as plain values: what a file says, with upstream's
// defaults. A default-constructed value has the defaults of every field but `profiles` (config/default.h adds those).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/config/args.h"
#include "berth/core/config/extenders.h"
#include "berth/framework/release.h"

namespace berth::config {

inline constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
inline constexpr std::string_view kKind = "KubeSchedulerConfiguration";

enum class ExtensionPoint : std::uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
  // Of pod groups.
  kPodGroupPostFilter,
  kPlacementGenerate,
  kPlacementScore,
};
inline constexpr std::size_t kExtensionPointCount = 15;
// The first release with PodGroupPostFilter, and whose points of placements mean something.
inline constexpr int kPodGroupsMinor = 37;

// As upstream's interfaces are called without "Plugin": "PreFilter".
std::string_view ToString(ExtensionPoint point);
// The key of its set in a configuration file: "preFilter".
std::string_view FieldName(ExtensionPoint point);

// One value per extension point.
template <typename T>
struct PerPoint {
  std::array<T, kExtensionPointCount> values{};

  T& operator[](ExtensionPoint point) { return values[static_cast<std::size_t>(point)]; }
  const T& operator[](ExtensionPoint point) const { return values[static_cast<std::size_t>(point)]; }
  bool operator==(const PerPoint&) const = default;
};

struct PluginRef {
  std::string name;
  std::int64_t weight = 0;  // 0: unset; an int32 in files
  bool operator==(const PluginRef&) const = default;
};

struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<std::string> disabled;  // "*": all
  bool operator==(const PluginSet&) const = default;
};

struct Plugins {
  PerPoint<PluginSet> points;
  PluginSet multi_point;
  bool operator==(const Plugins&) const = default;
};

struct PluginConfig {
  std::string name;
  PluginArgs args;
  bool operator==(const PluginConfig&) const = default;
};

struct Profile {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;  // overrides the global value, also with 0
  Plugins plugins;                                           // merged over the defaults, not yet expanded
  std::vector<PluginConfig> plugin_config;

  // The arguments of the plugin; null when it has none.
  const PluginArgs* FindArgs(std::string_view plugin) const;
};

struct LeaderElection {
  bool leader_elect = true;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  // Unset, or 0 in a file: absent. Upstream then takes 50 and 100; berth sets no limit of its own.
  std::optional<double> qps;
  std::optional<std::int32_t> burst;
};

struct KubeSchedulerConfiguration {
  std::int32_t parallelism = 16;
  LeaderElection leader_election;
  ClientConnection client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  std::int32_t percentage_of_nodes_to_score = 0;  // where extenders get whole nodes; 0: it follows from their number
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  bool delay_cache_until_active = false;
  std::vector<Profile> profiles;
  std::vector<Extender> extenders;  // as the file has them
  framework::Release release;       // by the version of Kubernetes and its feature gates, not from a file
};

}  // namespace berth::config
