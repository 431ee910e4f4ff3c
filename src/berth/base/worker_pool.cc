// SPDX-License-Identifier: Apache-2.0
#include "berth/base/worker_pool.h"

#include <utility>

namespace berth {

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    waiting_.push_back(std::move(work));
    if (idle_ < waiting_.size() && threads_.size() < threads_max_) threads_.emplace_back([this] { Loop(); });
  }
  changed_.notify_one();
}

void WorkerPool::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return is_stopped_ || !waiting_.empty(); });
    --idle_;
    if (is_stopped_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace berth
