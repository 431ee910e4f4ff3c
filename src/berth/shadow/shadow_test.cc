// SPDX-License-Identifier: Apache-2.0
// Another scheduler's decisions, good and bad, passed one by one to a Shadow: what it makes of them.
#include "berth/shadow/shadow.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/plugins/registry.h"
#include "berth/shadow/shadow_testing.h"

namespace berth::shadow {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using namespace std::chrono_literals;

// Time that a test lets pass, and a little with each look.
class SlowClock final : public Clock {
 public:
  explicit SlowClock(Duration step) : step_(step) {}
  Time Now() const override { return now_ += step_; }

 private:
  const Duration step_;
  mutable Time now_{};
};

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() { Make({}); }

  void Make(const std::string& scheduler_name, std::vector<std::string> profiles = {"default-scheduler"}) {
    ShadowOptions options;
    options.configuration = config::DefaultConfiguration(config::FeatureGates(release_));
    options.configuration.profiles.resize(profiles.size(), options.configuration.profiles.front());
    for (std::size_t i = 0; i < profiles.size(); ++i) options.configuration.profiles[i].scheduler_name = profiles[i];
    options.plugins = plugins::InTreePlugins();
    options.scheduler_name = scheduler_name;
    options.stopwatch = &stopwatch_;
    options.cpu_clock = &cpu_clock_;
    auto made = Shadow::Make(std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    shadow_ = *std::move(made);
  }

  void Feed(const scheduler::Input& input) { shadow_->Take(input, now_); }
  template <typename Builder>
  void Set(const Builder& object) {
    Feed(SetOf(object));
  }
  void Look() { shadow_->BeginLooking(now_); }
  void Pass(Duration duration) {
    now_ += duration;
    while (shadow_->Step(now_, false)) {
    }
    shadow_->Tick(now_);
  }
  ShadowReport Report() {
    while (shadow_->Step(now_, true)) {
    }
    return shadow_->Report(now_);
  }
  // "sameNode 2, worseNode 1 (1 by order)".
  static std::string Counts(const ShadowReport& report) {
    std::string text;
    for (std::size_t i = 0; i < kMatchCount; ++i) {
      const MatchCount& count = report.counts[i];
      if (count.total == 0) continue;
      text +=
          (text.empty() ? "" : ", ") + std::string(ToString(static_cast<Match>(i))) + " " + std::to_string(count.total);
      if (count.by_order > 0) text += " (" + std::to_string(count.by_order) + " by order)";
    }
    return text;
  }

  const SlowClock stopwatch_{100us};
  const SlowClock cpu_clock_{70us};
  int release_ = 36;
  std::unique_ptr<Shadow> shadow_;
  Time now_ = Time{} + 1h;
};

// Two nodes: the larger one is better for any pod.
class TwoNodesTest : public ShadowTest {
 protected:
  TwoNodesTest() {
    Set(MakeNode("large").Allocatable("cpu", "8"));
    Set(MakeNode("small").Allocatable("cpu", "4"));
    Look();
  }
  static testing::PodBuilder Pod(const std::string& name, const std::string& cpu = "2") {
    return MakePod(name).Request("cpu", cpu).Request("memory", "1Gi");
  }
};

TEST_F(TwoNodesTest, TheSameNode) {
  Set(Pod("p"));
  Set(Bound(Pod("p"), "large"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "sameNode 1");
  EXPECT_EQ(report.Decisions(), 1U);
  EXPECT_EQ(report.Agreements(), 1U);
  EXPECT_THAT(report.Differences(), IsEmpty());
  EXPECT_EQ(report.node_count, 2U);
  EXPECT_EQ(report.pod_count, 1U);
  EXPECT_EQ(report.cost.count(), 1U);
  EXPECT_EQ(report.cost.total(), 100us);
  EXPECT_EQ(report.cost.cpu(), 70us);
}

TEST_F(TwoNodesTest, AWorseNodeAndByWhat) {
  Set(Pod("p"));
  Set(Bound(Pod("p"), "small"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "worseNode 1");
  EXPECT_EQ(report.Unexplained(), 1U);
  const Comparison difference = report.Differences().front();
  EXPECT_EQ(difference.pod, "default/p");
  EXPECT_EQ(difference.our_node, "large");
  EXPECT_EQ(difference.their_node, "small");
  EXPECT_GT(difference.points, 0);
  std::int64_t sum = 0;
  for (const PluginPoints& plugin : difference.plugins) sum += plugin.ours - plugin.theirs;
  EXPECT_EQ(sum, difference.points) << "the plugins tell where the points come from";
  EXPECT_EQ(difference.plugins.front().plugin, "NodeResourcesFit");
  EXPECT_EQ(report.points_max, difference.points);
}

TEST_F(ShadowTest, AnEquallyGoodNode) {
  for (const char* name : {"a", "b"}) Set(MakeNode(name));
  Look();
  // Whichever of the two berth takes, one of these is on the other one.
  for (const char* name : {"a", "b"}) {
    const auto pod = MakePod(std::string("on-") + name);
    Set(pod);
    Set(Bound(pod, name));
    Report();
    Feed(Gone(pod));
    Report();
  }
  const ShadowReport report = Report();
  EXPECT_EQ(report.Agreements(), 2U) << Counts(report);
  EXPECT_EQ(report.Of(Match::kSameNode).total + report.Of(Match::kEqualNode).total, 2U);
}

TEST_F(TwoNodesTest, ANodeThatBerthRefuses) {
  Set(Pod("p", "6"));
  Set(Bound(Pod("p", "6"), "small"));
  Set(Pod("q", "1"));
  Set(Bound(Pod("q", "1"), "unheard-of"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "unfitNode 2");
  EXPECT_EQ(report.Differences()[0].our_message, "NodeResourcesFit: Insufficient cpu");
  EXPECT_EQ(report.Differences()[1].our_message, "the node is not known");
}

TEST_F(TwoNodesTest, PlacedThereAndRefusedHere) {
  Set(Pod("p", "20"));
  Set(Bound(Pod("p", "20"), "large"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "refusedHere 1");
  EXPECT_THAT(report.Differences()[0].our_message,
              ::testing::StartsWith("0/2 nodes are available: 2 Insufficient cpu."));
}

TEST_F(TwoNodesTest, RefusedThereAndPlacedHere) {
  Set(Pod("p"));
  Set(Refused(Pod("p"), "0/2 nodes are available: 2 too ugly."));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "placedHere 1");
  EXPECT_EQ(report.Differences()[0].our_node, "large");
  EXPECT_EQ(report.Differences()[0].their_message, "0/2 nodes are available: 2 too ugly.");
}

TEST_F(TwoNodesTest, RefusedByBoth) {
  const std::string message =
      "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: "
      "2 Preemption is not helpful for scheduling.";
  Set(Pod("p", "20"));
  Set(Refused(Pod("p", "20"), message));
  Set(Pod("q", "20"));
  Set(Refused(Pod("q", "20"), "0/3 nodes are available: 3 Insufficient cpu."));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "sameRefusal 1, otherReasons 1");
  EXPECT_EQ(report.Differences()[0].our_message, message);
  EXPECT_EQ(report.waiting.refused, 2U);
}

TEST_F(TwoNodesTest, PreemptionAtTheSameNodeOrAnother) {
  struct Case {
    const char* node;
    const char* want;
  };
  const auto victim = Pod("victim", "7").Priority(1);
  const auto preemptor = Pod("p", "6").Priority(10);
  std::string message = "not the right words";
  for (const Case& each : {Case{"large", "sameNode 1, otherReasons 1"}, Case{"large", "sameNode 1, sameRefusal 1"},
                           Case{"small", "sameNode 1, otherPreemption 1"}, Case{"", "sameNode 1, otherPreemption 1"}}) {
    Make({});
    Set(MakeNode("large").Allocatable("cpu", "8"));
    Set(MakeNode("small").Allocatable("cpu", "4"));
    Look();
    Set(victim);
    Set(Bound(victim, "large"));
    Set(preemptor);
    Set(Refused(preemptor, message).Nominated(each.node));
    const ShadowReport report = Report();
    EXPECT_EQ(Counts(report), each.want) << each.node;
    if (report.Differences().empty()) continue;
    EXPECT_EQ(report.Differences().front().our_preemption, "large");
    message = report.Differences().front().our_message;
  }
}

// kube-scheduler 1.37 names the node in the message.
TEST_F(TwoNodesTest, PreemptionAtAnEquallyGoodNodeIsTheSameRefusal) {
  release_ = 37;
  const auto preemptor = Pod("p", "6").Priority(10);
  for (const char* node : {"a", "b"}) {
    Make({});
    Look();
    for (const std::string name : {"a", "b"}) {
      Set(MakeNode(name).Allocatable("cpu", "8"));
      const auto victim = Pod("victim-" + name, "7").Priority(1);
      Set(victim);
      Set(Bound(victim, name));
    }
    Set(preemptor);
    Set(Refused(
            preemptor,
            "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node " +
                std::string(node) + ", preempting 1 victims")
            .Nominated(node));
    const ShadowReport report = Report();
    EXPECT_EQ(Counts(report), "sameNode 2, sameRefusal 1") << node;
    for (const auto& difference : report.Differences()) EXPECT_EQ(difference.our_message, difference.their_message);
  }
}

// The nomination that came with the refusal holds the room for the pod until it is bound.
TEST_F(TwoNodesTest, NominatedPodsCount) {
  Set(Pod("nominated", "8").Priority(10));
  Set(Refused(Pod("nominated", "8").Priority(10), "wait").Nominated("large"));
  Set(Pod("p"));
  Set(Bound(Pod("p"), "small"));
  const ShadowReport report = Report();
  EXPECT_EQ(report.Of(Match::kSameNode).total, 1U) << Counts(report);
}

TEST_F(TwoNodesTest, BindingsOutOfOrder) {
  // One CPU more on "large" makes the difference: the first pod goes there, then the second one goes to "small".
  Set(Pod("first", "7"));
  Set(Pod("second", "4"));
  Set(Bound(Pod("second", "4"), "small"));
  Set(Bound(Pod("first", "7"), "large"));
  EXPECT_EQ(Counts(Report()), "sameNode 2");
}

TEST_F(TwoNodesTest, AnOrderThatNobodyKnowsIsCountedApart) {
  // "high" came when "low" had been decided, or before: its binding is behind. On the cluster with it on "large",
  // "small" is the only node for "low".
  Set(Pod("low", "4"));
  Set(Pod("high", "7").Priority(10));
  Set(Bound(Pod("low", "4"), "small"));
  Set(Bound(Pod("high", "7").Priority(10), "large"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "sameNode 1, worseNode 1 (1 by order)");
  EXPECT_EQ(report.Agreements(), 1U) << "it is no agreement";
  EXPECT_EQ(report.Unexplained(), 0U);
  EXPECT_TRUE(report.Differences().front().is_explained_by_order);
}

TEST_F(TwoNodesTest, AChangeThatTheOtherSchedulerHadNotSeenIsCountedApart) {
  Set(Pod("old", "7"));
  Set(Bound(Pod("old", "7"), "large"));
  Pass(10s);
  Set(Pod("p"));
  Pass(10s);
  Feed(Gone(Pod("old", "7")));
  Set(Bound(Pod("p"), "small"));
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "sameNode 1, worseNode 1 (1 by order)");
}

TEST_F(TwoNodesTest, ALongGoneChangeExplainsNothing) {
  Set(Pod("old", "7"));
  Set(Bound(Pod("old", "7"), "large"));
  Pass(10s);
  Feed(Gone(Pod("old", "7")));
  Pass(10s);
  Set(Pod("p"));
  Set(Bound(Pod("p"), "small"));
  EXPECT_EQ(Counts(Report()), "sameNode 1, worseNode 1");
}

TEST_F(TwoNodesTest, ANewNodeAndAChangedOneAreTakenBackToo) {
  Set(Pod("p"));
  Pass(10s);
  Set(MakeNode("huge").Allocatable("cpu", "64"));
  Set(Bound(Pod("p"), "large"));
  EXPECT_EQ(Counts(Report()), "worseNode 1 (1 by order)");
  Pass(10s);
  Set(MakeNode("huge").Allocatable("cpu", "64").Unschedulable());
  Set(Pod("q"));
  Set(Bound(Pod("q"), "huge"));
  EXPECT_EQ(Counts(Report()), "worseNode 1 (1 by order), unfitNode 1 (1 by order)");
}

// Where nothing agrees, the search for an order must not take the time that the decisions need.
TEST_F(TwoNodesTest, OrdersAreTriedWithinABudget) {
  const auto differ = [&](const std::string& name) {
    const auto pod = Pod(name, "1m");
    Set(pod);
    Set(Bound(pod, "unheard-of"));
  };
  const std::size_t enough = TryBudget::kAtOnce / RecentChanges::kChangesMax;
  for (std::size_t i = 0; i < 2 * enough; ++i) differ("p" + std::to_string(i));
  const ShadowReport report = Report();
  EXPECT_EQ(report.Unexplained(), 2 * enough);
  EXPECT_GT(report.order_untried, enough / 2);
  EXPECT_LT(report.order_untried, 2 * enough);
  Pass(1h);
  differ("later");
  EXPECT_EQ(Report().order_untried, report.order_untried) << "there are tries again";
}

TEST_F(TwoNodesTest, NothingIsComparedBeforeItsTime) {
  Set(Pod("p"));
  Set(Bound(Pod("p"), "large"));
  Pass(HeldInputs::kWindow - 1us);
  EXPECT_EQ(shadow_->decision_count(), 0U);
  EXPECT_EQ(shadow_->NextWake(), now_ + 1us);
  Pass(1us);
  EXPECT_EQ(shadow_->decision_count(), 1U);
}

TEST_F(TwoNodesTest, WhoeverIsTooFarBehindSaysSo) {
  Set(Pod("p"));
  Set(Bound(Pod("p"), "large"));
  Pass(Shadow::kLagMax + 1s);
  const ShadowReport report = Report();
  EXPECT_EQ(report.Decisions(), 0U);
  EXPECT_EQ(report.left_out.late, 1U);
  EXPECT_EQ(report.pod_count, 1U) << "the core knows it all the same";
}

TEST_F(TwoNodesTest, ListsAreBoundedAndCountsExact) {
  const std::size_t count = ShadowReport::kKeptMax + 50;
  for (std::size_t i = 0; i < count; ++i) {
    const auto pod = Pod("p" + std::to_string(i));
    Set(pod);
    Set(Bound(pod, "small"));
    Report();
    Feed(Gone(pod));
    Report();
    Pass(10s);
  }
  const ShadowReport report = Report();
  EXPECT_EQ(report.Of(Match::kWorseNode).total, count);
  EXPECT_EQ(report.Differences().size(), ShadowReport::kKeptMax);
  EXPECT_EQ(report.Differences().back().pod, "default/p" + std::to_string(count - 1)) << "the newest are kept";
}

TEST_F(ShadowTest, OneSchedulerOfSeveral) {
  Make("b", {"a", "b"});
  Set(MakeNode("n"));
  Look();
  for (const char* name : {"a", "b", "c"}) {
    const auto pod = MakePod(name).SchedulerName(name);
    Set(pod);
    Set(Bound(pod, "n"));
  }
  const ShadowReport report = Report();
  EXPECT_EQ(Counts(report), "sameNode 1");
  EXPECT_EQ(report.left_out.other_scheduler, 2U);
  EXPECT_THAT(report.scheduler_names, ElementsAre("b"));
}

TEST_F(ShadowTest, ClaimsThatSayWhereThePodGoesAreNoDecision) {
  Set(MakeNode("n"));
  Look();
  api::PersistentVolumeClaim claim;
  claim.metadata.namespace_name = "default";
  claim.metadata.name = "data";
  claim.metadata.annotations.Set("volume.kubernetes.io/selected-node", "n");
  const auto pod = MakePod("p").Claim("data");
  Set(pod);
  Feed(scheduler::ObjectSet{std::make_shared<const api::PersistentVolumeClaim>(claim)});
  Set(Bound(pod, "n"));
  const ShadowReport report = Report();
  EXPECT_EQ(report.Decisions(), 0U);
  EXPECT_EQ(report.left_out.own_claims, 1U);
}

// After five minutes without pods nothing is due any more, and later decisions are made as before.
TEST_F(TwoNodesTest, IdleDataGo) {
  Set(Pod("p"));
  Set(Bound(Pod("p"), "large"));
  Pass(1s);
  ASSERT_TRUE(shadow_->NextWake().has_value());
  Pass(10min);
  Pass(10min);
  EXPECT_FALSE(shadow_->NextWake().has_value());
  Set(Pod("q"));
  Set(Bound(Pod("q"), "large"));
  EXPECT_EQ(Counts(Report()), "sameNode 2");
}

TEST(ShadowMakeTest, NoSuchProfile) {
  ShadowOptions options;
  options.configuration = config::DefaultConfiguration();
  options.plugins = plugins::InTreePlugins();
  options.scheduler_name = "nobody";
  const auto made = Shadow::Make(std::move(options));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "no profile is called \"nobody\"");
}

TEST(DecisionCostTest, QuantilesAreNearAndNeverTooLow) {
  DecisionCost cost;
  EXPECT_EQ(cost.Quantile(990), Duration{0});
  for (int i = 1; i <= 1000; ++i) cost.Add(Duration(i * 10), Duration(i));
  EXPECT_EQ(cost.count(), 1000U);
  EXPECT_EQ(cost.max(), 10ms);
  EXPECT_EQ(cost.cpu(), 500'500us);
  for (const int per_mille : {1, 10, 100, 500, 900, 990, 1000}) {
    const Duration exact(per_mille * 10);
    EXPECT_GE(cost.Quantile(per_mille), exact) << per_mille;
    EXPECT_LE(cost.Quantile(per_mille), exact + exact / 8 + 1us) << per_mille;
  }
}

}  // namespace
}  // namespace berth::shadow
