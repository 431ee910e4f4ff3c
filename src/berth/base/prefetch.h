// SPDX-License-Identifier: Apache-2.0
// Prefetch: asks the processor to bring an object into its cache while something else is done. Where thousands of
// objects are used in turn, each of their lines would be waited for.
#pragma once

#include <cstddef>

namespace berth {

// `object` may be at any address, even one that holds no object any more: nothing is read.
template <typename T>
void Prefetch(const T* object) {
  constexpr std::size_t kLineBytes = 64;
  const auto* const begin = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) __builtin_prefetch(begin + at);
  // An object that begins within a line ends in one more.
  if constexpr (sizeof(T) > alignof(T)) __builtin_prefetch(begin + sizeof(T) - 1);
}

}  // namespace berth
