// SPDX-License-Identifier: Apache-2.0
// Several kubeconfig files as one, as kubectl reads the variable KUBECONFIG: "a:b:c". Reads files; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::client {

// The fields of one file's text. Relative paths in the text start from the folder of `path`; the result has them
// resolved. Errors name `path`.
Expected<codec::json::object> ReadKubeconfigFields(std::string_view text, const std::string& path);

// Splits a list of paths at its colons and leaves out empty entries. A file whose name has a colon is returned as it
// is.
std::vector<std::string> SplitKubeconfigPaths(const std::string& paths);

// Merges files as client-go does: the first file with a cluster, context or user of a name, or with a current-context,
// wins. A file that does not exist is left out.
Expected<codec::json::object> MergeKubeconfigs(const std::vector<std::string>& paths);

}  // namespace berth::client
