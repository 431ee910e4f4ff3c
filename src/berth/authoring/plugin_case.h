// SPDX-License-Identifier: Apache-2.0
// Cases of `berth plugin test`: a small cluster, the plugins, and what should become of pods there, in YAML. The format
// is described in docs/plugins/testing.md. Plain values.
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

// What a filter is expected to say of a node, beside the reason of a refusal.
inline constexpr std::string_view kPass = "pass";
inline constexpr std::string_view kRefused = "refused";  // whatever the reason
// A pod that is expected on no node.
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
  // Files that plugins name are found beside this one.
  std::string files_from;
  // The one plugin of the profile, which has no more than that: what sorts and binds is still to be added.
  std::string lone_plugin;

  std::vector<NodePtr> nodes;
  std::vector<PodPtr> pods;  // on nodes
  std::vector<framework::AnyObject> objects;
  std::vector<PodPtr> pending;

  // Of the one pending pod.
  std::vector<std::pair<std::string, std::string>> filter;  // by node: kPass, kRefused or a reason
  std::vector<Score> scores;
  std::optional<std::string> message;  // of a pod that is placed nowhere
  // Of any.
  std::vector<Placement> placements;
};

// Files may be as large as this, in bytes, and hold so many cases.
inline constexpr std::size_t kCaseFileBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kCasesMax = 10'000;

using ReadCaseConfig = std::function<Expected<std::string>(const std::string& path)>;

// Cases with the plugins alone, for a cluster that is put together otherwise. `args` and `configuration` are YAML, the
// latter a KubeSchedulerConfiguration or one profile of it; either may be empty.
Expected<PluginCase> CaseOfPlugin(const std::string& plugin, std::string_view args);
Expected<PluginCase> CaseOfConfiguration(std::string_view configuration);

// The cases of a file. `folder` is where it lies: files that it names are found from there. `stem` names a case that
// has no name. `read_config` reads the configuration that a case names, instead of having it. An error is one line with
// all field paths.
Expected<std::vector<PluginCase>> ParsePluginCases(std::string_view text, const std::string& folder,
                                                   const std::string& stem, const ReadCaseConfig& read_config);

}  // namespace berth::authoring
