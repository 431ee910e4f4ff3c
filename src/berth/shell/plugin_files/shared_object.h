// SPDX-License-Identifier: Apache-2.0
// Reading from a shared object for which berth it was built, without having the system load it. Pure but for the file.
#pragma once

#include <string>

#include "berth/base/expected.h"
#include "berth/framework/plugin_abi.h"

namespace berth::plugin_files {

// What BERTH_PLUGIN put into the file. Errors say in one line what the file is instead, and what to do, without its
// name.
Expected<framework::PluginAbi> ReadPluginAbi(const std::string& path);

// Success, or how `theirs` differs from `ours` and what to do about it.
Expected<void> CheckPluginAbi(const framework::PluginAbi& theirs, const framework::PluginAbi& ours);

}  // namespace berth::plugin_files
