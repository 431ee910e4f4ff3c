// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/io_context.h"

#include <algorithm>
#include <chrono>

#include <boost/asio/post.hpp>

#include "berth/shell/net/io_context_impl.h"

namespace berth::net {

namespace {

// The longest time of deferred work before the sockets are polled again.
constexpr Duration kTurnMax = std::chrono::milliseconds(1);
// After a longer turn the thread does not rest, since more work is waiting already.
constexpr Duration kShortTurnMax = std::chrono::microseconds(500);

}  // namespace

void Loop::Run(Duration gather) {
  if (gather == Duration{0}) {
    io.run();
    return;
  }
  while (io.run_one() > 0) {
    const SteadyTime begin = std::chrono::steady_clock::now();
    io.poll();
    if (!io.stopped() && std::chrono::steady_clock::now() - begin < kShortTurnMax) std::this_thread::sleep_for(gather);
  }
}

void Loop::Defer(std::function<void()> step) {
  deferred_.push_back(std::move(step));
  PostTurn();
}

void Loop::AtTurnEnd(std::function<void()> step) {
  at_turn_end_.push_back(std::move(step));
  PostTurn();
}

void Loop::PostTurn() {
  if (is_turn_posted_) return;
  is_turn_posted_ = true;
  boost::asio::post(io, [this] { RunTurn(); });
}

void Loop::RunTurn() {
  const SteadyTime end = std::chrono::steady_clock::now() + kTurnMax;
  bool is_late = false;
  while (!is_late && !io.stopped() && !(deferred_.empty() && at_turn_end_.empty())) {
    auto& queue = deferred_.empty() ? at_turn_end_ : deferred_;
    const std::function<void()> step = std::move(queue.front());
    queue.pop_front();
    step();
    is_late = std::chrono::steady_clock::now() > end;
  }
  is_turn_posted_ = false;
  if (!deferred_.empty() || !at_turn_end_.empty()) PostTurn();
}

IoContext::IoContext(int threads, Duration gather) : impl_(std::make_unique<Impl>()) {
  for (int i = 0; i < std::max(1, threads); ++i) impl_->loops.push_back(std::make_unique<Loop>());
  impl_->timer = std::make_unique<boost::asio::steady_timer>(impl_->loops.front()->io);
  for (auto& loop : impl_->loops) {
    loop->thread = std::thread([each = loop.get(), gather] { each->Run(gather); });
  }
}

IoContext::~IoContext() {
  Stop();
  std::map<TimerTable::Key, std::function<void()>> dropped;
  {
    const std::lock_guard lock(impl_->timers->mutex);
    dropped.swap(impl_->timers->entries);
  }
}

void IoContext::Post(std::function<void()> work) {
  Loop& loop = impl_->NextLoop();
  if (loop.IsCurrent()) {
    loop.Defer(std::move(work));
  } else {
    boost::asio::post(loop.io, std::move(work));
  }
}

std::function<void()> IoContext::PostAfter(Duration delay, std::function<void()> work) {
  TimerTable::Key key(SteadyAfter(delay), 0);
  bool is_first = false;
  {
    const std::lock_guard lock(impl_->timers->mutex);
    key.second = impl_->timers->id_next++;
    impl_->timers->entries.emplace(key, std::move(work));
    is_first = impl_->timers->entries.begin()->first == key;
  }
  if (is_first) boost::asio::post(impl_->loops.front()->io, [impl = impl_.get()] { impl->ArmTimer(); });
  return [timers = impl_->timers, key] {
    std::function<void()> dropped;  // destroyed without the lock, since its destructor may do anything
    const std::lock_guard lock(timers->mutex);
    const auto entry = timers->entries.find(key);
    if (entry == timers->entries.end()) return;
    dropped.swap(entry->second);
    timers->entries.erase(entry);
  };
}

void IoContext::Stop() {
  {
    std::unique_lock lock(impl_->mutex);
    if (impl_->is_stopping) {
      impl_->changed.wait(lock, [this] { return impl_->is_joined; });
      return;
    }
    impl_->is_stopping = true;
  }
  for (auto& loop : impl_->loops) loop->io.stop();
  for (auto& loop : impl_->loops) loop->thread.join();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->is_joined = true;
  }
  impl_->changed.notify_all();
}

void IoContext::Impl::RunAndWait(Loop& loop, const std::function<void(bool is_stopped)>& work) {
  if (loop.IsCurrent()) {
    work(false);
    return;
  }
  const auto is_done = std::make_shared<bool>(false);
  std::unique_lock lock(mutex);
  if (!is_joined) {
    boost::asio::post(loop.io, [this, is_done, &work] {
      work(false);
      {
        const std::lock_guard done_lock(mutex);
        *is_done = true;
      }
      changed.notify_all();
    });
    changed.wait(lock, [&] { return *is_done || is_joined; });
    if (*is_done) return;
  }
  lock.unlock();
  work(true);
}

void IoContext::Impl::ArmTimer() {
  {
    const std::lock_guard lock(timers->mutex);
    if (timers->entries.empty()) return;
    timer->expires_at(timers->entries.begin()->first.first);
  }
  timer->async_wait([this](const boost::system::error_code& ec) {
    if (!ec) FireTimers();
  });
}

void IoContext::Impl::FireTimers() {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (;;) {
    std::function<void()> work;
    {
      const std::lock_guard lock(timers->mutex);
      if (timers->entries.empty() || timers->entries.begin()->first.first > now) break;
      work = std::move(timers->entries.begin()->second);
      timers->entries.erase(timers->entries.begin());
    }
    work();
  }
  ArmTimer();
}

}  // namespace berth::net
