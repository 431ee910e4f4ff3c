// SPDX-License-Identifier: Apache-2.0
// WorkerPool: runs blocking work on at most a fixed number of threads, started when they are needed. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads_max) : threads_max_(threads_max) {}
  // Work that has not begun is dropped; work that has begun is waited for.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // In order of the calls, as threads become free. `work` must not throw.
  void Run(std::function<void()> work);

 private:
  void Loop();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_stopped_ = false;
};

}  // namespace berth
