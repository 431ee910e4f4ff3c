// SPDX-License-Identifier: Apache-2.0
// WorkerPool: runs blocking work on a bounded number of threads, which are started on demand. Thread-safe.
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
  // Drops work that has not begun, and waits for work that has.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs work in the order of the calls, as threads become free. `work` must not throw.
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
