// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/free_memory.h"

#include <algorithm>
#include <memory>

#include <malloc.h>

namespace berth::net {
namespace {

void LookLater(IoContext& io, const std::shared_ptr<FreedMemory>& freed) {
  // The handle only cancels: the timer goes with the loop.
  (void)io.PostAfter(kFreeMemoryInterval, [&io, freed] {
    if (freed->IsEnough(mallinfo2().fordblks)) malloc_trim(0);
    LookLater(io, freed);
  });
}

}  // namespace

bool FreedMemory::IsEnough(std::size_t free_bytes) {
  returned_bytes_ = std::min(returned_bytes_, free_bytes);
  if (free_bytes - returned_bytes_ < kFreedBytesMin) return false;
  returned_bytes_ = free_bytes;
  return true;
}

void ReturnFreeMemory(IoContext& io) { LookLater(io, std::make_shared<FreedMemory>()); }

}  // namespace berth::net
