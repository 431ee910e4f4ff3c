// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/turn_runner.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/check.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::runner {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(30);

// A clock that stands still until it is set.
class StillClock final : public Clock {
 public:
  Time Now() const override { return now_.load(); }
  Time WallNow() const override { return Now() + wall_ahead_.load(); }
  void Set(Time now) { now_ = now; }
  void StepWall(Duration by) { wall_ahead_ = by; }

 private:
  std::atomic<Duration> wall_ahead_{Duration{0}};
  std::atomic<Time> now_{Time(std::chrono::hours(1000))};
};

// An event loop that the test's thread turns. Post() from any thread.
class HandLoop final : public client::EventLoop {
 public:
  void Post(std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
    changed_.notify_all();
  }
  std::function<void()> PostAfter(Duration, std::function<void()>) override {
    BERTH_CHECK(false, "the runner has no timers on the loop");
    return {};
  }
  bool IsCurrent() const override { return thread_.load() == std::this_thread::get_id(); }
  Time Now() const override { return Time{}; }
  Time WallNow() const override { return Now(); }

  // `work` as a callback of the loop.
  void Do(const std::function<void()>& work) {
    thread_ = std::this_thread::get_id();
    work();
    thread_ = std::thread::id();
  }
  // What was posted, and what that posts.
  void Run() {
    while (auto work = Next()) Do(work);
  }
  bool WaitForPost() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [this] { return !posted_.empty(); });
  }
  std::size_t posted() const {
    const std::lock_guard lock(mutex_);
    return posted_.size();
  }

 private:
  std::function<void()> Next() {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) return {};
    std::function<void()> work = std::move(posted_.front());
    posted_.pop_front();
    return work;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  std::atomic<std::thread::id> thread_;
};

// Answers turns as the test has said, or as a core that has nothing to do. Thread-safe.
class FakeCore final : public Core {
 public:
  struct Turn {
    TurnRequest request;
    std::size_t inputs = 0;
    bool is_tests_thread = false;
  };
  struct Answer {
    TurnResult result{};
    std::vector<std::string> events{};  // their notes
    std::function<void()> during{};     // what a plugin does in the turn
  };

  TurnResult TakeTurn(const TurnRequest& request, std::vector<scheduler::Input>& inputs,
                      std::vector<scheduler::Output>& outputs) override {
    const std::lock_guard lock(mutex_);
    turns_.push_back({request, inputs.size(), std::this_thread::get_id() == tests_thread_});
    inputs_ += inputs.size();
    inputs.clear();
    Answer answer;
    if (!answers_.empty()) {
      answer = std::move(answers_.front());
      answers_.pop_front();
    }
    if (answer.during) answer.during();
    for (std::string& note : answer.events) {
      scheduler::EmitEvent event;
      event.note = std::move(note);
      outputs.emplace_back(std::move(event));
    }
    changed_.notify_all();
    return answer.result;
  }

  // For the next turn; several are for the turns after it.
  void Say(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  bool WaitForTurns(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [&] { return turns_.size() >= count; });
  }
  bool WaitForInputs(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [&] { return inputs_ >= count; });
  }
  std::size_t turn_count() const {
    const std::lock_guard lock(mutex_);
    return turns_.size();
  }
  Turn Newest() const {
    const std::lock_guard lock(mutex_);
    return turns_.back();
  }
  // Forgets the turns so far.
  void Clear() {
    const std::lock_guard lock(mutex_);
    turns_.clear();
    inputs_ = 0;
  }

 private:
  const std::thread::id tests_thread_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Turn> turns_;
  std::size_t inputs_ = 0;
  std::deque<Answer> answers_;
};

scheduler::Input Any() { return scheduler::NodeGone{"n"}; }

