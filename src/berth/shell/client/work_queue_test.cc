// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/work_queue.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

class WorkQueueTest : public ::testing::Test {
 protected:
  void Make(int in_flight_max) {
    WorkQueueOptions options;
    options.in_flight_max = in_flight_max;
    queue = std::make_shared<WorkQueue>(loop, options, [this](const std::string& key, WorkQueue::Done done) {
      begun.push_back(key);
      running[key] = std::move(done);
    });
  }
  void Finish(const std::string& key, bool succeeded = true) {
    auto done = running.extract(key);
    ASSERT_FALSE(done.empty()) << key;
    done.mapped()(succeeded);
    loop.Run();
  }
  std::vector<std::string> Begun() {
    loop.Run();
    return std::exchange(begun, {});
  }

  using Keys = std::vector<std::string>;
  FakeLoop loop;
  std::shared_ptr<WorkQueue> queue;
  std::vector<std::string> begun;
  std::map<std::string, WorkQueue::Done> running;
};

TEST_F(WorkQueueTest, HandlesEachKeyOnceAndAgainWhenAddedMeanwhile) {
  Make(4);
  for (const char* key : {"a", "b", "a"}) queue->Add(key);
  EXPECT_EQ(Begun(), (Keys{"a", "b"}));
  queue->Add("a");
  queue->Add("a");
  EXPECT_EQ(Begun(), Keys{}) << "it is being handled";
  Finish("a");
  EXPECT_EQ(Begun(), Keys{"a"});
  Finish("a");
  Finish("b");
  EXPECT_EQ(Begun(), Keys{});
  EXPECT_EQ(queue->size(), 0u);
}

TEST_F(WorkQueueTest, BoundsWhatIsUnderWay) {
  Make(2);
  for (const char* key : {"a", "b", "c", "d"}) queue->Add(key);
  EXPECT_EQ(Begun(), (Keys{"a", "b"}));
  Finish("b");
  EXPECT_EQ(Begun(), Keys{"c"});
}

TEST_F(WorkQueueTest, FailuresWaitLongerEachTime) {
  Make(1);
  queue->Add("a");
  Duration before{};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(Begun(), Keys{"a"}) << i;
    Finish("a", false);
    queue->Add("a");
    EXPECT_EQ(Begun(), Keys{}) << "news do not shorten the back-off";
    const Duration wait = loop.UntilTimer();
    EXPECT_GE(wait, before / 2);
    EXPECT_LE(wait, 200ms * (1 << i));
    EXPECT_GE(wait, 100ms * (1 << i));
    before = wait;
    loop.Advance(wait);
  }
  ASSERT_EQ(Begun(), Keys{"a"});
  Finish("a");
  EXPECT_EQ(queue->size(), 0u);
  EXPECT_EQ(loop.TimerCount(), 0u);
}

TEST_F(WorkQueueTest, TheEarliestTimeWins) {
  Make(1);
  queue->AddAfter("a", 10s);
  queue->AddAfter("a", 2s);
  queue->AddAfter("a", 5s);
  loop.Advance(1900ms);
  EXPECT_EQ(Begun(), Keys{});
  loop.Advance(200ms);
  EXPECT_EQ(Begun(), Keys{"a"});
  queue->AddAfter("a", 3s);
  Finish("a");
  loop.Advance(2900ms);
  EXPECT_EQ(Begun(), Keys{});
  loop.Advance(200ms);
  EXPECT_EQ(Begun(), Keys{"a"});
  Finish("a");
  queue->AddAfter("b", 5s);
  queue->Add("b");
  EXPECT_EQ(Begun(), Keys{"b"});
  EXPECT_EQ(loop.TimerCount(), 0u);
}

TEST_F(WorkQueueTest, ManyThatEndAtOnceDoNotNest) {
  int handled = 0;
  int depth = 0;
  queue = std::make_shared<WorkQueue>(loop, WorkQueueOptions{.in_flight_max = 1},
                                      [&](const std::string&, const WorkQueue::Done& done) {
                                        EXPECT_EQ(++depth, 1);
                                        ++handled;
                                        done(true);
                                        --depth;
                                      });
  for (int i = 0; i < 1000; ++i) queue->Add(std::to_string(i));
  loop.Run();
  EXPECT_EQ(handled, 1000);
}

TEST_F(WorkQueueTest, NothingHappensAfterItsEnd) {
  Make(1);
  queue->Add("a");
  queue->AddAfter("b", 1s);
  EXPECT_EQ(Begun(), Keys{"a"});
  queue.reset();
  Finish("a");
  loop.Advance(5s);
  EXPECT_EQ(Begun(), Keys{});
}

}  // namespace
}  // namespace berth::client
