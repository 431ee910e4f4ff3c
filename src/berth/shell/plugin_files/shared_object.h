// SPDX-License-Identifier: Apache-2.0
// Reads from a shared object for which version of berth it was built, without loading it.
#pragma once

#include <string>

#include "berth/base/expected.h"
#include "berth/framework/plugin_abi.h"

namespace berth::plugin_files {

// The structure that BERTH_PLUGIN put into the file. An error says in one line what is wrong with the file and what to
// do, without its name.
Expected<framework::PluginAbi> ReadPluginAbi(const std::string& path);

// Success, or how `theirs` differs from `ours` and what to do about it.
Expected<void> CheckPluginAbi(const framework::PluginAbi& theirs, const framework::PluginAbi& ours);

}  // namespace berth::plugin_files
