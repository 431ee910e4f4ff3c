// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/exit_codes.h"

#include <cstdio>

namespace berth::cli {

int FailWith(const Error& error, ExitCode status) {
  std::fprintf(stderr, "berth: %s\n", error.message.c_str());
  return status;
}

}  // namespace berth::cli
