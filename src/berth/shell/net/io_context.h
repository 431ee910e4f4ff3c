// SPDX-License-Identifier: Apache-2.0
// IoContext: an event loop and the thread that runs it. Thread-safe. Destroying it ends the loop; pending callbacks of
// timers are dropped.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/time.h"

namespace berth::net {

class IoContext {
 public:
  // `threads` run the loop; with 1 every callback of this context runs on the same thread. After a short turn a thread
  // rests for `gather`, so that events that come one after the other are handled in one turn: waking up costs more than
  // most of them. An event that comes while the loop is idle is handled at once.
  explicit IoContext(int threads = 1, Duration gather = Duration{0});
  ~IoContext();
  IoContext(const IoContext&) = delete;
  IoContext& operator=(const IoContext&) = delete;

  void Post(std::function<void()> work);

  // Runs `work` once, not before `delay` has passed. The returned function cancels it (idempotent; any thread).
  std::function<void()> PostAfter(Duration delay, std::function<void()> work);

  // Ends the loop and joins its threads; no callback runs after it returns. Not from a callback. Idempotent.
  void Stop();

  struct Impl;
  Impl& impl() { return *impl_; }  // For the sources of this folder: Asio stays out of our headers.

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
