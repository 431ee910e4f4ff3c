// SPDX-License-Identifier: Apache-2.0
// Prefetch: loads an object into the CPU's caches in the background, where thousands of objects are used in turn and
// each access would be a cache miss.
#pragma once

#include <cstddef>

namespace berth {

// `object` may be any address, even of a destroyed object: nothing is dereferenced.
template <typename T>
void Prefetch(const T* object) {
  constexpr std::size_t kLineBytes = 64;
  const auto* const begin = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) __builtin_prefetch(begin + at);
  // An object that is not aligned to a cache line may extend into one more line.
  if constexpr (sizeof(T) > alignof(T)) __builtin_prefetch(begin + sizeof(T) - 1);
}

}  // namespace berth
