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
  void Feed(const PodBuilder& pod) {
    history->Take(scheduler::PodSet{std::make_shared<const api::Pod>(pod.Build())}, now);
  }
  const FirstPlacement& Placement(const std::string& name) { return history->placements().at("uid-default-" + name); }
  void Wait(Duration time) {
    now += time;
    history->AdvanceTo(now);
  }

  Time now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25};
  std::unique_ptr<History> history;
};

TEST_F(HistoryTest, ABindingOfTheRecordedSchedulerIsNotTakenOver) {
  Feed(MakePod("a").Request("cpu", "1"));
  history->AddRecorded("uid-default-a");
  Feed(MakePod("a").Request("cpu", "1").Node("small"));
  Wait(1s);
  EXPECT_EQ(Placement("a").key, "default/a");
  EXPECT_EQ(Placement("a").node, "large") << "which has more room";
  EXPECT_LE(Placement("a").placed - Placement("a").came, 1s);
  EXPECT_EQ(history->NodesInUse(), 1u);
}

TEST_F(HistoryTest, PodsThatOthersPlaceAreWhereTheyWere) {
  Feed(MakePod("a").Request("cpu", "1").Node("small"));
  Feed(MakePod("b").Request("cpu", "100m"));
  Wait(1s);
  EXPECT_EQ(history->placements().size(), 1u);
  EXPECT_EQ(Placement("b").node, "large");
  EXPECT_EQ(history->NodesInUse(), 2u);
}

TEST_F(HistoryTest, PodsGoAndMakeRoomForThoseThatWait) {
  Feed(MakePod("a").Request("cpu", "9"));
  Wait(1s);
  Feed(MakePod("b").Request("cpu", "9"));
  Wait(1min);
  EXPECT_EQ(Placement("b").node, "");
  history->Take(scheduler::PodGone{"default", "a", "uid-default-a"}, now);
  Wait(1min);
  EXPECT_EQ(Placement("b").node, "large");
  EXPECT_GE(Placement("b").placed - Placement("b").came, 1min);
}

// Its removal here is not undone by what its owner, or a kubelet, wrote in the recorded run afterwards.
TEST_F(HistoryTest, AnEvictedPodDoesNotComeBack) {
  Feed(MakePod("a").Request("cpu", "9").Priority(0));
  Wait(1s);
  Feed(MakePod("b").Request("cpu", "9").Priority(10));
  Wait(1min);
  EXPECT_EQ(Placement("b").node, "large");
  EXPECT_EQ(history->eviction_count(), 1u);
  Feed(MakePod("a").Request("cpu", "9").Priority(0).Label("more", "labels"));
  Wait(1min);
  EXPECT_EQ(history->NodesInUse(), 1u);
}

}  // namespace
}  // namespace berth::replay
