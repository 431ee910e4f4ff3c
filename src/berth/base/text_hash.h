// SPDX-License-Identifier: Apache-2.0
// A fast hash of text for hot tables: a few multiplications without a library call. It is seeded by the program's load
// address and so differs from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace berth {

namespace text_hash {

// Odd constants without a pattern: fractions of the golden ratio and of its analogues in higher dimensions.
inline constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kSecond = 0xd1342543de82ef95;
inline constexpr std::uint64_t kThird = 0xaf251af3b0f025b5;

inline const char kSeed = 0;

template <typename Number>
std::uint64_t Load(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

// Multiplies to 128 bits and combines both halves.
inline std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace text_hash

inline std::size_t HashText(std::string_view text) {
  using namespace text_hash;
  const char* from = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&kSeed) * kFirst ^ left;
  for (; left > 16; left -= 16, from += 16) {
    hash = Fold(Load<std::uint64_t>(from) ^ kSecond, Load<std::uint64_t>(from + 8) ^ hash);
  }
  // The remaining bytes as two numbers, which may overlap.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (left >= 8) {
    a = Load<std::uint64_t>(from);
    b = Load<std::uint64_t>(from + left - 8);
  } else if (left >= 4) {
    a = Load<std::uint32_t>(from);
    b = Load<std::uint32_t>(from + left - 4);
  } else if (left > 0) {
    a = Load<std::uint8_t>(from) | Load<std::uint8_t>(from + left / 2) << 8 | Load<std::uint8_t>(from + left - 1) << 16;
  }
  return Fold(Fold(a ^ kSecond, b ^ hash), kThird);
}

}  // namespace berth