class TurnRunnerTest : public ::testing::Test {
 protected:
  void PushOnLoop(std::size_t count = 1) {
    loop.Do([&] {
      for (std::size_t i = 0; i < count; ++i) runner.Push(Any());
    });
  }
  // Everything is listed, and nobody takes a turn.
  void StartResting() {
    runner.Start(core);
    runner.EndListing();
    // As long as the core's thread is awake it takes what comes.
    for (bool is_resting = false; !is_resting;) {
      const std::size_t before = core.turn_count();
      PushOnLoop();
      is_resting = loop.posted() > 0;
      ASSERT_TRUE(is_resting || core.WaitForTurns(before + 1));
    }
    loop.Run();
    ASSERT_TRUE(core.Newest().is_tests_thread);
    core.Clear();
  }

  HandLoop loop;
  StillClock clock;
  FakeCore core;
  std::vector<std::string> performed;
  std::function<void()> on_perform = [] {};
  std::atomic<int> caught_up = 0;
  TurnRunner runner{loop,
                    clock,
                    {.perform =
                         [this](scheduler::Output&& output) {
                           EXPECT_TRUE(loop.IsCurrent());
                           performed.push_back(std::get<scheduler::EmitEvent>(output).note);
                           on_perform();
                         },
                     .on_caught_up = [this] { ++caught_up; }}};
};

TEST_F(TurnRunnerTest, DecidesNothingBeforeEverythingIsListed) {
  runner.Push(Any());  // before it is started
  runner.Start(core);
  ASSERT_TRUE(core.WaitForInputs(1));
  EXPECT_FALSE(core.Newest().request.may_decide);
  EXPECT_FALSE(core.Newest().request.is_ending);
  PushOnLoop();
  EXPECT_EQ(loop.posted(), 0u) << "while lists come in the loop has enough to do";
  ASSERT_TRUE(core.WaitForInputs(2));
  EXPECT_FALSE(core.Newest().is_tests_thread);
  EXPECT_EQ(caught_up, 0);
  const std::size_t turns = core.turn_count();
  runner.EndListing();
  ASSERT_TRUE(core.WaitForTurns(turns + 1));
  EXPECT_TRUE(core.Newest().request.may_decide);
  EXPECT_FALSE(core.Newest().request.time_max.has_value());
}

TEST_F(TurnRunnerTest, AStandbyTakesInputsAndDecidesNothingUntilItLeadsAndHasListedAgain) {
  runner.StandBy();
  runner.Start(core);
  runner.EndListing();  // its first lists
  runner.Push(Any());
  ASSERT_TRUE(core.WaitForInputs(1));
  EXPECT_FALSE(core.Newest().request.may_decide);
  EXPECT_FALSE(core.Newest().request.is_ending);
  runner.Lead();
  runner.Push(Any());
  ASSERT_TRUE(core.WaitForInputs(2));
  EXPECT_FALSE(core.Newest().request.may_decide) << "what it knows may be older than its turn";
  EXPECT_EQ(caught_up, 0);
  const std::size_t turns = core.turn_count();
  runner.EndListing();
  ASSERT_TRUE(core.WaitForTurns(turns + 1));
  EXPECT_TRUE(core.Newest().request.may_decide);
}

TEST_F(TurnRunnerTest, AStandbyEndsAtOnce) {
  runner.StandBy();
  runner.Start(core);
  runner.Drain(std::chrono::seconds(30));
  runner.Lead();
  runner.EndListing();
  runner.Push(Any());
  ASSERT_TRUE(core.WaitForInputs(1));
  EXPECT_FALSE(core.Newest().request.may_decide);
}

TEST_F(TurnRunnerTest, DecidesNothingWhereItMayNot) {
  std::atomic<bool> may_decide = true;
  TurnRunner asked(
      loop, clock,
      {.perform = [](scheduler::Output&&) {}, .may_decide = [&] { return may_decide.load(); }, .on_caught_up = {}});
  asked.Start(core);
  asked.EndListing();
  ASSERT_TRUE(core.WaitForTurns(1));
  EXPECT_TRUE(core.Newest().request.may_decide);
  may_decide = false;
  asked.Push(Any());
  ASSERT_TRUE(core.WaitForInputs(1));
  EXPECT_FALSE(core.Newest().request.may_decide);
  asked.Stop();
  asked.Join();
}

