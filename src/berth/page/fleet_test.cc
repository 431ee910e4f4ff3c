// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet.h"

#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/page/fleet_frame.h"
#include "berth/page/page_testing.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;

constexpr std::uint32_t kEpoch = 7;
constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

std::shared_ptr<const api::Pod> Built(const testing::PodBuilder& pod) {
  return std::make_shared<const api::Pod>(pod.Build());
}

testing::PodBuilder WebPod(const std::string& name) {
  return MakePod(name)
      .Label("app", "web")
      .Label("pod-template-hash", "5c7")
      .Controller("apps/v1", "ReplicaSet", "web-5c7")
      .Request("cpu", "500m")
      .Request("memory", "1Gi");
}

TEST(FleetTest, FrameHasWhatTheContractSays) {
  Fleet fleet(kEpoch);
  fleet.SetNode(MakeNode("a")
                    .Label("topology.kubernetes.io/zone", "z1")
                    .Label("pool", "big")
                    .Annotation("berth.dev/price", "0.25")
                    .Allocatable("example.com/gpu", "8")
                    .Taint("gpu", "yes", api::TaintEffect::kNoSchedule)
                    .Unschedulable()
                    .Build());
  fleet.SetPod(Built(WebPod("web-1").Node("a").Priority(5).Request("example.com/gpu", "2")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-2").Gate("later")), std::nullopt);
  fleet.SetPod(Built(MakePod("<b>\xF0\x9F\x9A\xA2").Node("gone")), std::nullopt);
  const FrameReader frame(fleet.Frame().bytes);
  EXPECT_EQ(frame.directory.at("kind").as_string(), "full");
  EXPECT_EQ(frame.directory.at("epoch").to_number<int>(), 7);
  EXPECT_EQ(codec::WriteJson(frame.directory.at("resources")),
            R"(["cpu","memory","example.com/gpu","ephemeral-storage","pods"])");
  EXPECT_EQ(codec::WriteJson(frame.directory.at("podResources")), R"(["cpu","memory","example.com/gpu"])");
  EXPECT_EQ(codec::WriteJson(frame.directory.at("labelKeys")), R"(["pool","topology.kubernetes.io/zone"])");
  EXPECT_THAT(frame.Texts("node.name"), ElementsAre("a", "gone"));
  EXPECT_THAT(frame.Texts("node.zone"), ElementsAre("z1", ""));
  EXPECT_THAT(frame.Texts("node.pool"), ElementsAre("big", ""));
  EXPECT_THAT(frame.Texts("node.taints"), ElementsAre("gpu=yes:NoSchedule", ""));
  EXPECT_THAT(frame.Texts("node.labels"), ElementsAre("big", "z1", "", ""));
  EXPECT_THAT(frame.Column<std::uint16_t>("node.flags"),
              ElementsAre(node_flags::kCordoned | node_flags::kTainted, node_flags::kUnknown));
  EXPECT_EQ(frame.Column<double>("node.price").at(0), 0.25);
  EXPECT_TRUE(std::isnan(frame.Column<double>("node.price").at(1)));
  EXPECT_THAT(frame.Column<double>("node.allocatable"), ElementsAre(4000, 32.0 * (1 << 30), 8, 0, 110, 0, 0, 0, 0, 0));
  EXPECT_THAT(frame.Column<double>("node.requested"), ElementsAre(500, 1 << 30, 2, 0, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(frame.Texts("pod.name"), ElementsAre("web-1", "web-2", "<b>\xF0\x9F\x9A\xA2"));
  const auto node_ids = frame.Column<std::uint32_t>("node.id");
  EXPECT_THAT(frame.Column<std::uint32_t>("pod.node"), ElementsAre(node_ids[0], kNoRow, node_ids[1]));
  EXPECT_THAT(frame.Column<std::uint32_t>("pod.owner"), ElementsAre(0, 0, 1));
  EXPECT_THAT(frame.Texts("owner.kind"), ElementsAre("Deployment", "Pod"));
  EXPECT_THAT(frame.Texts("owner.name"), ElementsAre("web", "<b>\xF0\x9F\x9A\xA2"));
  EXPECT_THAT(frame.Column<std::int32_t>("pod.priority"), ElementsAre(5, 0, 0));
  EXPECT_EQ(frame.Column<std::uint16_t>("pod.flags").at(1) & pod_flags::kGated, pod_flags::kGated);
  EXPECT_THAT(frame.Column<double>("pod.requests"), ElementsAre(500, 1 << 30, 2, 500, 1 << 30, 0, 0, 0, 0));
  EXPECT_THAT(frame.Texts("pod.labels"),
              ElementsAre("app=web,pod-template-hash=5c7", "app=web,pod-template-hash=5c7", ""));
}

TEST(FleetTest, EmptyCluster) {
  Fleet fleet(kEpoch);
  const FrameReader frame(fleet.Frame().bytes);
  EXPECT_THAT(frame.Column<std::uint32_t>("node.id"), IsEmpty());
  EXPECT_THAT(frame.Column<std::uint32_t>("pod.id"), IsEmpty());
  EXPECT_EQ(frame.Text(0), "");
}

TEST(FleetTest, DeltaHasWhatChangedAndNothingElse) {
  Fleet fleet(kEpoch);
  fleet.SetNode(MakeNode("a").Build());
  fleet.SetNode(MakeNode("b").Build());
  fleet.SetPod(Built(WebPod("web-1").Node("a")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-2")), std::nullopt);
  const std::uint32_t base = fleet.Frame().revision;
  EXPECT_THAT(FrameReader(fleet.Delta(base)->bytes).Column<std::uint32_t>("pod.id"), IsEmpty());

  fleet.SetPod(Built(WebPod("web-2").Node("b")), kNow);
  fleet.RemovePod("default", "web-1", "uid-default-web-1");
  const FrameReader delta(fleet.Delta(base)->bytes);
  EXPECT_EQ(delta.directory.at("kind").as_string(), "delta");
  EXPECT_EQ(delta.directory.at("base").to_number<std::uint32_t>(), base);
  EXPECT_THAT(delta.Texts("pod.name"), ElementsAre("web-2"));
  EXPECT_THAT(delta.Column<std::uint32_t>("node.id"), IsEmpty()) << "of the nodes only what is requested has changed";
  const auto node_ids = FrameReader(fleet.Frame().bytes).Column<std::uint32_t>("node.id");
  EXPECT_EQ(delta.Column<std::uint32_t>("use.node"), node_ids);
  EXPECT_THAT(delta.Column<std::uint32_t>("use.podCount"), ElementsAre(0, 1));
  EXPECT_THAT(delta.Column<double>("use.requested"), ElementsAre(0, 0, 0, 0, 500, 1 << 30, 0, 1));
  EXPECT_EQ(delta.Column<std::uint32_t>("pod.removed").size(), 1U);
  EXPECT_THAT(delta.Column<std::uint32_t>("node.removed"), IsEmpty());
}

TEST(FleetTest, DeltasOfSeveralReadersLeadToOneRevision) {
  Fleet fleet(kEpoch);
  fleet.SetNode(MakeNode("a").Build());
  const std::uint32_t first = fleet.Frame().revision;
  fleet.SetPod(Built(WebPod("web-1").Node("a")), std::nullopt);
  const std::uint32_t second = fleet.counts().revision;
  fleet.SetPod(Built(WebPod("web-2").Node("a")), std::nullopt);
  const std::uint32_t now = fleet.counts().revision;
  const Fleet::Deltas deltas = fleet.DeltasSince({first, second, now, now + 1});
  EXPECT_EQ(deltas.revision, now);
  ASSERT_EQ(deltas.since.size(), 2U) << "who has all needs none, and who has what never was needs a frame";
  EXPECT_EQ(deltas.since.at(first), fleet.Delta(first)->bytes);
  EXPECT_THAT(FrameReader(deltas.since.at(second)).Texts("pod.name"), ElementsAre("web-2"));
}

TEST(FleetTest, ANodeThatChangesItselfIsARowOfItsOwn) {
  Fleet fleet(kEpoch);
  fleet.SetNode(MakeNode("a").Build());
  const std::uint32_t base = fleet.Frame().revision;
  fleet.SetPod(Built(WebPod("web-1").Node("a")), std::nullopt);
  fleet.SetNode(MakeNode("a").Unschedulable().Build());
  fleet.SetPod(Built(WebPod("web-2").Node("a")), std::nullopt);
  const FrameReader delta(fleet.Delta(base)->bytes);
  EXPECT_THAT(delta.Texts("node.name"), ElementsAre("a"));
  EXPECT_THAT(delta.Column<std::uint32_t>("node.podCount"), ElementsAre(2));
  EXPECT_THAT(delta.Column<std::uint32_t>("use.node"), IsEmpty());
}

TEST(FleetTest, ZonesAreAsFullAsTheirNodes) {
  const auto zone = [](const char* name) { return MakeNode("a").Label("topology.kubernetes.io/zone", name); };
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(WebPod("web-1").Node("a")), std::nullopt);
  EXPECT_THAT(fleet.UseByZone(), IsEmpty()) << "of which zone it is nobody knows";
  fleet.SetNode(zone("z1").Build());
  fleet.SetNode(MakeNode("b").Build());
  fleet.SetPod(Built(WebPod("web-2").Node("a")), std::nullopt);
  auto uses = fleet.UseByZone();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].zone, "");
  EXPECT_EQ(uses[0].cpu, 0);
  EXPECT_EQ(uses[1].zone, "z1");
  EXPECT_EQ(uses[1].nodes, 1U);
  EXPECT_EQ(uses[1].cpu, 0.25);
  EXPECT_EQ(uses[1].pods, 2.0 / 110);
  fleet.SetNode(zone("z2").Allocatable("cpu", "2").Build());
  uses = fleet.UseByZone();
  ASSERT_EQ(uses.size(), 2U) << "z1 has no node any more";
  EXPECT_EQ(uses[1].zone, "z2");
  EXPECT_EQ(uses[1].cpu, 0.5);
  fleet.RemovePod("default", "web-1", "uid-default-web-1");
  EXPECT_EQ(fleet.UseByZone()[1].cpu, 0.25);
  fleet.RemoveNode("a");
  EXPECT_EQ(fleet.UseByZone().size(), 1U);
}

TEST(FleetTest, ANewLabelOrResourceNeedsAWholeFrame) {
  Fleet fleet(kEpoch);
  fleet.SetNode(MakeNode("a").Label("rack", "1").Build());
  const std::uint32_t base = fleet.Frame().revision;
  fleet.SetNode(MakeNode("b").Label("rack", "2").Build());
  EXPECT_TRUE(fleet.Delta(base).has_value()) << "the label is known";
  fleet.SetNode(MakeNode("c").Label("row", "2").Build());
  EXPECT_FALSE(fleet.Delta(base).has_value());
  const std::uint32_t next = fleet.Frame().revision;
  fleet.SetNode(MakeNode("d").Allocatable("example.com/gpu", "1").Build());
  EXPECT_FALSE(fleet.Delta(next).has_value());
  EXPECT_FALSE(fleet.Delta(fleet.counts().revision + 1).has_value()) << "a revision that has not been";
}

TEST(FleetTest, TooManyChangesNeedAWholeFrame) {
  Fleet fleet(kEpoch);
  const auto pod = Built(WebPod("web-1"));
  fleet.SetPod(pod, std::nullopt);
  const std::uint32_t base = fleet.Frame().revision;
  for (std::size_t i = 0; i <= Fleet::kChangesMax / 2; ++i) {
    fleet.RemovePod("default", "web-1", "uid-default-web-1");
    fleet.SetPod(pod, std::nullopt);
  }
  EXPECT_FALSE(fleet.Delta(base).has_value());
  EXPECT_TRUE(fleet.Delta(fleet.counts().revision).has_value());
}

TEST(FleetTest, OfManyPodsAFrameHasNumbersAlone) {
  Fleet fleet(kEpoch, 3);
  fleet.SetNode(MakeNode("a").Build());
  fleet.SetNode(MakeNode("b").Build());
  for (int i = 0; i < 3; ++i) fleet.SetPod(Built(WebPod("web-" + std::to_string(i)).Node("a")), std::nullopt);
  const std::uint32_t base = fleet.Frame().revision;
  fleet.SetPod(Built(WebPod("web-3")), std::nullopt);
  EXPECT_FALSE(fleet.Delta(base).has_value()) << "a reader has rows of pods";
  const Fleet::Framed whole = fleet.Frame();
  const FrameReader frame(whole.bytes);
  EXPECT_TRUE(frame.directory.at("aggregated").as_bool());
  EXPECT_FALSE(frame.Has("pod.id"));
  EXPECT_THAT(frame.Column<std::uint32_t>("node.podCount"), ElementsAre(3, 0));
  EXPECT_THAT(frame.Column<std::uint32_t>("group.count"), ElementsAre(1)) << "those that wait";
  EXPECT_THAT(frame.Column<std::uint32_t>("group.node"), ElementsAre(kNoRow));
  EXPECT_EQ(frame.Column<double>("group.requests").at(0), 500);
  EXPECT_THAT(frame.Texts("owner.name"), ElementsAre("web"));
  EXPECT_THAT(frame.Column<std::uint32_t>("owner.podCount"), ElementsAre(4));

  fleet.SetPod(Built(WebPod("web-4").Node("b")), std::nullopt);
  const FrameReader bound(fleet.Delta(whole.revision)->bytes);
  EXPECT_THAT(bound.Column<std::uint32_t>("use.node"), ElementsAre(frame.Column<std::uint32_t>("node.id").at(1)));
  EXPECT_THAT(bound.Column<std::uint32_t>("use.podCount"), ElementsAre(1));
  EXPECT_FALSE(bound.Has("group.node")) << "nothing else waits than before";
  fleet.SetPod(Built(WebPod("web-3").Node("b")), std::nullopt);
  EXPECT_THAT(FrameReader(fleet.Delta(whole.revision)->bytes).Column<std::uint32_t>("group.node"), IsEmpty());
  const std::uint32_t before = fleet.counts().revision;
  for (const char* const name : {"web-3", "web-4"})
    fleet.RemovePod("default", name, "uid-default-" + std::string(name));
  EXPECT_FALSE(fleet.Delta(before).has_value()) << "a reader has no rows of pods";
  EXPECT_TRUE(FrameReader(fleet.Frame().bytes).Has("pod.id"));
}

TEST(FleetTest, APartHasThePodsOfSomeNodes) {
  Fleet fleet(kEpoch, 1);
  for (const char* const name : {"a", "b", "c"}) fleet.SetNode(MakeNode(name).Build());
  fleet.SetPod(Built(WebPod("web-1").Node("a")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-2").Node("b")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-3").Node("c")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-1").Node("b")), std::nullopt);
  const FrameReader frame(fleet.Frame().bytes);
  const auto ids = frame.Column<std::uint32_t>("node.id");
  const FrameReader part(fleet.Part({ids[0], ids[1], 12'345}).bytes);
  EXPECT_EQ(part.directory.at("kind").as_string(), "part");
  EXPECT_EQ(part.directory.at("revision").to_number<std::uint32_t>(), fleet.counts().revision);
  EXPECT_THAT(part.Column<std::uint32_t>("part.node"), ElementsAre(ids[0], ids[1], 12'345));
  EXPECT_THAT(part.Texts("pod.name"), ::testing::UnorderedElementsAre("web-1", "web-2"));
  EXPECT_THAT(part.Column<std::uint32_t>("pod.node"), ElementsAre(ids[1], ids[1]));
  EXPECT_THAT(part.Texts("owner.name"), ElementsAre("web"));
}

TEST(FleetTest, APartTakesNoMoreNodesThanItsBounds) {
  Fleet fleet(kEpoch);
  std::vector<RowId> many(Fleet::kPartNodesMax + 5, 0);
  const FrameReader part(fleet.Part(many).bytes);
  EXPECT_EQ(part.Column<std::uint32_t>("part.node").size(), Fleet::kPartNodesMax);
}

TEST(FleetTest, PodsAreFoundByNameNamespaceAndLabels) {
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(WebPod("web")), std::nullopt);
  fleet.SetPod(Built(WebPod("a-web-1").Label("Tier", "Front").Node("a")), std::nullopt);
  fleet.SetPod(Built(WebPod("webhook")), std::nullopt);
  fleet.SetPod(Built(MakePod("db")), std::nullopt);
  const auto names = [&](std::string_view text, std::size_t count_max = 8) {
    std::vector<std::string> found;
    for (const auto& pod : fleet.PodsLike(text, count_max)) found.emplace_back(pod.at("name").as_string());
    return found;
  };
  EXPECT_THAT(names("web"), ElementsAre("web", "webhook", "a-web-1")) << "the name itself first, then its beginning";
  EXPECT_THAT(names("WEB", 1), ElementsAre("web"));
  EXPECT_THAT(names("tier=front"), ElementsAre("a-web-1"));
  EXPECT_THAT(names("default/ app=web hook"), ElementsAre("webhook"));
  EXPECT_THAT(names("nothing"), IsEmpty());
  EXPECT_THAT(names("  "), IsEmpty());
}

TEST(FleetTest, WhoSchedulesAndWhatWaits) {
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(WebPod("web-2")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-1").SchedulerName("other")), std::nullopt);
  fleet.SetPod(Built(WebPod("web-3").Node("a")), std::nullopt);
  EXPECT_THAT(fleet.SchedulerNames(16), ElementsAre("default-scheduler", "other"));
  EXPECT_THAT(fleet.SchedulerNames(1), ElementsAre("default-scheduler"));
  const auto waiting = fleet.CopyWaiting().pods;
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0]->metadata.name, "web-1");
  fleet.RemovePod("default", "web-1", "uid-default-web-1");
  EXPECT_THAT(fleet.SchedulerNames(16), ElementsAre("default-scheduler"));
  EXPECT_EQ(fleet.CopyWaiting().pods.size(), 1U);
}

TEST(FleetTest, AnotherPodOfTheNameIsAnotherRow) {
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(MakePod("db-0").Uid("first").Node("a")), std::nullopt);
  const auto before = FrameReader(fleet.Frame().bytes).Column<std::uint32_t>("pod.id");
  fleet.SetPod(Built(MakePod("db-0").Uid("second")), std::nullopt);
  EXPECT_NE(FrameReader(fleet.Frame().bytes).Column<std::uint32_t>("pod.id"), before);
  EXPECT_THAT(FrameReader(fleet.Frame().bytes).Texts("node.name"), IsEmpty()) << "only the first one named it";
  fleet.RemovePod("default", "db-0", "first");
  EXPECT_EQ(fleet.counts().pods, 1U) << "that one was gone already";
}

TEST(FleetTest, ActivityCountsWhatComesAndIsBound) {
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(WebPod("old")), std::nullopt);
  fleet.SetPod(Built(WebPod("new")), kNow);
  fleet.SetPod(Built(WebPod("new").Node("a")), kNow + milliseconds(30));
  fleet.SetPod(Built(WebPod("old").Node("a")), kNow + milliseconds(40));
  fleet.SetPod(Built(WebPod("old").Node("a").Label("x", "y")), kNow + milliseconds(50));
  const FleetActivity activity = fleet.TakeActivity();
  EXPECT_EQ(activity.arrived, 1U);
  EXPECT_EQ(activity.bound, 2U);
  EXPECT_THAT(activity.waited, ElementsAre(milliseconds(30))) << "nobody saw when the other came";
  EXPECT_EQ(fleet.TakeActivity().bound, 0U);
  EXPECT_EQ(fleet.counts().pending, 0U);
}

// A reader that applies deltas has what a reader of a whole frame has, whatever happens in between.
TEST(FleetTest, ACopyIsInTheOrderOfTheApiServersLists) {
  Fleet fleet(kEpoch);
  for (const char* name : {"n2", "n10", "n1"}) fleet.SetNode(MakeNode(name).Build());
  for (const char* name : {"web-b", "web-c", "web-a"}) fleet.SetPod(Built(WebPod(name)), kNow);
  const FleetCopy copy = fleet.Copy();
  std::vector<std::string> names;
  for (const auto& node : copy.nodes) names.push_back(node->metadata.name);
  for (const auto& pod : copy.pods) names.push_back(pod->metadata.name);
  EXPECT_EQ(names, (std::vector<std::string>{"n1", "n10", "n2", "web-a", "web-b", "web-c"}));
}

TEST(FleetTest, APodOfAGroupNamesIt) {
  Fleet fleet(kEpoch);
  fleet.SetPod(Built(WebPod("worker").InGroup("training")), kNow);
  fleet.SetPod(Built(WebPod("alone")), kNow);
  EXPECT_EQ(fleet.PodJson("default", "worker")->at("group").as_string(), "training");
  EXPECT_FALSE(fleet.PodJson("default", "alone")->contains("group"));
}

TEST(FleetPropertyTest, DeltasAddUpToTheFrame) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return random() % bound; };
    Fleet fleet(kEpoch);
    FrameModel model;
    std::uint32_t revision = 0;
    for (int step = 0; step < 300; ++step) {
      const std::string node = "n" + std::to_string(below(6));
      const std::string name = "p" + std::to_string(below(12));
      const std::string uid = name + "-" + std::to_string(below(2));
      switch (below(5)) {
        case 0: fleet.SetNode(below(2) == 0 ? MakeNode(node).Build() : MakeNode(node).Unschedulable().Build()); break;
        case 1: fleet.RemoveNode(node); break;
        case 2: fleet.RemovePod("default", name, uid); break;
        default: {
          auto pod = WebPod(name).Uid(uid).Request("cpu", std::to_string(1 + below(3)));
          if (below(3) > 0) pod.Node(node);
          if (below(4) == 0) pod.Deleted(kNow);
          fleet.SetPod(Built(pod), kNow);
        }
      }
      if (below(4) != 0) continue;
      const auto delta = fleet.Delta(revision);
      const Fleet::Framed next = delta ? *delta : fleet.Frame();
      model.Apply(FrameReader(next.bytes));
      revision = next.revision;
      FrameModel whole;
      whole.Apply(FrameReader(fleet.Frame().bytes));
      ASSERT_EQ(model.nodes, whole.nodes) << "seed " << seed << ", step " << step;
      ASSERT_EQ(model.use, whole.use) << "seed " << seed << ", step " << step;
      ASSERT_EQ(model.pods, whole.pods) << "seed " << seed << ", step " << step;
      std::size_t pending = 0;
      for (const auto& pod : fleet.Copy().pods)
        pending += pod->spec.node_name.empty() && !pod->metadata.deletion_time ? 1 : 0;
      ASSERT_EQ(fleet.counts().pending, pending);
    }
  }
}

}  // namespace
}  // namespace berth::page
