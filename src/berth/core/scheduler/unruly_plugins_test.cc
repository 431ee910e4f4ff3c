// SPDX-License-Identifier: Apache-2.0
// Plugins that throw at unexpected points, return values outside the contract, or use their handle at odd moments: the
// scheduler goes on.
#include <algorithm>

#include "berth/core/scheduler/extension_points_testing.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/profile_aware.h"

namespace berth::scheduler {
namespace {

using framework::Cycle;
using framework::Dependency;
using framework::Handle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::Normalization;
using framework::Operation;
using framework::PodInfo;
using framework::Status;
using framework::StepResult;
using testing::MakeNode;
using testing::MakePod;

// Accepts everything, at every point and in every form, except for one function, which throws.
class Unruly final : public framework::PreFilterPlugin,
                     public framework::FastFilter,
                     public framework::FastPreScore,
                     public framework::FastScore,
                     public framework::GroupingPlugin,
                     public framework::AmountsPlugin,
                     public framework::ReservePlugin,
                     public framework::AnnotationReader,
                     public framework::ObjectReader,
                     public framework::OutsideDataReader,
                     public framework::EnqueueExtensions {
 public:
  Unruly(const char* name, Handle&, std::string trips, Dependency depends_on)
      : name_(name), trips_(std::move(trips)), depends_on_(depends_on) {}

  std::string_view Name() const override { return name_; }
  std::uint64_t Epoch() const override { return Trip("Epoch", 0); }
  bool ReadsPlacementOnly() const override { return Trip("ReadsPlacementOnly", true); }

  Dependency PreFilterDependsOn() const override { return Trip("PreFilterDependsOn", Dependency::kNode); }
  framework::PreFilterResult PreFilter(const Cycle&, const PodInfo&) const override { return {}; }
  bool HasPreFilterExtensions() const override { return Trip("HasPreFilterExtensions", false); }

  Dependency FilterDependsOn() const override { return Trip("FilterDependsOn", depends_on_); }
  Status Filter(const Cycle&, const PodInfo&, const NodeInfo&) const override { return {}; }
  bool RefusesNone(const Cycle&, const PodInfo&) const override { return Trip("RefusesNone", false); }

  Dependency PreScoreDependsOn() const override { return Trip("PreScoreDependsOn", Dependency::kNode); }
  bool PreScoreSkips(const Cycle&, const PodInfo&) const override { return Trip("PreScoreSkips", false); }
  Status PreScore(const Cycle&, const PodInfo&, std::span<const NodeIndex>) const override { return {}; }

  Dependency ScoreDependsOn() const override { return Trip("ScoreDependsOn", depends_on_); }
  Normalization ScoreNormalization() const override { return Trip("ScoreNormalization", Normalization::kNone); }
  std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const override {
    return Trip("ScoreOfAll", std::optional<std::int64_t>());
  }
  std::int64_t Score(const Cycle&, const PodInfo&, NodeIndex, const NodeInfo&, Status&) const override { return 50; }

  std::optional<Marks> MarksOf(const Cycle&, const PodInfo&) const override { return Trip("MarksOf", Marks{1, 0}); }
  std::optional<Marks> SharedMarksOf(const Cycle&, const PodInfo&, std::size_t,
                                     std::vector<NodeIndex>& special) const override {
    if (trips_ == "MarksOf") return std::nullopt;
    if (trips_ == "a special row that is none") special = {0, 4'000'000'000, 7, 12};
    return Trip("SharedMarksOf", Marks{1, 0});
  }
  void MarkRows(const Cycle&, const PodInfo&, MarkScope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) marks[i * stride] = rows[i] % 2;
    Trip("MarkRows", 0);
  }
  void SingleOut(const Cycle&, const PodInfo&, std::vector<NodeIndex>& rows) const override {
    if (trips_ == "a row to single out that is none") rows.push_back(framework::kNoNode);
    Trip("SingleOut", 0);
  }

  bool RestsOnAmounts(const Cycle&, const PodInfo&) const override { return Trip("RestsOnAmounts", true); }
  void ScoreBounds(const Cycle&, const Cycle&, const PodInfo&, std::span<std::int64_t> bounds) const override {
    std::fill(bounds.begin(), bounds.end(), 50);
  }

  Status Reserve(const Cycle&, const PodInfo&, std::string_view) override { return {}; }
  void Unreserve(const PodInfo&, std::string_view) override {}

  std::vector<std::string> PodAnnotationsRead() const override {
    return Trip("PodAnnotationsRead", std::vector<std::string>());
  }
  std::vector<framework::ObjectKind> ObjectsRead() const override {
    return Trip("ObjectsRead", std::vector<framework::ObjectKind>());
  }
  std::vector<framework::OutsideSource> OutsideSources() const override {
    std::vector<framework::OutsideSource> sources(1);
    return Trip("OutsideSources", std::move(sources));
  }
  framework::OutsideChange OnOutsideData(std::size_t, const Expected<std::shared_ptr<const framework::OutsideData>>&,
                                         Time) override {
    return Trip("OnOutsideData", framework::OutsideChange{false, {"a node that is none", "n0"}});
  }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override {
    return Trip("EventsToRegister", std::vector<framework::ClusterEventWithHint>());
  }

 private:
  template <typename T>
  T Trip(const char* what, T otherwise) const {
    if (trips_ == what) throw 7;
    return otherwise;
  }

  std::string name_;
  std::string trips_;
  Dependency depends_on_;
};

class UnrulyTest : public ExtensionPointTest {
 protected:
  // Enough nodes for the code paths that only large clusters take.
  static constexpr int kNodes = 300;

