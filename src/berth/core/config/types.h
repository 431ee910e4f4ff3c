// SPDX-License-Identifier: Apache-2.0
// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as plain values. A default-constructed value has
// upstream's defaults of every field except `profiles`, which config/default.h adds.
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
  // For pod groups.
  kPodGroupPostFilter,
  kPlacementGenerate,
  kPlacementScore,
  kPlacementFeasible,
};
inline constexpr std::size_t kExtensionPointCount = 16;
// The first release with PodGroupPostFilter, and with effective placement points.
inline constexpr int kPodGroupsMinor = 37;
// The first release whose files name plugins of PlacementGenerate and PlacementScore.
inline constexpr int kPlacementsMinor = 36;
// The first release in which a file names the plugins of PlacementFeasible, and limits how many placements are tried.
inline constexpr int kPlacementLimitMinor = 38;

// The name of upstream's interface without "Plugin": "PreFilter".
std::string_view ToString(ExtensionPoint point);
// The key of the point's set in a configuration file: "preFilter".
std::string_view FieldName(ExtensionPoint point);

// Whether the configuration files of a release have a set for the point.
bool IsInFiles(ExtensionPoint point, int release_minor);

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
  std::int64_t weight = 0;  // 0: unset; int32 in files
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
  std::optional<std::int32_t> percentage_of_nodes_to_score;       // overrides the global value, even if it is 0
  std::optional<std::int32_t> percentage_of_placements_to_score;  // likewise
  Plugins plugins;                                                // merged with the defaults, not yet expanded
  std::vector<PluginConfig> plugin_config;

  // The plugin's arguments; null when there are none.
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
  // nullopt: unset, or 0 in the file. Upstream then uses 50; berth has no limit.
  std::optional<double> qps;
  // nullopt: kDefaultBurst, where qps sets a limit.
  std::optional<std::int32_t> burst;

  // Upstream's default.
  static constexpr std::int32_t kDefaultBurst = 100;
};

struct KubeSchedulerConfiguration {
  std::int32_t parallelism = 16;
  LeaderElection leader_election;
  ClientConnection client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  // Used if extenders get whole nodes; 0: depends on the number of nodes.
  std::int32_t percentage_of_nodes_to_score = 0;
  // How many of its placements a pod group must fit on before the best of these is chosen; 0: depends on the number of
  // nodes. nullopt: all placements are tried.
  std::optional<std::int32_t> percentage_of_placements_to_score;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  bool delay_cache_until_active = false;
  std::vector<Profile> profiles;
  std::vector<Extender> extenders;  // in the order of the file
  framework::Release release;       // determined by the Kubernetes version and its feature gates, not by a file
};

}  // namespace berth::config
