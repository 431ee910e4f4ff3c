// SPDX-License-Identifier: Apache-2.0
// Await: how a thread waits for others. In a program the thread blocks. A simulation has one thread for all, and passes
// a function that lets the others go on meanwhile.
#pragma once

#include <functional>
#include <future>

#include "berth/base/time.h"

namespace berth::runner {

// Returns when is_done() says so, or after `limit`. Empty: the calling thread blocks.
using Await = std::function<void(Duration limit, const std::function<bool()>& is_done)>;

// Waits until the future is ready, at most `limit`.
inline void AwaitFuture(const Await& await, const std::future<void>& future, Duration limit) {
  if (await) {
    await(limit, [&future] { return future.wait_for(Duration{0}) == std::future_status::ready; });
  } else {
    future.wait_for(limit);
  }
}

}  // namespace berth::runner
