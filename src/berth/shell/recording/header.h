// SPDX-License-Identifier: Apache-2.0
// What a recording begins with: all that a core is made from, and where it came from. A plain value, written as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/pod_choice.h"
#include "berth/framework/handle.h"

namespace berth::recording {

struct RecordingHeader {
  // Of the program that wrote it (BuildId()), its version for people, and Layout().
  std::string build;
  std::string version;
  std::string layout;
  Time started_at{};  // the time of day
  Time origin{};      // the core's time that the first turn counts from
  std::uint64_t seed = 0;
  std::string configuration;          // as a file, without connections and certificates
  config::FeatureGateSettings gates;  // as the flags had them
  std::string kubernetes;             // the version that was followed: "1.36"
  scheduler::PodChoice pods;
  Duration unschedulable_max = std::chrono::minutes(5);
  std::string plugin_directory;          // empty: none
  std::vector<std::string> own_plugins;  // those in use that do not come with berth
  std::map<std::string, framework::FileText>
      files;  // that plugins read when they were made, by the name they asked for
};

// One of this program, with the configuration; the caller fills in the rest. `gates` are those of `settings`.
RecordingHeader MakeHeader(const config::KubeSchedulerConfiguration& configuration,
                           const config::FeatureGateSettings& settings, const config::FeatureGates& gates);

// What plugins read when they were made, for plugins that are made again. `header` must outlive it.
std::function<Expected<framework::FileText>(const std::string& path)> FilesOf(const RecordingHeader& header);

std::string WriteHeader(const RecordingHeader& header);
Expected<RecordingHeader> ReadHeader(std::string_view text);

// Tells programs apart: what the linker made of all that is in this one. Empty where it made nothing.
std::string BuildId();

}  // namespace berth::recording