TEST_F(TurnRunnerTest, ReportsOnceThatItHasCaughtUp) {
  core.Say({.result = {.has_more = true}});
  StartResting();
  EXPECT_EQ(caught_up, 1);
  runner.Push(Any());
  ASSERT_TRUE(core.WaitForTurns(1));
  runner.Stop();
  runner.Join();
  EXPECT_EQ(caught_up, 1);
}

TEST_F(TurnRunnerTest, AFewInputsOnTheLoopAreOneTurnOfTheLoop) {
  StartResting();
  PushOnLoop(3);
  EXPECT_EQ(loop.posted(), 1u);
  loop.Run();
  ASSERT_EQ(core.turn_count(), 1u);
  EXPECT_TRUE(core.Newest().is_tests_thread);
  EXPECT_EQ(core.Newest().inputs, 3u);
  EXPECT_EQ(core.Newest().request.time_max, std::optional(TurnRunner::kTurnOnLoopMax));
}

TEST_F(TurnRunnerTest, ALittleThatIsLeftIsTakenByTheLoopAgain) {
  StartResting();
  core.Say({.result = {.has_more = true}});
  core.Say({.result = {.has_more = true}});
  PushOnLoop();
  loop.Run();
  EXPECT_EQ(core.turn_count(), 3u);
  EXPECT_TRUE(core.Newest().is_tests_thread);
}

TEST_F(TurnRunnerTest, WhatOutputsBringAtOnceIsTakenByTheLoopAgain) {
  StartResting();
  core.Say({.events = {"a"}});
  on_perform = [this] { runner.Push(Any()); };
  PushOnLoop();
  loop.Run();
  ASSERT_EQ(core.turn_count(), 2u);
  EXPECT_EQ(core.Newest().inputs, 1u);
  EXPECT_TRUE(core.Newest().is_tests_thread);
}

TEST_F(TurnRunnerTest, HandsOverToTheCoresThread) {
  struct Case {
    const char* name;
    std::function<void()> act;
    std::size_t turns_on_loop;
  };
  const Case cases[] = {
      {"after a turn that took long",
       [this] {
         core.Say({.result = {.took_long = true}});
         PushOnLoop();
         loop.Run();
       },
       1},
      {"for an input from elsewhere", [this] { runner.Push(Any()); }, 0},
      {"for an input from elsewhere while a turn of the loop is due",
       [this] {
         PushOnLoop();
         runner.Push(Any());
       },
       0},
      {"for more inputs than a short turn takes", [this] { PushOnLoop(TurnRunner::kInputsOnLoopMax + 1); }, 0},
      {"when something is due by now, with nothing coming in",
       [this] {
         core.Say({.result = {.wake_at = clock.Now()}});
         PushOnLoop();
         loop.Run();
       },
       1},
  };
  StartResting();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    core.Clear();
    c.act();
    ASSERT_TRUE(core.WaitForTurns(c.turns_on_loop + 1));
    EXPECT_FALSE(core.Newest().is_tests_thread);
    EXPECT_FALSE(core.Newest().request.time_max.has_value());
    // Until the core's thread rests again.
    for (bool is_resting = false; !is_resting;) {
      loop.Run();
      const std::size_t before = core.turn_count();
      PushOnLoop();
      is_resting = loop.posted() > 0;
      ASSERT_TRUE(is_resting || core.WaitForTurns(before + 1));
    }
    loop.Run();
  }
}

TEST_F(TurnRunnerTest, SomebodyWhoLooksAtTheCoreDoesNotHoldTheLoopUp) {
  StartResting();
  std::promise<void> looking;
  std::promise<void> seen;
  auto looked = std::async(std::launch::async, [&] {
    runner.BetweenTurns([&] {
      looking.set_value();
      seen.get_future().wait();
    });
  });
  looking.get_future().wait();
  PushOnLoop();
  loop.Run();
  EXPECT_EQ(core.turn_count(), 0u);
  seen.set_value();
  ASSERT_TRUE(core.WaitForTurns(1));
  EXPECT_FALSE(core.Newest().is_tests_thread);
  looked.get();
}

