// SPDX-License-Identifier: Apache-2.0
// DecodeProtobuf reads bytes from anybody: it must end, and what it takes must be writable as JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "berth/devcluster/objects/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto decoded = berth::objects::DecodeProtobuf({reinterpret_cast<const char*>(data), size});
  if (decoded.ok() && !berth::codec::ParseJson(berth::codec::WriteJson(*decoded)).ok()) std::abort();
  return 0;
}
