// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/io_context.h"

#include <atomic>
#include <functional>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/test_peers.h"

namespace berth::net {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

TEST(IoContextTest, PostRunsOnTheLoopInOrder) {
  IoContext io;
  Watched<std::vector<int>> seen;
  std::thread::id thread;
  for (int i = 0; i < 3; ++i) {
    io.Post([&, i] {
      thread = std::this_thread::get_id();
      seen.Update([i](auto& all) { all.push_back(i); });
    });
  }
  ASSERT_TRUE(seen.WaitFor([](const auto& all) { return all.size() == 3; }));
  EXPECT_THAT(seen.Get(), ElementsAre(0, 1, 2));
  io.Stop();
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(IoContextTest, AThreadThatGathersRestsAfterATurn) {
  constexpr auto kGather = milliseconds(100);
  IoContext io(1, kGather);
  // Not after a turn that took long, as any may on a busy machine.
  bool has_rested = false;
  for (int i = 0; i < 50 && !has_rested; ++i) {
    std::promise<std::chrono::steady_clock::duration> waited;
    io.Post([&] {
      const auto begin = std::chrono::steady_clock::now();
      io.PostAfter(milliseconds(1), [&waited, begin] { waited.set_value(std::chrono::steady_clock::now() - begin); });
    });
    has_rested = waited.get_future().get() >= kGather / 2;
  }
  EXPECT_TRUE(has_rested);
}

TEST(IoContextTest, TimersRunInTheOrderOfTheirTimes) {
  IoContext io;
  Watched<std::vector<int>> seen;
  const auto record = [&](int i) { return [&seen, i] { seen.Update([i](auto& all) { all.push_back(i); }); }; };
  const auto begin = std::chrono::steady_clock::now();
  // From the loop, so that the first cannot be due before the last is set.
  io.Post([&] {
    io.PostAfter(milliseconds(30), record(3));
    io.PostAfter(milliseconds(10), record(1));
    io.PostAfter(milliseconds(20), record(2));
    io.PostAfter(milliseconds(-5), record(0));
  });
  ASSERT_TRUE(seen.WaitFor([](const auto& all) { return all.size() == 4; }));
  EXPECT_THAT(seen.Get(), ElementsAre(0, 1, 2, 3));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(30));
}

TEST(IoContextTest, CancelledTimersDoNotRun) {
  IoContext io;
  Watched<int> seen;
  std::vector<std::function<void()>> cancels;
  // From the loop, so that none can run before it is cancelled.
  io.Post([&] {
    for (int i = 0; i < 10; ++i) {
      cancels.push_back(io.PostAfter(milliseconds(20), [&seen, i] { seen.Update([i](int& sum) { sum += 1 << i; }); }));
    }
    for (std::size_t i = 0; i < 10; i += 2) cancels[i]();
    cancels[0]();
  });
  ASSERT_TRUE(seen.WaitFor([](int sum) { return sum == 0b1010101010; }));
  cancels[1]();  // Has run already.
}

TEST(IoContextTest, CancelFunctionsMayOutliveTheContext) {
  std::function<void()> cancel;
  const auto kept = std::make_shared<int>(1);
  {
    IoContext io;
    cancel = io.PostAfter(std::chrono::hours(1), [kept] { FAIL(); });
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
  cancel();
}

TEST(IoContextTest, NothingRunsAfterStop) {
  IoContext io(3);
  std::atomic<bool> is_stopped{false};
  std::function<void()> again = [&] {
    EXPECT_FALSE(is_stopped);
    io.Post(again);
  };
  for (int i = 0; i < 10; ++i) io.Post(again);
  io.Stop();
  is_stopped = true;
  io.Stop();
  io.Post([] { FAIL(); });
  io.PostAfter(Duration::zero(), [] { FAIL(); });
}

TEST(IoContextTest, TimersAreThreadSafe) {
  IoContext io(2);
  Watched<int> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        io.PostAfter(std::chrono::microseconds(i * 7 % 100), [&seen] { seen.Update([](int& n) { ++n; }); });
        io.PostAfter(std::chrono::hours(1), [] { FAIL(); })();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(seen.WaitFor([](int n) { return n == 600; }));
}

TEST(IoContextTest, WorkThatBringsMoreWorkKeepsTheTurnOnlyForAMoment) {
  IoContext io;
  std::atomic<bool> is_fired{false};
  std::promise<void> done;
  // What it posts runs in order, and still the timer gets its turn.
  std::function<void()> again = [&] {
    if (is_fired) {
      done.set_value();
    } else {
      io.Post(again);
    }
  };
  io.PostAfter(std::chrono::milliseconds(5), [&] { is_fired = true; });
  io.Post(again);
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  io.Stop();
}

}  // namespace
}  // namespace berth::net
