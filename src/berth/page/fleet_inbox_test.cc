// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_inbox.h"

#include <chrono>
#include <memory>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/page/page_testing.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

class StillClock final : public Clock {
 public:
  Time Now() const override { return now; }
  Time WallNow() const override { return now; }
  Time now = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
};

class FleetInboxTest : public ::testing::Test {
 protected:
  void SetPod(const std::string& name, const std::string& node, const std::string& uid = "") {
    auto pod = MakePod(name).Node(node).Request("cpu", "1");
    if (!uid.empty()) pod.Uid(uid);
    inbox_.SetPod(std::make_shared<const api::Pod>(pod.Build()));
  }

  StillClock clock_;
  Fleet fleet_{7};
  FleetInbox inbox_{fleet_, clock_};
};

TEST_F(FleetInboxTest, NothingChangesUntilItIsApplied) {
  inbox_.SetNode(MakeNode("a").Build());
  SetPod("web-1", "a");
  EXPECT_EQ(fleet_.counts().pods, 0U);
  inbox_.Apply();
  EXPECT_EQ(fleet_.counts().nodes, 1U);
  EXPECT_EQ(fleet_.counts().pods, 1U);
  EXPECT_EQ(inbox_.waiting_count(), 0U);
  inbox_.RemoveNode("a");
  inbox_.RemovePod("default", "web-1", "uid-default-web-1");
  inbox_.Apply();
  EXPECT_EQ(fleet_.counts().nodes, 0U);
  EXPECT_EQ(fleet_.counts().pods, 0U);
}

TEST_F(FleetInboxTest, WhatChangesSeveralTimesIsAppliedOnce) {
  const std::uint32_t before = fleet_.counts().revision;
  SetPod("web-1", "");
  SetPod("web-2", "");
  SetPod("web-1", "a");
  inbox_.Apply();
  EXPECT_EQ(fleet_.counts().revision, before + 2);
  EXPECT_EQ(fleet_.PodJson("default", "web-1")->at("node").as_string(), "a");
}

TEST_F(FleetInboxTest, ActivityIsWhatItWouldBeWithoutIt) {
  SetPod("web-1", "");
  SetPod("short", "");
  clock_.now += milliseconds(30);
  SetPod("web-1", "a");
  SetPod("short", "a");
  clock_.now += milliseconds(5);
  SetPod("web-1", "a");
  inbox_.RemovePod("default", "short", "uid-default-short");
  SetPod("later", "");
  inbox_.Apply();
  FleetActivity activity = fleet_.TakeActivity();
  EXPECT_EQ(activity.arrived, 3U);
  EXPECT_EQ(activity.bound, 2U) << "one of them has gone already";
  EXPECT_THAT(activity.waited, ElementsAre(milliseconds(30), milliseconds(30)));
  clock_.now += milliseconds(50);
  SetPod("later", "b");
  inbox_.RemovePod("default", "later", "uid-default-later");
  inbox_.Apply();
  activity = fleet_.TakeActivity();
  EXPECT_EQ(activity.arrived, 0U);
  EXPECT_THAT(activity.waited, ElementsAre(milliseconds(50)));
}

TEST_F(FleetInboxTest, HoldsNoMoreThanThereAreObjects) {
  for (std::size_t i = 0; i < 1'000; ++i) {
    SetPod("web-" + std::to_string(i % 100), i % 2 == 0 ? "a" : "b");
    inbox_.SetNode(MakeNode("a").Build());
    ASSERT_LE(inbox_.waiting_count(), 101U);
  }
  inbox_.Apply();
  EXPECT_EQ(fleet_.counts().pods, 100U);
  const FleetActivity activity = fleet_.TakeActivity();
  EXPECT_EQ(activity.bound, 100U);
}

TEST_F(FleetInboxTest, FreesAnOldStateWhenANewerOneComes) {
  auto old = std::make_shared<const api::Pod>(MakePod("web-1").Build());
  const std::weak_ptr<const api::Pod> seen = old;
  inbox_.SetPod(std::move(old));
  EXPECT_FALSE(seen.expired());
  SetPod("web-1", "a");
  EXPECT_TRUE(seen.expired());
}

// However changes are put together, the fleet is the one that gets them one by one.
TEST(FleetInboxPropertyTest, TheFleetIsTheSame) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return random() % bound; };
    StillClock clock;
    Fleet plain(7);
    Fleet fleet(7);
    FleetInbox inbox(fleet, clock);
    for (int step = 0; step < 400; ++step) {
      clock.now += milliseconds(below(20));
      const std::string node = "n" + std::to_string(below(5));
      const std::string name = "p" + std::to_string(below(10));
      const std::string uid = name + "-" + std::to_string(below(2));
      switch (below(5)) {
        case 0: {
          const auto made = MakeNode(node).Label("topology.kubernetes.io/zone", "z" + std::to_string(below(2))).Build();
          plain.SetNode(made);
          inbox.SetNode(made);
          break;
        }
        case 1:
          plain.RemoveNode(node);
          inbox.RemoveNode(node);
          break;
        case 2:
          plain.RemovePod("default", name, uid);
          inbox.RemovePod("default", name, uid);
          break;
        default: {
          // As an informer tells it, one has gone before another of its name comes.
          const std::string other = name + (uid.ends_with('0') ? "-1" : "-0");
          plain.RemovePod("default", name, other);
          inbox.RemovePod("default", name, other);
          auto made = MakePod(name).Uid(uid).Request("cpu", std::to_string(1 + below(3)));
          if (below(3) > 0) made.Node(node);
          const auto pod = std::make_shared<const api::Pod>(made.Build());
          plain.SetPod(pod, clock.now);
          inbox.SetPod(pod);
        }
      }
      if (below(10) != 0) continue;
      inbox.Apply();
      const FleetCopy want = plain.Copy();
      const FleetCopy got = fleet.Copy();
      ASSERT_EQ(got.pods, want.pods) << "seed " << seed << ", step " << step;
      ASSERT_EQ(got.nodes, want.nodes) << "seed " << seed << ", step " << step;
      for (const auto& each : want.nodes)
        ASSERT_EQ(fleet.NodeJson(each->metadata.name)->at("requested"),
                  plain.NodeJson(each->metadata.name)->at("requested"));
      const auto zones = [](const Fleet& of) {
        std::string text;
        for (const ZoneUse& use : of.UseByZone())
          text += use.zone + " " + std::to_string(use.nodes) + " " + std::to_string(use.cpu) + " " +
                  std::to_string(use.pods) + "\n";
        return text;
      };
      ASSERT_EQ(zones(fleet), zones(plain)) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::page
