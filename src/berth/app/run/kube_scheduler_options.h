// SPDX-License-Identifier: Apache-2.0
// The flags of kube-scheduler as plain values. Names, defaults and meanings are upstream's (cmd/kube-scheduler/app
// options, and the options of apiserver and component-base that it includes). kube_scheduler_flags.h says what berth
// does with each flag.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"
#include "berth/shell/serving/options.h"

namespace berth::app {

// Options of the secure port that have no effect in berth (kube_scheduler_flags.cc says why).
struct UnusedServingOptions {
  bool permit_address_sharing = false;  // SO_REUSEADDR
};

// All but the last have an effect only without --config.
struct DeprecatedOptions {
  bool profiling = true;
  bool contention_profiling = true;
  std::string kubeconfig;
  std::string kube_api_content_type = "application/vnd.kubernetes.protobuf";
  double kube_api_qps = 50;
  std::int32_t kube_api_burst = 100;
  Duration pod_max_in_unschedulable_pods_duration = std::chrono::minutes(5);
};

struct MetricsOptions {
  std::string show_hidden_metrics_for_version;  // empty, or the minor version before this one
  std::vector<std::string> disabled_metrics;
  std::map<std::string, std::string> allow_metric_labels;  // "METRIC,LABEL": values by commas
  std::string allow_metric_labels_manifest;
};

struct LoggingOptions {
  std::string format = "text";  // or json
  std::int32_t verbosity = 0;
  std::vector<std::pair<std::string, std::int32_t>> vmodule;  // pattern, verbosity
  Duration flush_frequency = std::chrono::seconds(5);
  bool json_split_stream = false;
  bool text_split_stream = false;
  std::int64_t json_info_buffer_size = 0;  // bytes
  std::int64_t text_info_buffer_size = 0;
};

enum class VersionRequest : std::uint8_t { kNone, kShort, kRaw };

struct KubeSchedulerOptions {
  std::string config;
  std::string master;
  std::string write_config_to;
  serving::SecureServingOptions secure_serving;
  UnusedServingOptions unused_serving;
  serving::AuthenticationOptions authentication;
  serving::AuthorizationOptions authorization;
  DeprecatedOptions deprecated;
  config::LeaderElection leader_election;
  MetricsOptions metrics;
  LoggingOptions logging;
  config::FeatureGateSettings feature_gates;  // as typed
  VersionRequest version = VersionRequest::kNone;
  std::string reported_version;  // by --version=v1.36.3-x; empty: the build's own version
  bool help = false;

  // The flags that were on the command line, without dashes. Some have an effect only if they were given.
  std::set<std::string, std::less<>> given;

  // All flags with their values as /flagz shows them: as typed, or the default.
  std::map<std::string, std::string> shown;

  bool IsGiven(std::string_view flag) const { return given.find(flag) != given.end(); }
};

// Whether `text` is a key of --allow-metric-labels: "METRIC,LABEL".
bool IsMetricLabel(std::string_view text);

// Checks the values against each other, as upstream's Validate() and the options' own checks do. Reads no files.
// `gates` are those of the same options.
Expected<void> ValidateOptions(const KubeSchedulerOptions& options, const config::FeatureGates& gates);

// Applies the flags to a configuration, as upstream does: the leader election flags that were given always, the
// deprecated flags only if the configuration is not from a file.
void ApplyOptions(const KubeSchedulerOptions& options, bool is_from_file,
                  config::KubeSchedulerConfiguration& configuration);

}  // namespace berth::app
