// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_phases.h"

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

struct Stream final : net::StreamHandle {
  explicit Stream(int& open) : open_(open) { ++open_; }
  ~Stream() override { --open_; }
  void Cancel() override {}
  int& open_;
};

struct Owner {
  explicit Owner(EventLoop& loop) : phases(loop) {}
  ReflectorPhases phases;
};

class ReflectorPhasesTest : public ::testing::Test {
 protected:
  ReflectorPhasesTest() { owner_->phases.SetOwner(owner_); }
  auto Count() {
    return [this] { ++calls_; };
  }

  FakeLoop loop_;
  std::shared_ptr<Owner> owner_ = std::make_shared<Owner>(loop_);
  ReflectorPhases& phases_ = owner_->phases;
  int calls_ = 0;
};

TEST_F(ReflectorPhasesTest, ACallbackOfAnEarlierPhaseDoesNothing) {
  phases_.Begin();
  const auto callback = phases_.InPhase(Count());
  callback();
  EXPECT_EQ(calls_, 1);
  phases_.Begin();
  callback();
  EXPECT_EQ(calls_, 1);
}

TEST_F(ReflectorPhasesTest, NothingRunsOnceItIsStopped) {
  const std::uint64_t phase = phases_.Begin();
  const auto callback = phases_.InPhase(Count());
  phases_.Post(Count());
  phases_.ArmTimer(1s, Count());
  phases_.Stop();
  callback();
  loop_.Advance(10s);
  EXPECT_EQ(calls_, 0);
  EXPECT_FALSE(phases_.Is(phase));
  EXPECT_EQ(loop_.TimerCount(), 0U);
}

TEST_F(ReflectorPhasesTest, NothingRunsOnceTheOwnerHasGone) {
  phases_.Begin();
  const auto callback = phases_.InPhase(Count());
  phases_.Post(Count());
  owner_.reset();
  callback();
  loop_.Run();
  EXPECT_EQ(calls_, 0);
}

TEST_F(ReflectorPhasesTest, AWaitIsAPhaseOfItsOwn) {
  const std::uint64_t phase = phases_.Begin();
  phases_.After(3s, Count());
  EXPECT_FALSE(phases_.Is(phase));
  loop_.Advance(2s);
  EXPECT_EQ(calls_, 0);
  loop_.Advance(2s);
  EXPECT_EQ(calls_, 1);
}

TEST_F(ReflectorPhasesTest, AStreamLivesAsLongAsItsPhase) {
  int open = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  const auto on_loop = [&](const std::function<void()>& work) {
    phases_.Post(work);
    loop_.Run();
  };
  on_loop([&] {
    first = phases_.Begin();
    phases_.KeepStream(first, std::make_unique<Stream>(open));
  });
  EXPECT_EQ(open, 1);
  on_loop([&] { second = phases_.Begin(); });
  EXPECT_EQ(open, 0);
  on_loop([&] { phases_.KeepStream(first, std::make_unique<Stream>(open)); });
  EXPECT_EQ(open, 0);
  on_loop([&] { phases_.KeepStream(second, std::make_unique<Stream>(open)); });
  EXPECT_EQ(open, 1);
  phases_.Stop();
  EXPECT_EQ(open, 0);
}

// Another thread may be in a callback of the stream, with the stream's lock, on its way to this one.
TEST_F(ReflectorPhasesTest, AStreamIsClosedWithTheLockFree) {
  bool is_free = false;
  class Closing final : public net::StreamHandle {
   public:
    explicit Closing(std::function<void()> close) : close_(std::move(close)) {}
    ~Closing() override { close_(); }
    void Cancel() override {}

   private:
    std::function<void()> close_;
  };
  const auto try_lock = [&] {
    std::thread([&] {
      is_free = phases_.mutex().try_lock();
      if (is_free) phases_.mutex().unlock();
    }).join();
  };
  phases_.Post([&] { phases_.KeepStream(phases_.Begin(), std::make_unique<Closing>(try_lock)); });
  phases_.Post([&] { phases_.Begin(); });
  loop_.Run();
  EXPECT_TRUE(is_free);
}

TEST_F(ReflectorPhasesTest, ACallbackMayStopIt) {
  phases_.Begin();
  const auto callback = phases_.InPhase([this] {
    ++calls_;
    phases_.Stop();
  });
  callback();
  callback();
  EXPECT_EQ(calls_, 1);
}

}  // namespace
}  // namespace berth::client
