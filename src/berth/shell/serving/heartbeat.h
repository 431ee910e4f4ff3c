// SPDX-License-Identifier: Apache-2.0
// Heartbeat: detects an event loop that is stuck. Look() posts a callback, the beat, to the loop and tells how long the
// last beat has been waiting to run. One thread at a time may call Look(); it need not be the loop's.
#pragma once

#include <atomic>
#include <memory>

#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::serving {

class Heartbeat {
 public:
  // Both must outlive the last Look(). A beat under way may outlive this object.
  Heartbeat(client::EventLoop& loop, const Clock& clock) : loop_(loop), clock_(clock) {}

  // How long the loop has not run the last beat; zero if it has run it.
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
