// SPDX-License-Identifier: Apache-2.0
// Plugins in shared objects (`--plugin-dir`). Only before the process has threads: each file is tried in a child first.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/plugins/own_plugins.h"

namespace berth::plugin_files {

// The most files in one directory.
inline constexpr std::size_t kPluginFilesMax = 256;

// The plugins of every *.so of the directory, by file name. A file that cannot be loaded, may be written by others, is
// built for another berth, ends or blocks the process while it is loaded (for longer than `patience`), or has no
// plugin, is an error that names it. What has been loaded stays for the life of the process.
Expected<std::vector<plugins::OwnPlugin>> LoadPlugins(const std::string& directory,
                                                      std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace berth::plugin_files
