// SPDX-License-Identifier: Apache-2.0
// `berth plugin`: what helps somebody to write a plugin of their own. Each returns the process's exit status.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/plugins/registry.h"

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
  std::string folder;    // to be made; empty: by the name
};

int RunPlugin(const PluginOptions& options, plugins::KnownPlugins plugins);

// The case files of a path: the file itself, or *.yaml, *.yml and *.json of the directory `cases` in it or else of
// itself, by name.
Expected<std::vector<std::string>> FindCaseFiles(const std::string& path);

}  // namespace berth::app
