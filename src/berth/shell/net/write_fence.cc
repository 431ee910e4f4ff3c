// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/write_fence.h"

#include <chrono>

#include <time.h>

namespace berth::net {
namespace {

Duration SinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

BootClock::BootClock() : wall_ahead_(WallNow().time_since_epoch() - SinceBoot()) {}

Time BootClock::Now() const { return Time(SinceBoot() + wall_ahead_); }

Time BootClock::WallNow() const { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

void WriteFence::HoldUntil(Time until) {
  Duration::rep before = held_until_.load(std::memory_order_relaxed);
  while (before != kNeverAgain &&
         !held_until_.compare_exchange_weak(before, until.time_since_epoch().count(), std::memory_order_acq_rel)) {
  }
}

void WriteFence::Close() { held_until_.store(kNeverAgain, std::memory_order_release); }

Error FencedError(const std::string& where, bool outcome_unknown) {
  std::string message = where.empty() ? "" : where + ": ";
  message += outcome_unknown ? "broken off" : "not sent";
  return {ErrorCode::kCancelled, message + ": this process does not hold the leader election lease", outcome_unknown};
}

}  // namespace berth::net
