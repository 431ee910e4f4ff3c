// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_loop.h"

namespace berth::client {

IoEventLoop::IoEventLoop(net::IoContext& io, const Clock& clock)
    : io_(io), clock_(clock), thread_(std::make_shared<std::atomic<std::thread::id>>()) {
  io_.Post([thread = thread_] { thread->store(std::this_thread::get_id()); });
}

}  // namespace berth::client
