// SPDX-License-Identifier: Apache-2.0
// `berth plugin`: tools for authors of plugins. RunPlugin returns the exit status.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/config/known_plugins.h"

namespace berth::app {

enum class PluginAction : std::uint8_t { kTest, kNew };

struct PluginOptions {
  PluginAction action = PluginAction::kTest;
  // kTest
  std::vector<std::string> paths;  // files, or directories of files
  std::string output = "table";    // or json
  // kNew
  std::string name;      // of the plugin
  std::string language;  // "cpp", "lua"
  std::string folder;    // to create; empty: derived from the name
};

int RunPlugin(const PluginOptions& options, config::KnownPlugins plugins);

// The case files of a path, sorted by name. For a file, the file itself. For a directory, *.yaml, *.yml and *.json in
// its subdirectory `cases`, or in the directory itself if there is no `cases`.
Expected<std::vector<std::string>> FindCaseFiles(const std::string& path);

}  // namespace berth::app
