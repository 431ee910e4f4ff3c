// SPDX-License-Identifier: Apache-2.0
// What a configuration says to LoadAware. Plain values; README.md in this folder says what they mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/args.h"
#include "berth/framework/outside_data.h"

namespace berth::plugins {

struct LoadAwareArgs {
  enum class Source : std::uint8_t { kMetricsApi, kPrometheus, kAnnotations };

  Source source = Source::kMetricsApi;
  framework::OutsideSource endpoint;  // url of Prometheus; interval and time-out of all sources
  std::string cpu_query, memory_query;
  std::string node_label = "instance";
  bool is_percent = false;
  std::optional<double> target_utilization;  // a share of the node
  std::optional<double> hot_threshold;       // a share of the node
  Duration freshness = std::chrono::seconds(60);
  Duration future_tolerance = std::chrono::seconds(10);
  Duration measurement_window = std::chrono::seconds(60);
};

// An error names the field.
Expected<LoadAwareArgs> ReadLoadAwareArgs(const config::PluginArgs& args);

}  // namespace berth::plugins