TEST_F(TurnRunnerTest, WhoeverWaitsToLookComesBeforeTheNextTurnOfTheCoresThread) {
  StartResting();
  std::promise<void> looking;
  std::promise<void> seen;
  auto first = std::async(std::launch::async, [&] {
    runner.BetweenTurns([&] {
      looking.set_value();
      seen.get_future().wait();
      EXPECT_EQ(runner.TurnAge(), std::chrono::seconds(3));
      // This would wait for ever if the runner did not know that the thread is in a turn.
      for (std::size_t i = 0; i <= TurnRunner::kInputsMax; ++i) runner.Push(scheduler::NodeGone{});
    });
  });
  looking.get_future().wait();
  PushOnLoop();
  loop.Run();
  std::size_t turns_before_second = 99;
  auto second =
      std::async(std::launch::async, [&] { runner.BetweenTurns([&] { turns_before_second = core.turn_count(); }); });
  while (runner.look_count() < 2) std::this_thread::yield();
  clock.Set(clock.Now() + std::chrono::seconds(3));
  seen.set_value();
  first.get();
  second.get();
  EXPECT_EQ(turns_before_second, 0u);
  EXPECT_EQ(runner.TurnAge(), Duration{0});
  ASSERT_TRUE(core.WaitForTurns(1));
}

