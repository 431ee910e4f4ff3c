// SPDX-License-Identifier: Apache-2.0
// BERTH_CHECK: for bugs, never for input. Enabled in all builds; prints its values and ends the process.
#pragma once

#include <sstream>
#include <string>

namespace berth::internal {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& values);

template <typename... Values>
std::string CheckValues(const Values&... values) {
  std::ostringstream out;
  ((out << ' ' << values), ...);
  return out.str();
}

}  // namespace berth::internal

#define BERTH_CHECK(condition, ...)                                                                                \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]] {                                                                               \
      ::berth::internal::CheckFailed(__FILE__, __LINE__, #condition, ::berth::internal::CheckValues(__VA_ARGS__)); \
    }                                                                                                              \
  } while (false)

// For hot loops: disabled in release builds.
#ifdef NDEBUG
#define BERTH_DCHECK(condition, ...) \
  do {                               \
    (void)sizeof(condition);         \
  } while (false)
#else
#define BERTH_DCHECK(condition, ...) BERTH_CHECK(condition, __VA_ARGS__)
#endif
