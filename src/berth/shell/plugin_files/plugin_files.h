// SPDX-License-Identifier: Apache-2.0
// How plugins' factories read files of this machine (framework::Handle::ReadFile).
#pragma once

#include <functional>
#include <string>

#include "berth/base/expected.h"
#include "berth/framework/handle.h"

namespace berth::plugin_files {

using ReadPluginFile = std::function<Expected<framework::FileText>(const std::string& path)>;

// A relative path counts from the folder of that configuration file; from the working directory where it is empty.
ReadPluginFile PluginFiles(const std::string& config_path);

}  // namespace berth::plugin_files