TEST_F(TurnRunnerTest, PerformsOutputsInOrderOnTheLoop) {
  StartResting();
  core.Say({.result = {.took_long = true}, .events = {"a", "b"}});
  core.Say({.events = {"c"}});
  PushOnLoop();
  loop.Run();
  // The core's thread may have posted the third before the loop had come to rest.
  while (performed.size() < 3) {
    ASSERT_TRUE(loop.WaitForPost());
    loop.Run();
  }
  EXPECT_EQ(performed, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(TurnRunnerTest, PassesTheCoreTheTimeOfDayApartFromItsTime) {
  StartResting();
  clock.StepWall(-std::chrono::hours(1));
  clock.Set(clock.Now() + std::chrono::seconds(5));
  PushOnLoop();
  loop.Run();
  EXPECT_EQ(core.Newest().request.now, clock.Now());
  EXPECT_EQ(core.Newest().request.wall_ahead, -std::chrono::hours(1));
}

TEST_F(TurnRunnerTest, HasSettledUntilSomethingComesIn) {
  StartResting();
  EXPECT_FALSE(runner.IsIdle());
  core.Say({.result = {.is_idle = true, .counts = {.scheduled = 7}}});
  PushOnLoop();
  loop.Run();
  EXPECT_TRUE(runner.IsIdle());
  EXPECT_EQ(runner.counts().scheduled, 7u);
  PushOnLoop();
  EXPECT_FALSE(runner.IsIdle());
}

TEST_F(TurnRunnerTest, DrainsUntilNoBindingIsUnderWay) {
  StartResting();
  core.Say({.result = {.has_open_writes = true}});
  auto drained = std::async(std::launch::async, [this] { runner.Drain(kTimeLimit); });
  ASSERT_TRUE(core.WaitForTurns(1));
  EXPECT_TRUE(core.Newest().request.is_ending);
  EXPECT_FALSE(core.Newest().request.may_decide);
  EXPECT_EQ(drained.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  // The binding's answer, on the loop; the core's thread takes what comes now.
  PushOnLoop();
  EXPECT_EQ(loop.posted(), 0u);
  EXPECT_EQ(drained.wait_for(kTimeLimit), std::future_status::ready);
}

TEST_F(TurnRunnerTest, DrainGivesUpAfterItsGrace) {
  StartResting();
  core.Say({.result = {.has_open_writes = true}});
  const auto begin = std::chrono::steady_clock::now();
  runner.Drain(std::chrono::milliseconds(20));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(20));
  EXPECT_LT(took, kTimeLimit);
  runner.Stop();
  EXPECT_FALSE(runner.IsSettled());
}

TEST_F(TurnRunnerTest, IsSettledAsTheLatestTurnOfTheEndKnows) {
  StartResting();
  EXPECT_FALSE(runner.IsSettled()) << "it is not ending";
  runner.Drain(kTimeLimit);
  EXPECT_TRUE(runner.IsSettled());
  // What had waited for time to pass goes on.
  core.Say({.result = {.has_open_writes = true}});
  const std::size_t turns = core.turn_count();
  PushOnLoop();
  ASSERT_TRUE(core.WaitForTurns(turns + 1));
  runner.Stop();
  runner.Join();
  EXPECT_FALSE(runner.IsSettled());
}

// A plugin that decides on a waiting pod in a turn would wait for itself.
TEST_F(TurnRunnerTest, WhoIsInATurnDoesNotWaitForRoom) {
  core.Say({.during = [this] {
    for (std::size_t i = 0; i <= TurnRunner::kInputsMax; ++i) runner.Push(Any());
  }});
  runner.Push(Any());
  runner.Start(core);
  EXPECT_TRUE(core.WaitForInputs(TurnRunner::kInputsMax + 2));
}

TEST_F(TurnRunnerTest, StopLetsGoOfWhoeverWaitsForRoom) {
  for (std::size_t i = 0; i < TurnRunner::kInputsMax; ++i) runner.Push(Any());  // nobody takes them
  auto pushed = std::async(std::launch::async, [this] { runner.Push(Any()); });
  EXPECT_EQ(pushed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  runner.Stop();
  EXPECT_EQ(pushed.wait_for(kTimeLimit), std::future_status::ready);
  runner.Push(Any());  // does not wait either
}

TEST(TurnRunnerOnLoop, TakesLongTurnsOnTheLoopAndWhenOneIsDue) {
  client::FakeLoop loop;
  FakeCore core;
  std::vector<std::string> performed;
  int caught_up = 0;
  TurnRunner runner(
      loop, loop,
      {.perform = [&](scheduler::Output&& output) { performed.push_back(std::get<scheduler::EmitEvent>(output).note); },
       .on_caught_up = [&] { ++caught_up; }},
      LongTurns::kOnLoop);
  runner.Start(core);
  EXPECT_FALSE(runner.IsRunning()) << "there is no thread";
  runner.Push(Any());
  EXPECT_EQ(core.turn_count(), 0u) << "not within the call";
  loop.Run();
  ASSERT_EQ(core.turn_count(), 1u);
  EXPECT_TRUE(core.Newest().is_tests_thread);
  EXPECT_FALSE(core.Newest().request.may_decide);

  core.Say({.result = {.has_more = true}, .events = {"first"}});
  core.Say({.result = {.wake_at = loop.Now() + std::chrono::seconds(5)}, .events = {"second"}});
  runner.EndListing();
  loop.Run();
  EXPECT_EQ(core.turn_count(), 3u);
  EXPECT_EQ(performed, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(caught_up, 1);

  loop.Advance(std::chrono::seconds(4));
  EXPECT_EQ(core.turn_count(), 3u);
  loop.Advance(std::chrono::seconds(1));
  EXPECT_EQ(core.turn_count(), 4u) << "at wake_at";

  core.Say({.result = {.wake_at = loop.Now() + std::chrono::seconds(5)}});
  runner.Push(Any());
  loop.Run();
  runner.Stop();
  runner.Join();
  EXPECT_EQ(loop.TimerCount(), 0u);
  loop.Advance(std::chrono::seconds(10));
  EXPECT_EQ(core.turn_count(), 5u);
}

}  // namespace
}  // namespace berth::runner
