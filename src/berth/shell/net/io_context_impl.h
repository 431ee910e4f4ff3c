// SPDX-License-Identifier: Apache-2.0
// What stands behind IoContext: one Asio event loop a thread. A client or a connection lives on one loop for life, so
// that its state needs no lock. For the sources of this folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "berth/shell/net/io_context.h"

namespace berth::net {

using SteadyTime = std::chrono::steady_clock::time_point;

// Now plus a delay, which may be negative or too large for the clock.
inline SteadyTime SteadyAfter(Duration delay) {
  constexpr Duration kDelayMax = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + std::clamp(delay, Duration::zero(), kDelayMax);
}

struct Loop {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = boost::asio::make_work_guard(io);
  std::thread thread;

  // Runs until the loop is stopped.
  void Run(Duration gather);

  bool IsCurrent() { return io.get_executor().running_in_this_thread(); }

  // These on the loop's own thread. Runs `step` after what has been deferred before it, and after the caller. One step
  // follows the other without a look at the sockets in between, which would be a system call each time, as long as
  // they take less than a moment together.
  void Defer(std::function<void()> step);
  // Runs `step` after all other deferred steps: for work that gathers.
  void AtTurnEnd(std::function<void()> step);

 private:
  void PostTurn();
  void RunTurn();

  std::deque<std::function<void()>> deferred_;
  std::deque<std::function<void()>> at_turn_end_;
  bool is_turn_posted_ = false;
};

// The timers of PostAfter. It outlives the loops where a cancel function is kept, so it knows nothing of them.
struct TimerTable {
  using Key = std::pair<SteadyTime, std::uint64_t>;

  std::mutex mutex;
  std::map<Key, std::function<void()>> entries;  // guarded by mutex
  std::uint64_t id_next = 0;                     // guarded by mutex
};

struct IoContext::Impl {
  std::vector<std::unique_ptr<Loop>> loops;
  std::atomic<std::size_t> loop_next{0};
  std::shared_ptr<TimerTable> timers = std::make_shared<TimerTable>();
  std::unique_ptr<boost::asio::steady_timer> timer;  // on the first loop

  std::mutex mutex;
  std::condition_variable changed;
  bool is_stopping = false;  // guarded by mutex
  bool is_joined = false;    // guarded by mutex: no thread runs any more

  // The loops in turn: a client or connection stays on the loop that it gets.
  Loop& NextLoop() { return *loops[loop_next.fetch_add(1, std::memory_order_relaxed) % loops.size()]; }

  // Runs `work` on the loop and returns when it is done; at once where this is the loop's thread, or where the threads
  // have ended (then `is_stopped` is true, and `work` must call nobody back). Two loops of one context must not wait
  // for each other: who owns a client or server destroys it from outside, or from that client's own callbacks.
  void RunAndWait(Loop& loop, const std::function<void(bool is_stopped)>& work);

  void ArmTimer();
  void FireTimers();
};

}  // namespace berth::net
