// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic that wraps as Go's does, so that absurd amounts in objects give upstream's scores instead of
// undefined behaviour.
#pragma once

#include <cstdint>

namespace berth::plugins {

inline std::int64_t WrappingMul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Truncates. `b` must not be 0.
inline std::int64_t WrappingDiv(std::int64_t a, std::int64_t b) {
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}

}  // namespace berth::plugins
