// SPDX-License-Identifier: Apache-2.0
// Heartbeat: whether an event loop still turns. Each look posts a beat to it, unless one is still under way, and tells
// how long that has been so. Thread-safe, but for one looker at a time.
#pragma once

#include <atomic>
#include <memory>

#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::serving {

class Heartbeat {
 public:
  // Both must outlive the last look; a beat under way may outlive all.
  Heartbeat(client::EventLoop& loop, const Clock& clock) : loop_(loop), clock_(clock) {}

  // How long the loop has owed an answer; zero when it owes none.
  Duration Look() {
    const Time now = clock_.Now();
    if (beat_ == nullptr || beat_->load()) {
      beat_ = std::make_shared<std::atomic<bool>>(false);
      posted_at_ = now;
      loop_.Post([beat = beat_] { beat->store(true); });
    }
    return now - posted_at_;
  }

 private:
  client::EventLoop& loop_;
  const Clock& clock_;
  std::shared_ptr<std::atomic<bool>> beat_;  // true once the loop has run it
  Time posted_at_;
};

}  // namespace berth::serving
