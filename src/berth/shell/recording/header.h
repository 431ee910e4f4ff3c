// SPDX-License-Identifier: Apache-2.0
// The header of a recording: everything that a core is made from, and which program wrote it. A plain value, written as
// JSON.
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
  // The BuildId() of the program that wrote it, its version for people, and its Layout().
  std::string build;
  std::string version;
  std::string layout;
  Time started_at{};  // the time of day
  Time origin{};      // the core's time that the first turn counts from
  std::uint64_t seed = 0;
  std::string configuration;          // as in a file, without connections and certificates
  config::FeatureGateSettings gates;  // as the flags had them
  std::string kubernetes;             // the version that was followed: "1.36"
  scheduler::PodChoice pods;
  Duration unschedulable_max = std::chrono::minutes(5);
  std::string plugin_directory;          // empty: none
  std::vector<std::string> own_plugins;  // the plugins in use that do not come with berth
  std::map<std::string, framework::FileText>
      files;  // the files that plugins read when they were made, by the name they asked for
};

// A header with this program and the configuration; the caller fills in the rest. `gates` are made from `settings`.
RecordingHeader MakeHeader(const config::KubeSchedulerConfiguration& configuration,
                           const config::FeatureGateSettings& settings, const config::FeatureGates& gates);

// Reads files from the header instead of the disk, for plugins that are made again. `header` must outlive it.
std::function<Expected<framework::FileText>(const std::string& path)> FilesOf(const RecordingHeader& header);

std::string WriteHeader(const RecordingHeader& header);
Expected<RecordingHeader> ReadHeader(std::string_view text);

// The build id that the linker gave this program. Empty if it gave none.
std::string BuildId();

}  // namespace berth::recording
