// SPDX-License-Identifier: Apache-2.0
// Several kubeconfig files as one, as kubectl reads the variable KUBECONFIG: "a:b:c". Reads files; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::client {

// The fields of one file's text; an empty one has none. Relative paths in it start from the folder of `path` and are
// whole in what is returned; `path` is for errors too.
Expected<codec::json::object> ReadKubeconfigFields(std::string_view text, const std::string& path);

// The paths of a list; of a file with a colon in its name, that file. Empty entries count for nothing.
std::vector<std::string> SplitKubeconfigPaths(const std::string& paths);

// As client-go: the first file that has a cluster, a context, a user or a current-context has the last word on it, and
// a file that does not exist is left out.
Expected<codec::json::object> MergeKubeconfigs(const std::vector<std::string>& paths);

}  // namespace berth::client
