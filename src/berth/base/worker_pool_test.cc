// SPDX-License-Identifier: Apache-2.0
#include "berth/base/worker_pool.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(WorkerPool, RunsAllWorkOnAtMostSoManyThreads) {
  std::atomic<int> running{0}, most{0};
  std::promise<void> all;
  std::atomic<int> left{50};
  WorkerPool pool(3);
  for (int i = 0; i < 50; ++i) {
    pool.Run([&] {
      const int now = ++running;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      --running;
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_LE(most, 3);
}

TEST(WorkerPool, EndsWithWorkUnderWayAndDropsTheRest) {
  std::atomic<int> done{0};
  std::promise<void> begun, go;
  std::shared_future<void> may_go = go.get_future().share();
  {
    WorkerPool pool(1);
    pool.Run([&] {
      begun.set_value();
      may_go.wait();
      ++done;
    });
    begun.get_future().wait();
    for (int i = 0; i < 10; ++i) pool.Run([&] { done += 100; });
    std::thread release([&] { go.set_value(); });
    release.join();
  }
  EXPECT_EQ(done % 100, 1);
}

}  // namespace
}  // namespace berth
