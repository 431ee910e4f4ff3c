// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/release_watch.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::app {
namespace {

using namespace std::chrono_literals;

// Servers answer once a minute, and 1.36 is followed. "": no answer.
struct Rollout {
  const char* name;
  std::vector<std::string> answers;
  int at = -1;  // the index of the answer with which another release is due; -1: none
  int release = 0;
};

TEST(ServerReleases, TheOldestCountsWhenItHasSettled) {
  const Rollout kRollouts[] = {
      {"the same", {"v1.36.3", "v1.36.4", "v1.36.4", "v1.36.4"}, -1},
      {"an upgrade", {"v1.36.3", "v1.37.2", "v1.37.2", "v1.37.2", "v1.37.2"}, 3, 37},
      {"an upgrade with the server away meanwhile", {"", "", "", "v1.37.2"}, 3, 37},
      {"servers by turns",
       {"v1.37.2", "v1.36.3", "v1.37.2", "v1.37.2", "v1.36.3", "v1.37.2", "v1.37.2", "v1.37.2"},
       7,
       37},
      {"always by turns", {"v1.37.2", "v1.36.3", "v1.37.2", "v1.36.3", "v1.37.2", "v1.36.3", "v1.37.2", "v1.36.3"}, -1},
      {"two newer ones", {"v1.38.0", "v1.37.2", "v1.38.0", "v1.37.2"}, 2, 37},
      {"one step back", {"v1.35.4", "v1.35.4", "v1.35.4", "v1.35.4"}, 3, 35},
      {"one step back by turns", {"v1.35.4", "v1.36.3", "v1.36.3", "v1.35.4"}, 3, 35},
      {"one old answer", {"v1.35.4", "v1.36.3", "v1.36.3", "v1.36.3", "v1.36.3"}, -1},
      {"newer than all that is followed", {"v1.39.0", "v1.39.0", "v1.39.0"}, 2, 38},
      {"older than all that is followed", {"v1.33.1", "v1.33.1", "v1.33.1", "v1.33.1"}, 3, 34},
      {"a fork", {"v1.36.3-eks-abc+", "v1.36.3-eks-abc+", "v1.36.3-eks-abc+", "v1.36.3-eks-abc+"}, -1},
      {"no version", {"", "v2", "nonsense", "", "v1.", ""}, -1},
  };
  for (const Rollout& rollout : kRollouts) {
    Time now{};
    ServerReleases releases(36, 3min, now);
    int at = -1;
    for (std::size_t i = 0; i < rollout.answers.size() && at < 0; ++i) {
      now += 1min;
      if (const auto due = releases.Note(rollout.answers[i], now)) {
        at = static_cast<int>(i);
        EXPECT_EQ(*due, rollout.release) << rollout.name;
      }
    }
    EXPECT_EQ(at, rollout.at) << rollout.name;
  }
}

class ReleaseWatchTest : public ::testing::Test {
 protected:
  void Start(bool is_leading, Expected<void> check = {}) {
    ReleaseWatch::Ports ports;
    ports.ask_version = [this](const auto& done) { done("{\"gitVersion\":\"" + version_ + "\"}"); };
    ports.is_leading = [is_leading] { return is_leading; };
    ports.check = [check = std::move(check), this](int) {
      ++check_count_;
      return check;
    };
    ports.on_server = [this](int release) { server_ = release; };
    ports.begin_again = [this](int release, const std::string&) { begun_.push_back(release); };
    watch_ = std::make_shared<ReleaseWatch>(loop_, ReleaseWatch::Options{36, 5min}, std::move(ports));
    watch_->Start();
    loop_.Advance(1min);
    version_ = "v1.37.2";
  }

  client::FakeLoop loop_;
  std::string version_ = "v1.36.3";
  int server_ = 0;
  int check_count_ = 0;
  std::vector<int> begun_;
  std::shared_ptr<ReleaseWatch> watch_;
};

TEST_F(ReleaseWatchTest, AStandbyBeginsAgainWhenTheTimeIsOver) {
  Start(false);
  loop_.Advance(5min - 1s);
  EXPECT_TRUE(begun_.empty());
  EXPECT_EQ(server_, 36) << "1.36 has answered within five minutes";
  loop_.Advance(1min);
  EXPECT_EQ(begun_, std::vector<int>{37});
  EXPECT_EQ(server_, 37);
  loop_.Advance(60min);
  EXPECT_EQ(begun_.size(), 1u);
}

TEST_F(ReleaseWatchTest, TheLeaderLetsTheOthersGoFirst) {
  Start(true);
  loop_.Advance(7min);
  EXPECT_TRUE(begun_.empty());
  loop_.Advance(1min);
  EXPECT_EQ(begun_, std::vector<int>{37});
}

TEST_F(ReleaseWatchTest, WhatFlagsForbidIsNotFollowed) {
  Start(false, InvalidError("--feature-gates: NodeDeclaredFeatures is not known"));
  loop_.Advance(60min);
  EXPECT_TRUE(begun_.empty());
  EXPECT_EQ(check_count_, 1);
}

}  // namespace
}  // namespace berth::app
