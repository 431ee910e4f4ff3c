// SPDX-License-Identifier: Apache-2.0
// A string_view as a stream, for the YAML library. Private to this folder; one thread.
#pragma once

#include <streambuf>
#include <string_view>

namespace berth::codec {

// Reads a string_view without copying it.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // NOLINT: a get area is only read
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace berth::codec