  void Begin(const std::string& trips, Dependency depends_on) {
    Register<Unruly>("Unruly", trips, depends_on);
    Start({"NodeResourcesFit", "Unruly", "NodeResourcesBalancedAllocation"});
    for (int i = 0; i < kNodes; ++i) h().Set(MakeNode("n" + std::to_string(i)));
  }
};

TEST_F(UnrulyTest, WhatAPluginThrowsWhenItIsAskedForAFactIsNotTheSchedulersEnd) {
  const char* const functions[] = {"ReadsPlacementOnly",
                                   "PreFilterDependsOn",
                                   "HasPreFilterExtensions",
                                   "FilterDependsOn",
                                   "RefusesNone",
                                   "PreScoreDependsOn",
                                   "PreScoreSkips",
                                   "ScoreDependsOn",
                                   "ScoreNormalization",
                                   "ScoreOfAll",
                                   "MarksOf",
                                   "SharedMarksOf",
                                   "a special row that is none",
                                   "MarkRows",
                                   "SingleOut",
                                   "a row to single out that is none",
                                   "RestsOnAmounts",
                                   "PodAnnotationsRead",
                                   "ObjectsRead",
                                   "OutsideSources",
                                   "OnOutsideData",
                                   "EventsToRegister",
                                   "nothing at all"};
  for (const Dependency depends_on : {Dependency::kNode, Dependency::kCycle}) {
    for (const char* function : functions) {
      SCOPED_TRACE(std::string(function) + (depends_on == Dependency::kNode ? ", by node" : ", by cycle"));
      Begin(function, depends_on);
      (void)h().core.ObjectsRead();
      if (!h().core.outside_sources().empty()) h().core.Handle(OutsideDone{0, Error{}}, h().now);
      // The first pod of a class, more of it, and some of other classes.
      for (const char* name : {"p1", "p2", "p3", "p4"}) h().Set(MakePod(name).Request("cpu", "1"));
      for (const char* name : {"1100m", "1200m", "1300m", "1400m"}) h().Set(MakePod(name).Request("cpu", name));
      const Lines lines = RunAndTake();
      EXPECT_EQ(lines.size(), 8u);
      EXPECT_TRUE(std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("bind "); }))
          << lines.back();
    }
  }
}

TEST_F(UnrulyTest, AnEpochThatThrowsIsAnErrorOfTheCycle) {
  Begin("Epoch", Dependency::kNode);
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake(),
            Failed("p", "SchedulerError", "running Epoch of plugin \"Unruly\": panic: unknown exception"));
  EXPECT_EQ(Standing("p").place, queue::Place::kErrorBackoff);
}

