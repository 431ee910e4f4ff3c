// SPDX-License-Identifier: Apache-2.0
#include "berth/replay/history.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/plugins/registry.h"
#include "berth/testing/builders.h"

namespace berth::replay {
namespace {

using namespace std::chrono_literals;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    whatif::OfflineOptions options;
    options.configuration = config::DefaultConfiguration();
    options.plugins = plugins::InTreePlugins();
    options.now = now;
    auto made = History::Make(std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    history = *std::move(made);
    history->Take(scheduler::NodeSet{MakeNode("small").Allocatable("cpu", "1").Build()}, now);
    history->Take(scheduler::NodeSet{MakeNode("large").Allocatable("cpu", "9").Build()}, now);
  }
  void Tell(const PodBuilder& pod) {
    history->Take(scheduler::PodSet{std::make_shared<const api::Pod>(pod.Build())}, now);
  }
  const PodFate& Fate(const std::string& name) { return history->fates().at("uid-default-" + name); }
  void Wait(Duration time) {
    now += time;
    history->AdvanceTo(now);
  }

  Time now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25};
  std::unique_ptr<History> history;
};

TEST_F(HistoryTest, ABindingOfTheRecordedSchedulerIsNotTakenOver) {
  Tell(MakePod("a").Request("cpu", "1"));
  history->AddRecorded("uid-default-a");
  Tell(MakePod("a").Request("cpu", "1").Node("small"));
  Wait(1s);
  EXPECT_EQ(Fate("a").key, "default/a");
  EXPECT_EQ(Fate("a").node, "large") << "which has more room";
  EXPECT_LE(Fate("a").placed - Fate("a").came, 1s);
  EXPECT_EQ(history->NodesInUse(), 1u);
}

TEST_F(HistoryTest, PodsThatOthersPlaceAreWhereTheyWere) {
  Tell(MakePod("a").Request("cpu", "1").Node("small"));
  Tell(MakePod("b").Request("cpu", "100m"));
  Wait(1s);
  EXPECT_EQ(history->fates().size(), 1u);
  EXPECT_EQ(Fate("b").node, "large");
  EXPECT_EQ(history->NodesInUse(), 2u);
}

TEST_F(HistoryTest, PodsGoAndMakeRoomForThoseThatWait) {
  Tell(MakePod("a").Request("cpu", "9"));
  Wait(1s);
  Tell(MakePod("b").Request("cpu", "9"));
  Wait(1min);
  EXPECT_EQ(Fate("b").node, "");
  history->Take(scheduler::PodGone{"default", "a", "uid-default-a"}, now);
  Wait(1min);
  EXPECT_EQ(Fate("b").node, "large");
  EXPECT_GE(Fate("b").placed - Fate("b").came, 1min);
}

// Its removal here is not undone by what its owner, or a kubelet, wrote in the recorded run afterwards.
TEST_F(HistoryTest, AnEvictedPodDoesNotComeBack) {
  Tell(MakePod("a").Request("cpu", "9").Priority(0));
  Wait(1s);
  Tell(MakePod("b").Request("cpu", "9").Priority(10));
  Wait(1min);
  EXPECT_EQ(Fate("b").node, "large");
  EXPECT_EQ(history->eviction_count(), 1u);
  Tell(MakePod("a").Request("cpu", "9").Priority(0).Label("more", "labels"));
  Wait(1min);
  EXPECT_EQ(history->NodesInUse(), 1u);
}

}  // namespace
}  // namespace berth::replay
