// SPDX-License-Identifier: Apache-2.0
// Small files whole: kubeconfigs, tokens, certificates. For the sources of this folder; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "berth/base/expected.h"

namespace berth::client {

// The error names the file: "/etc/x: no such file or directory".
Expected<std::string> ReadSmallFile(const std::string& path, std::size_t bytes_max = std::size_t{1} << 20);

// A bearer token, without the white space around it.
Expected<std::string> ReadTokenFile(const std::string& path);

}  // namespace berth::client
