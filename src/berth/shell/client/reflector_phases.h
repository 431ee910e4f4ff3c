// SPDX-License-Identifier: Apache-2.0
// ReflectorPhases: the present phase of a reflector, which is a list, a watch or a wait, with its stream or timer. A
// phase ends when the next begins; callbacks of earlier phases do nothing. Holds the reflector's lock.
//
// Any thread may call Stop() and mutex(). All else runs on the loop's thread, with the lock held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace berth::client {

class ReflectorPhases {
 public:
  explicit ReflectorPhases(EventLoop& loop) : loop_(loop) {}

  // Callbacks keep `owner`, of which this object is a part, alive while they run, and do nothing when it has gone. Set
  // once, before all else.
  void SetOwner(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  // Held while a callback runs, so that Stop() can wait for it; recursive, so that a callback may call Stop().
  std::recursive_mutex& mutex() const { return mutex_; }
  const bool& is_stopped() const { return is_stopped_; }
  std::uint64_t current() const { return phase_; }
  bool Is(std::uint64_t phase) const { return !is_stopped_ && phase_ == phase; }

  // Ends the present phase and its stream, and begins another. Returns the number of the new one.
  std::uint64_t Begin();
  // Any thread: calls `work` on the loop's thread, unless stopped.
  void Post(std::function<void()> work);
  // Begins a phase that waits, and calls `work` at its end.
  void After(Duration delay, std::function<void()> work);
  // Calls `work` later in this phase. One timer a phase.
  void ArmTimer(Duration delay, std::function<void()> work);
  // Keeps the stream of a phase until it ends. It may have ended already, and another phase begun.
  void KeepStream(std::uint64_t phase, std::unique_ptr<net::StreamHandle> stream);
  // Ends the last phase. No callback runs after it returns: it waits for a running one, unless that one calls it.
  void Stop();

  // Wraps a callback of the phase that is beginning.
  template <typename F>
  auto InPhase(F work) {
    return [this, owner = owner_, phase = phase_, work = std::move(work)](auto&&... args) {
      const auto alive = owner.lock();
      if (!alive) return;
      WithLock([&] {
        if (Is(phase)) work(std::forward<decltype(args)>(args)...);
      });
    };
  }

 private:
  // Streams that `work` has ended are destroyed after the lock is released. Closing a stream takes the stream's own
  // lock, and a callback that holds that lock may be waiting for this one.
  template <typename F>
  void WithLock(F work) {
    std::vector<std::unique_ptr<net::StreamHandle>> ended;
    const std::lock_guard lock(mutex_);
    work();
    ended.swap(ended_);
  }

  EventLoop& loop_;
  std::weak_ptr<const void> owner_;
  mutable std::recursive_mutex mutex_;
  bool is_stopped_ = false;
  std::uint64_t phase_ = 0;
  std::unique_ptr<net::StreamHandle> stream_;
  std::vector<std::unique_ptr<net::StreamHandle>> ended_;  // of earlier phases, until WithLock() ends
  std::function<void()> cancel_timer_;
};

}  // namespace berth::client
