// SPDX-License-Identifier: Apache-2.0
// EndGuard: an end that is asked for comes, even while a plugin keeps the core's thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "berth/base/time.h"

namespace berth::app {

class EndGuard {
 public:
  // Longer than all that an orderly end waits for, shorter than the time that the chart gives a pod to end.
  static constexpr Duration kPatience = std::chrono::seconds(15);

  // Unless it is destroyed within `patience`, calls `give_up` on a thread of its own; it should end the process.
  EndGuard(Duration patience, std::function<void()> give_up);
  ~EndGuard();
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace berth::app
