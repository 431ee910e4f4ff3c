// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/callback_gate.h"

namespace berth::net {

bool CallbackGate::IsShut() {
  const std::lock_guard lock(mutex_);
  return is_shut_;
}

void CallbackGate::Drop() {
  StreamCallbacks dropped;  // destroyed after the lock is given back
  const std::lock_guard lock(mutex_);
  is_dropped_ = true;
  if (depth_ == 0) std::swap(dropped, callbacks_);
}

}  // namespace berth::net
