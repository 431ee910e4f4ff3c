// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/plugin_files/plugin_files.h"

#include <filesystem>
#include <utility>

#include "berth/shell/client/file.h"

namespace berth::plugin_files {

ReadPluginFile PluginFiles(const std::string& config_path) {
  return [folder = std::filesystem::path(config_path).parent_path()](
             const std::string& path) -> Expected<framework::FileText> {
    // An absolute path stays as it is.
    std::string resolved = (folder / path).string();
    BERTH_ASSIGN_OR_RETURN(std::string text, client::ReadSmallFile(resolved));
    return framework::FileText{std::move(resolved), std::move(text)};
  };
}

}  // namespace berth::plugin_files
