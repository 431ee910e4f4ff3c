// SPDX-License-Identifier: Apache-2.0
// CallbackGate: the callbacks of one stream, which the stream's user may shut off from any thread. Once Shut() has
// returned no callback starts; it waits for one that runs on another thread, and may be called from one.
#pragma once

#include <mutex>
#include <utility>

#include "berth/shell/net/transport.h"

namespace berth::net {

class CallbackGate {
 public:
  explicit CallbackGate(StreamCallbacks callbacks) : callbacks_(std::move(callbacks)) {}

  // Shuts the gate. If it was open, runs `then` before another thread can see that it is shut.
  template <typename Function>
  void Shut(Function then) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_shut_, true)) then();
  }
  void Shut() {
    Shut([] {});
  }
  bool IsShut();

  // Runs `function(callbacks)` unless shut. False when it is shut afterwards.
  template <typename Function>
  bool Call(Function function) {
    const std::lock_guard lock(mutex_);
    if (is_shut_) return false;
    Run(function);
    return !is_shut_;
  }

  // Runs `function(callbacks)` for the last time: shuts the gate first.
  template <typename Function>
  void CallLast(Function function) {
    const std::lock_guard lock(mutex_);
    if (is_shut_) return;
    is_shut_ = true;
    Run(function);
  }

  // Destroys the callbacks now, or when a running one has returned. They may own anything, even the stream itself.
  void Drop();

 private:
  template <typename Function>
  void Run(Function& function) {
    ++depth_;
    function(callbacks_);
    --depth_;
    if (is_dropped_ && depth_ == 0) callbacks_ = {};
  }

  std::recursive_mutex mutex_;  // held while a callback runs; recursive because callbacks shut the gate
  bool is_shut_ = false;
  bool is_dropped_ = false;
  int depth_ = 0;  // the depth of callbacks that run within callbacks
  StreamCallbacks callbacks_;
};

}  // namespace berth::net
