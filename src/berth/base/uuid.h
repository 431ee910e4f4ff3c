// SPDX-License-Identifier: Apache-2.0
// UUIDs of objects and processes.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

// The version 4 UUID with these random bits: "2f6c0a5e-...", 36 characters.
inline std::string UuidOf(std::uint64_t high, std::uint64_t low) {
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;                     // version 4
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // the variant of RFC 4122
  constexpr char kDigits[] = "0123456789abcdef";
  std::string uuid;
  uuid.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) uuid += '-';
    const std::uint64_t half = i < 16 ? high : low;
    uuid += kDigits[(half >> (60 - 4 * (i % 16))) & 15];
  }
  return uuid;
}

}  // namespace berth
