// SPDX-License-Identifier: Apache-2.0
// Cases of `berth plugin test` in YAML: a small cluster, the plugins, and the expected results for pods.
// docs/plugins/testing.md describes the format. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/authoring/case_objects.h"
#include "berth/base/expected.h"
#include "berth/core/config/types.h"

namespace berth::authoring {

// Expected verdicts of a filter, in addition to the reason of a refusal.
inline constexpr std::string_view kPass = "pass";
inline constexpr std::string_view kRefused = "refused";  // with any reason
// Expected placement of a pod that is placed on no node.
inline constexpr std::string_view kNowhere = "none";

struct PluginCase {
  struct Score {
    std::string plugin;
    std::string node;
    std::int64_t score = 0;
  };
  struct Placement {
    std::string pod;                 // "namespace/name"
    std::vector<std::string> nodes;  // any of these, or kNowhere
  };

  std::string name;
  config::KubeSchedulerConfiguration configuration;
  // Files that plugins name are relative to this file.
  std::string files_from;
  // The only plugin of the profile; QueueSort and Bind plugins are still to be added.
  std::string lone_plugin;

  std::vector<NodePtr> nodes;
  std::vector<PodPtr> pods;  // on nodes
  std::vector<framework::AnyObject> objects;
  std::vector<PodPtr> pending;

  // Expectations about the only pending pod.
  std::vector<std::pair<std::string, std::string>> filter;  // by node: kPass, kRefused or a reason
  std::vector<Score> scores;
  std::optional<std::string> message;  // if it is not placed
  // Expectations about any pods.
  std::vector<Placement> placements;
};

// Limits on the size of a file in bytes, and on its number of cases.
inline constexpr std::size_t kCaseFileBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kCasesMax = 10'000;

using ReadCaseConfig = std::function<Expected<std::string>(const std::string& path)>;

// Cases with plugins only; the caller adds the cluster. `args` and `configuration` are YAML; the latter is a
// KubeSchedulerConfiguration or one profile of it. Either may be empty.
Expected<PluginCase> CaseOfPlugin(const std::string& plugin, std::string_view args);
Expected<PluginCase> CaseOfConfiguration(std::string_view configuration);

// Parses the cases of a file in `folder`, to which the files that it names are relative. `stem` is the name of a case
// without a name. `read_config` reads a configuration that a case names. An error is one line with all field paths.
Expected<std::vector<PluginCase>> ParsePluginCases(std::string_view text, const std::string& folder,
                                                   const std::string& stem, const ReadCaseConfig& read_config);

}  // namespace berth::authoring
