// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_phases.h"

namespace berth::client {

std::uint64_t ReflectorPhases::Begin() {
  if (stream_) ended_.push_back(std::move(stream_));
  cancel_timer_ = {};
  return ++phase_;
}

void ReflectorPhases::Post(std::function<void()> work) {
  loop_.Post([this, owner = owner_, work = std::move(work)] {
    const auto alive = owner.lock();
    if (!alive) return;
    WithLock([&] {
      if (!is_stopped_) work();
    });
  });
}

void ReflectorPhases::After(Duration delay, std::function<void()> work) {
  Begin();
  ArmTimer(delay, std::move(work));
}

void ReflectorPhases::ArmTimer(Duration delay, std::function<void()> work) {
  cancel_timer_ = loop_.PostAfter(delay, InPhase(std::move(work)));
}

void ReflectorPhases::KeepStream(std::uint64_t phase, std::unique_ptr<net::StreamHandle> stream) {
  if (Is(phase)) {
    stream_ = std::move(stream);
  } else {
    ended_.push_back(std::move(stream));
  }
}

void ReflectorPhases::Stop() {
  // Destroyed outside the lock, since closing a stream may wait for the loop.
  std::unique_ptr<net::StreamHandle> stream;
  std::function<void()> cancel_timer;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    ++phase_;
    stream = std::move(stream_);
    cancel_timer = std::move(cancel_timer_);
  }
  if (cancel_timer) cancel_timer();
}

}  // namespace berth::client
