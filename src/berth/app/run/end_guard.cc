// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/end_guard.h"

#include <utility>

namespace berth::app {

EndGuard::EndGuard(Duration patience, std::function<void()> give_up)
    : thread_([this, patience, give_up = std::move(give_up)] {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, patience, [this] { return has_ended_; })) give_up();
      }) {}

EndGuard::~EndGuard() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace berth::app
