// SPDX-License-Identifier: Apache-2.0
#include "berth/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "berth/base/log_writer.h"

namespace berth::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& values) {
  log::Flush(std::chrono::seconds(1));
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition, values.empty() ? "" : " with",
               values.c_str());
  std::abort();
}

}  // namespace berth::internal
