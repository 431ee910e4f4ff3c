// SPDX-License-Identifier: Apache-2.0
// WriteFence: until when this process may write. Whoever holds the leader election lease moves that moment on with each
// renewal (client/leader_elector.h); each write carries the fence (Request::fence), and it is asked before each try and
// again just before bytes go to the socket, so that a write that waited in a queue, or a process that was frozen, sends
// nothing late. Between that look and the system call lie some microseconds that no program can close; the margin that
// whoever holds it keeps is far longer. Any thread; one atomic load and one look at the clock.
#pragma once

#include <atomic>
#include <string>

#include "berth/base/error.h"
#include "berth/base/time.h"

namespace berth::net {

// Its Now() goes on while the machine sleeps (CLOCK_BOOTTIME): other machines count a lease meanwhile.
class BootClock final : public Clock {
 public:
  BootClock();
  Time Now() const override;
  Time WallNow() const override;

 private:
  const Duration wall_ahead_;  // of the time since the machine was started, when this was made
};

class WriteFence final {
 public:
  // The fence is closed at first. `clock` must outlive it.
  explicit WriteFence(const Clock& clock) : clock_(clock) {}
  WriteFence(const WriteFence&) = delete;
  WriteFence& operator=(const WriteFence&) = delete;

  // Opens the fence until this time, by Now(). It replaces an earlier time, and does nothing after Close().
  void HoldUntil(Time until);
  // Closes the fence for good.
  void Close();

  bool IsOpen() const { return clock_.Now() < Time(Duration(held_until_.load(std::memory_order_acquire))); }
  // The time of the fence's clock.
  Time Now() const { return clock_.Now(); }

 private:
  static constexpr Duration::rep kNotYet = Duration::min().count() + 1;
  static constexpr Duration::rep kNeverAgain = Duration::min().count();

  const Clock& clock_;
  std::atomic<Duration::rep> held_until_{kNotYet};
};

// The error of a write that was stopped. Its code is kCancelled, since another try would be stopped as well. `where` is
// the server, or empty; `outcome_unknown` is set if a part of the request was sent.
Error FencedError(const std::string& where, bool outcome_unknown);

}  // namespace berth::net
