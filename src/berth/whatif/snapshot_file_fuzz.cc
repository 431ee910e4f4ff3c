// SPDX-License-Identifier: Apache-2.0
// Any lines are a snapshot or an error of one line; so are any bytes, compressed or not.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <algorithm>

#include "berth/base/check.h"
#include "berth/whatif/snapshot_file.h"
#include "berth/whatif/zstd_file.h"

namespace {

using namespace berth;

constexpr whatif::LineLimits kLimits{std::size_t{1} << 20, std::uint64_t{16} << 20};

void CheckOneLine(const Error& error) { BERTH_CHECK(error.message.find('\n') == std::string::npos, error.message); }

void CheckLines(std::string_view text) {
  whatif::SnapshotParser parser;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto taken = parser.Take(text.substr(0, end));
    if (!taken.ok()) return CheckOneLine(taken.error());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto state = std::move(parser).Finish();
  if (!state.ok()) CheckOneLine(state.error());
}

void CheckBytes(std::string_view bytes) {
  const auto read = [&](char* buffer, std::size_t size) -> Expected<std::size_t> {
    const std::size_t count = std::min(size, bytes.size());
    std::memcpy(buffer, bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
  whatif::SnapshotParser parser;
  const auto done = whatif::ReadZstdLines(read, kLimits, [&](std::string_view line) { return parser.Take(line); });
  if (!done.ok()) CheckOneLine(done.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckLines(text);
  CheckBytes(text);
  return 0;
}
