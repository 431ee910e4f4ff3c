// SPDX-License-Identifier: Apache-2.0
// Running a credential plugin as a child process. For the sources of this folder.
#pragma once

#include <atomic>
#include <string>

#include "berth/base/expected.h"
#include "berth/shell/client/credentials.h"

namespace berth::client {

// What the plugin printed. Blocks for at most its time limit; ends soon (kCancelled) when `is_stopping` becomes true.
// The error is one line with the command, how it ended, what it wrote to standard error, and the install hint.
Expected<std::string> RunExecPlugin(const ExecPlugin& plugin, const std::atomic<bool>& is_stopping);

}  // namespace berth::client
