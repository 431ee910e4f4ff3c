// SPDX-License-Identifier: Apache-2.0
// Outside data: a plugin's sources, the effect of an answer on kept verdicts, and which pods are tried again.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using framework::Cycle;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;

struct Closed final : framework::OutsideData {
  std::string node;  // the only refused node
};

// Refuses one node, which outside data names, and counts the calls per node.
class Gate final : public framework::FilterPlugin,
                   public framework::OutsideDataReader,
                   public framework::EnqueueExtensions,
                   public framework::AnnotationReader {
 public:
  std::string_view Name() const override { return "Gate"; }
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    ++asked[node.name()];
    asked_at = cycle.wall_now;
    annotations = pod.pod_class->annotations;
    return node.name() == closed_ ? Status::Unschedulable("closed") : Status();
  }
  std::vector<framework::OutsideSource> OutsideSources() const override {
    framework::OutsideSource source;
    source.name = "doors";
    source.url = "http://doors";
    return {source};
  }
  framework::OutsideChange OnOutsideData(std::size_t,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) override {
    received_at = wall_now;
    if (!data.ok()) {
      last_error = data.error().message;
      if (data.error().message == "throw") throw std::runtime_error("oops");
      return {};
    }
    const std::string before = std::exchange(closed_, static_cast<const Closed&>(**data).node);
    if (before == closed_) return {};
    return {false, {before, closed_}};
  }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override {
    return {framework::OutsideDataEvent(Name())};
  }
  std::vector<std::string> PodAnnotationsRead() const override { return {"door"}; }

  mutable std::map<std::string, int> asked;
  mutable api::StringMap annotations;
  mutable Time asked_at{};
  std::string last_error;
  Time received_at{};

 private:
  std::string closed_;
};

class OutsideTest : public ::testing::Test {
 protected:
  OutsideTest() {
    Profiles profiles = DefaultProfiles();
    auto gate_owned = std::make_shared<Gate>();
    gate = gate_owned.get();
    profiles.front()->owned.push_back(gate_owned);
    profiles.front()->filter.push_back(gate);
    harness = std::make_unique<Harness>(std::move(profiles));
  }
  void Say(std::string closed) {
    auto data = std::make_shared<Closed>();
    data->node = std::move(closed);
    harness->core.Handle(OutsideDone{0, std::shared_ptr<const framework::OutsideData>(data)}, harness->now);
  }
  void Fail(std::string message) {
    harness->core.Handle(OutsideDone{0, Error{ErrorCode::kTimeout, std::move(message)}}, harness->now);
  }

  Gate* gate = nullptr;
  std::unique_ptr<Harness> harness;
};

// Plugins compare times written by others with the time of day. Waits in the core do not depend on it.
TEST_F(OutsideTest, PluginsGetTheTimeOfDay) {
  const Duration ahead = -std::chrono::hours(1);
  harness->core.SetWallAhead(ahead);
  Say("n2");
  EXPECT_EQ(gate->received_at, harness->now + ahead);
  harness->Set(testing::MakeNode("n1"));
  harness->Set(testing::MakePod("p"));
  EXPECT_TRUE(harness->core.ScheduleOne(harness->now));
  EXPECT_EQ(gate->asked_at, harness->now + ahead);
}

TEST_F(OutsideTest, SourcesAreListedWithWhoAsks) {
  const auto& sources = harness->core.outside_sources();
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].scheduler_name, "default-scheduler");
  EXPECT_EQ(sources[0].plugin, "Gate");
  EXPECT_EQ(sources[0].source.url, "http://doors");
}

TEST_F(OutsideTest, ASourceIsHeardWhenItHasAnsweredOrFailed) {
  EXPECT_TRUE(Harness().core.HasHeardOutside()) << "nobody is asked";
  EXPECT_FALSE(harness->core.HasHeardOutside());
  Fail("no answer");
  EXPECT_TRUE(harness->core.HasHeardOutside());
  Say("a");
  EXPECT_TRUE(harness->core.HasHeardOutside());
}

TEST_F(OutsideTest, AnAnswerDropsTheVerdictsOfItsNodesAndNoOthers) {
  for (const char* name : {"a", "b", "c"}) harness->Set(testing::MakeNode(name));
  harness->Set(testing::MakePod("p1"));
  harness->Set(testing::MakePod("p2"));
  harness->Run();  // the second pod of the class: its verdicts are kept
  gate->asked.clear();
  Say("b");
  harness->Set(testing::MakePod("p3"));
  harness->Run();
  EXPECT_GE(gate->asked["b"], 1);
  harness->Set(testing::MakePod("p4"));
  gate->asked.clear();
  Say("b");  // the same answer again
  harness->Run();
  EXPECT_EQ(gate->asked["b"], 0);
}

TEST_F(OutsideTest, ARefusedPodIsTriedAgainWhenTheDataChange) {
  harness->Set(testing::MakeNode("a"));
  Say("a");
  harness->Set(testing::MakePod("p"));
  harness->Run();
  EXPECT_EQ(harness->core.queue().unschedulable_count(), 1U);
  Fail("no answer");
  EXPECT_EQ(gate->last_error, "no answer");
  Say("a");
  EXPECT_EQ(harness->core.queue().unschedulable_count(), 1U) << "nothing has changed for it";
  Say("z");
  EXPECT_EQ(harness->core.queue().unschedulable_count(), 0U);
  harness->Run(std::chrono::seconds(2));
  EXPECT_EQ(harness->core.binding_count(), 1U);
}

TEST_F(OutsideTest, APluginThatThrowsIsAskedAboutAllNodesAgain) {
  harness->Set(testing::MakeNode("a"));
  for (const char* name : {"p1", "p2"}) harness->Set(testing::MakePod(name));
  harness->Run();
  gate->asked.clear();
  Fail("throw");
  harness->Set(testing::MakePod("p3"));
  harness->Run();
  EXPECT_GE(gate->asked["a"], 1);
}

TEST_F(OutsideTest, OfAPodsAnnotationsThoseThatArePartOfAPolicyAreKept) {
  harness->Set(testing::MakeNode("a"));
  auto pod = std::make_shared<api::Pod>(*harness->Object(testing::MakePod("p")));
  pod->metadata.annotations = {{"door", "open"}, {"checksum/config", "1234"}};
  harness->core.Handle(PodSet{pod}, harness->now);
  harness->Run();
  EXPECT_EQ(gate->annotations, (api::StringMap{{"door", "open"}}));
}

}  // namespace
}  // namespace berth::scheduler
