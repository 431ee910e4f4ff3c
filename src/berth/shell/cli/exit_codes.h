// SPDX-License-Identifier: Apache-2.0
// What berth's programs tell their caller when they end. Any thread.
#pragma once

#include "berth/base/error.h"

namespace berth::cli {

enum ExitCode : int {
  kExitOk = 0,      // done, or ended by SIGINT or SIGTERM as asked
  kExitFailed = 1,  // the work failed: said in one line on standard error
  kExitUsage = 2,   // it never began: unknown flags, bad configuration, unreadable files
  kExitNo = 3,      // a question was answered, with no
};

// One line on standard error: "berth: while ...: what is wrong". Returns `status`, for main to return.
int FailWith(const Error& error, ExitCode status = kExitFailed);

}  // namespace berth::cli
