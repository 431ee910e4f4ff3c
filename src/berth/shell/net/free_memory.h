// SPDX-License-Identifier: Apache-2.0
// Gives freed memory back to the system, for processes that run for long: what a flood of objects or many readers
// needed for a while lies between what is still used, where the allocator keeps it.
#pragma once

#include <cstddef>

#include "berth/base/time.h"
#include "berth/shell/net/io_context.h"

namespace berth::net {

// How often it is looked at, and how many bytes must have been freed since the last time.
inline constexpr Duration kFreeMemoryInterval = std::chrono::seconds(10);
inline constexpr std::size_t kFreedBytesMin = std::size_t{4} << 20;

// Whether to give memory back now. Thread-compatible.
class FreedMemory {
 public:
  // `free_bytes` are free in the allocator, whether the system has their pages or not: giving back leaves the number.
  bool IsEnough(std::size_t free_bytes);

 private:
  std::size_t returned_bytes_ = 0;  // at most; what is used again has its pages again
};

// On the loop's thread, until the loop ends.
void ReturnFreeMemory(IoContext& io);

}  // namespace berth::net
