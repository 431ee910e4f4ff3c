// SPDX-License-Identifier: Apache-2.0
// The files that -f names: manifests, as kubectl reads them. Blocks.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/whatif/manifests.h"

namespace berth::app {

// Each path is a file, a directory (of which the .yaml, .yml and .json files count, by name), or "-" for standard
// input.
Expected<std::vector<whatif::ManifestFile>> ReadManifestFiles(const std::vector<std::string>& paths);

}  // namespace berth::app
