// SPDX-License-Identifier: Apache-2.0
// Times and durations from any input: what was parsed can be written, and is parsed again as the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/base/time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // With its offset, a time may need a year of more than four digits.
  const auto time = ParseRfc3339(text);
  if (time && FormatRfc3339(*time).find('-') == 4) {
    const auto again = ParseRfc3339(FormatRfc3339Micro(*time));
    BERTH_CHECK(again.has_value(), FormatRfc3339Micro(*time));
    BERTH_CHECK(*again == *time, FormatRfc3339Micro(*time), FormatRfc3339Micro(*again));
    const auto seconds = ParseRfc3339(FormatRfc3339(*time));
    BERTH_CHECK(seconds.has_value() && *seconds <= *time && *time - *seconds < std::chrono::seconds(1));
  }
  if (const auto duration = ParseGoDuration(text)) {
    const auto again = ParseGoDuration(FormatGoDuration(*duration));
    BERTH_CHECK(again.has_value(), FormatGoDuration(*duration));
    BERTH_CHECK(*again == *duration, FormatGoDuration(*duration), FormatGoDuration(*again));
  }
  return 0;
}
