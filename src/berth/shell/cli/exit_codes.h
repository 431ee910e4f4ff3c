// What berth's programs tell their caller when they end.
#pragma once

namespace berth::cli {

enum ExitCode : int {
  kExitOk = 0,      // done, or ended by SIGINT or SIGTERM as asked
  kExitFailed = 1,  // the work failed: said in one line on standard error
  kExitUsage = 2,   // it never began: unknown flags, bad configuration, unreadable files
};

}  // namespace berth::cli
