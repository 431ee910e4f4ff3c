// SPDX-License-Identifier: Apache-2.0
// EventLoop: where the client's callbacks run, and its time. One thread runs it; tests turn it by hand
// (client_fakes.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "berth/base/time.h"
#include "berth/shell/net/io_context.h"

namespace berth::client {

class EventLoop {
 public:
  virtual ~EventLoop() = default;

  // Any thread may call these. Callbacks run one at a time, on the loop's thread.
  virtual void Post(std::function<void()> work) = 0;
  // Runs `work` once, not before `delay` has passed. The returned function cancels it (idempotent).
  virtual std::function<void()> PostAfter(Duration delay, std::function<void()> work) = 0;
  // True when the caller runs on the loop's thread.
  virtual bool IsCurrent() const = 0;
  // These are as in Clock.
  virtual Time Now() const = 0;
  virtual Time WallNow() const = 0;
  // The time of day at which Now() was `time`, for times that are written into objects. A later step of the wall clock
  // counts.
  Time WallAt(Time time) const { return WallNow() - (Now() - time); }

  // Runs `work` at once on the loop's thread; on another thread it posts it.
  void Dispatch(std::function<void()> work) {
    if (IsCurrent()) {
      work();
    } else {
      Post(std::move(work));
    }
  }
};

// Over an IoContext that has one thread. Both arguments must outlive it.
class IoEventLoop final : public EventLoop {
 public:
  IoEventLoop(net::IoContext& io, const Clock& clock)
      : io_(io), clock_(clock), thread_(std::make_shared<std::atomic<std::thread::id>>()) {
    io_.Post([thread = thread_] { thread->store(std::this_thread::get_id()); });
  }

  void Post(std::function<void()> work) override { io_.Post(std::move(work)); }
  std::function<void()> PostAfter(Duration delay, std::function<void()> work) override {
    return io_.PostAfter(delay, std::move(work));
  }
  bool IsCurrent() const override { return thread_->load() == std::this_thread::get_id(); }
  Time Now() const override { return clock_.Now(); }
  Time WallNow() const override { return clock_.WallNow(); }

 private:
  net::IoContext& io_;
  const Clock& clock_;
  std::shared_ptr<std::atomic<std::thread::id>> thread_;  // of the loop, once it has run our first callback
};

}  // namespace berth::client
