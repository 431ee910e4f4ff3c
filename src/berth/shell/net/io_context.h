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
  // `threads` run the loop; 1 makes every callback of this context run on the same thread. After a short turn a thread
  // rests for `gather`, so that what arrives one after the other is met in one turn: waking up costs more than most of
  // what there is to do. What arrives while nothing happens is met at once.
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