TEST_F(UnrulyTest, WithoutItsEventsARefusedPodIsTriedAtEveryEvent) {
  class Refuses final : public framework::FilterPlugin, public framework::EnqueueExtensions {
   public:
    Refuses(const char*, Handle&) {}
    std::string_view Name() const override { return "Refuses"; }
    Status Filter(const Cycle&, const PodInfo&, const NodeInfo&) const override { return Status::Unschedulable("no"); }
    std::vector<framework::ClusterEventWithHint> EventsToRegister() const override { throw std::runtime_error("oops"); }
  };
  Register<Refuses>("Refuses");
  Start({"Refuses"});
  Nodes({"a"});
  h().Set(MakePod("p"));
  RunAndTake();
  h().Set(MakeNode("b"));
  EXPECT_EQ(RunAndTake(10s).front(), "status p Unschedulable: 0/2 nodes are available: 2 no.");
}

TEST_F(UnrulyTest, OneThatCannotBeMadeEndsTheStartAndIsNamed) {
  class Throws final : public framework::PostBindPlugin, public framework::ProfileAware {
   public:
    Throws(const char*, Handle&, bool at_once) {
      if (at_once) throw std::runtime_error("oops");
    }
    std::string_view Name() const override { return "Throws"; }
    void SetProfile(std::string_view) override { throw std::runtime_error("oops"); }
    Operation PostBind(const PodInfo&) override { return Operation::Done(); }
  };
  for (const bool at_once : {true, false}) {
    Register<Throws>("Throws", at_once);
    const std::string error = StartError({"Throws"});
    EXPECT_NE(error.find("initializing plugin \"Throws\": "), std::string::npos) << error;
    EXPECT_NE(error.find("oops"), std::string::npos) << error;
  }
}

// --- Use of the handle at odd moments ---

class Eager final : public framework::PreBindPlugin {
 public:
  Eager(const char* name, Handle& handle, Lines* calls) : name_(name), handle_(handle), calls_(*calls) {
    handle.Start(Operation::After(1s, [this](const StepResult&) {
      calls_.push_back("a second has gone by");
      return Operation::Done();
    }));
    handle.Start(Operation::Write(framework::ObjectRead{{"v1", "configmaps", "default", "settings"}}));
    handle.Emit({.regarding = {"", "a", "", ""}, .reason = "Hello", .note = "here I am"});
    handle.Activate("uid-default-p");
    EXPECT_FALSE(handle.CancelBinding("uid-default-p", name_, "no"));
    EXPECT_EQ(handle.FindAssignedPod("uid-default-p"), nullptr);
    EXPECT_EQ(handle.node_table(), nullptr);
  }
  std::string_view Name() const override { return name_; }
  Status PreBindPreFlight(const PodInfo&) override { return {}; }
  Operation PreBind(const PodInfo& pod) override {
    calls_.push_back(handle_.CancelBinding(pod.uid, name_, "changed my mind") ? "cancelled" : "not cancelled");
    return Operation::Done();
  }

 private:
  std::string name_;
  Handle& handle_;
  Lines& calls_;
};

TEST_F(UnrulyTest, APluginMayBeginWorkWhenItIsMade) {
  Register<Eager>("Eager", &calls_);
  Start({"Eager"});
  EXPECT_EQ(RunAndTake(), (Lines{"get settings", "Normal Hello a: here I am"}));
  h().Run(1s);
  EXPECT_EQ(calls_, Lines{"a second has gone by"});
}

TEST_F(UnrulyTest, APluginThatIsAskedAboutAPodCannotEndItsBindingUnderItsOwnFeet) {
  Register<Eager>("Eager", &calls_);
  Start({"Eager"});
  Nodes({"a"});
  h().Set(MakePod("p"));
  EXPECT_EQ(RunAndTake().back(), "bind p to a");
  EXPECT_EQ(calls_, Lines{"not cancelled"});
}

}  // namespace
}  // namespace berth::scheduler
