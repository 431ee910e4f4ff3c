// SPDX-License-Identifier: Apache-2.0
// A peer's frames, in pieces whose size the first byte says: the pieces do not matter, and what a reader holds is
// small.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/base/check.h"
#include "berth/shell/net/websocket.h"

namespace berth::net {
namespace {

struct Result {
  bool is_valid = true;
  std::vector<WebSocketReader::Control> controls;
};

Result Read(std::string_view input, std::size_t piece) {
  WebSocketReader reader;
  Result result;
  while (!input.empty() && result.is_valid) {
    result.is_valid = reader.Feed(input.substr(0, piece), result.controls);
    input.remove_prefix(std::min(input.size(), piece));
  }
  return result;
}

void Run(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 16;
  input.remove_prefix(1);
  const Result whole = Read(input, std::max<std::size_t>(input.size(), 1));
  const Result pieces = Read(input, piece);
  BERTH_CHECK(whole.is_valid == pieces.is_valid && whole.controls.size() == pieces.controls.size());
  for (std::size_t i = 0; i < whole.controls.size(); ++i) {
    BERTH_CHECK(whole.controls[i].opcode == pieces.controls[i].opcode);
    BERTH_CHECK(whole.controls[i].payload == pieces.controls[i].payload);
    BERTH_CHECK(whole.controls[i].payload.size() <= 125);
  }
}

}  // namespace
}  // namespace berth::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::net::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
