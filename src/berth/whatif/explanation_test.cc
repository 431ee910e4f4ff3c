// SPDX-License-Identifier: Apache-2.0
// What `berth explain` says of small clusters, read as people read it.
#include "berth/whatif/explanation.h"
#include "berth/core/cache/cache.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/answers/explanation_json.h"
#include "berth/answers/explanation_text.h"
#include "berth/testing/builders.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::ExplanationLines, answers::ExplanationJson;
using testing::MakeNode;
using testing::MakePod;

class ExplanationTest : public ::testing::Test {
 protected:
  void Add(const testing::NodeBuilder& node) { state_.nodes.push_back(node.Build()); }
  void Add(const testing::PodBuilder& pod) { state_.pods.push_back(std::make_shared<const api::Pod>(pod.Build())); }
  Expected<Explanation> Explain(const std::string& name) {
    return ExplainPod(*ClusterOf(state_), state_, "default", name);
  }
  // The changes, a line each.
  std::vector<std::string> Changes(const std::string& name) {
    const auto said = Explain(name);
    std::vector<std::string> lines;
    if (!said.ok() || !said->changes) return {"none was looked for"};
    for (const Change& change : said->changes->changes) {
      std::string line;
      for (const std::string& what : change.what) line += (line.empty() ? "" : " + ") + what;
      lines.push_back(line + " -> " + std::to_string(change.node_count));
    }
    return lines;
  }

  ClusterState state_;
};

using Lines = std::vector<std::string>;

TEST_F(ExplanationTest, TheLargestRequestThatFits) {
  Add(MakeNode("a").Allocatable("cpu", "4"));
  Add(MakeNode("b").Allocatable("cpu", "4"));
  Add(MakePod("r1").Request("cpu", "1500m").Node("a").Priority(5));
  Add(MakePod("r2").Request("cpu", "3").Node("b").Priority(5));
  Add(MakePod("p").Request("cpu", "3"));
  EXPECT_EQ(Changes("p"), (Lines{"spec.containers[c].resources.requests.cpu: 2500m instead of 3 -> 1",
                                 "without pod default/r1 (priority 5) on a -> 1", "one more node like a -> 1"}));
}

TEST_F(ExplanationTest, ATolerationAndBehindATaintTheLackOfCpu) {
  Add(MakeNode("a").Allocatable("cpu", "4").Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b").Allocatable("cpu", "1").Taint("old", "", api::TaintEffect::kNoSchedule));
  Add(MakePod("p").Request("cpu", "2"));
  const auto said = Explain("p");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->state, PodState::kRefused);
  ASSERT_EQ(said->nodes.size(), 2U);
  EXPECT_EQ(said->nodes[0].node, "a");
  ASSERT_EQ(said->nodes[1].refusals.size(), 2U);
  EXPECT_EQ(said->nodes[1].refusals[1].reason, "Insufficient cpu");
  EXPECT_EQ(Changes("p"), (Lines{"a toleration of gpu=true:NoSchedule -> 1"}));
}

TEST_F(ExplanationTest, SeveralChangesWhereNoSingleOneHelps) {
  Add(MakeNode("a").Allocatable("cpu", "1").Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakePod("p").Request("cpu", "2"));
  EXPECT_EQ(Changes("p"), (Lines{"a toleration of gpu=true:NoSchedule + "
                                 "spec.containers[c].resources.requests.cpu: 1 instead of 2 -> 1"}));
}

TEST_F(ExplanationTest, SeveralChangesOfWhichNoneCanBeLeftOut) {
  Add(MakeNode("a")
          .Allocatable("cpu", "1")
          .Allocatable("memory", "8Gi")
          .Unschedulable()
          .Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b")
          .Allocatable("cpu", "1500m")
          .Allocatable("memory", "1Gi")
          .Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakePod("p").Request("cpu", "2").Request("memory", "1Gi"));
  // For a, uncordoned, a toleration and 1 of CPU: but with the toleration b takes it, and more of it.
  EXPECT_EQ(Changes("p"), (Lines{"a toleration of gpu=true:NoSchedule + "
                                 "spec.containers[c].resources.requests.cpu: 1500m instead of 2 -> 1"}));
}

TEST_F(ExplanationTest, APodLessOnANodeThatCannotTakeThePod) {
  // Anti-affinity over the zone: the pod in the way is on a tainted node.
  Add(MakeNode("a").Allocatable("cpu", "4").Label("zone", "x").Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b").Allocatable("cpu", "4").Label("zone", "x"));
  Add(MakePod("r").Request("cpu", "1").Label("app", "a").Node("a"));
  testing::PodBuilder pod = MakePod("p");
  pod.Request("cpu", "1").Label("app", "a");
  pod.AntiAffinity(testing::AffinityTerm("zone", testing::Labels({{"app", "a"}})));
  Add(pod);
  const Lines changes = Changes("p");
  EXPECT_NE(std::find(changes.begin(), changes.end(), "without pod default/r (priority 0) on a -> 1"), changes.end())
      << ::testing::PrintToString(changes);
}

TEST_F(ExplanationTest, APortThatTwoPodsHoldIsTakenWithoutOne) {
  Add(MakeNode("a").Allocatable("cpu", "4").Unschedulable());
  Add(MakeNode("b").Allocatable("cpu", "4"));
  for (const char* const name : {"r1", "r2"}) Add(MakePod(name).Request("cpu", "1").HostPort(443).Node("b"));
  Add(MakePod("p").Request("cpu", "1").HostPort(443));
  EXPECT_EQ(Changes("p"),
            (Lines{"without host port 443 -> 1", "node a: uncordoned -> 1", "one more node like b -> 1"}));
}

TEST_F(ExplanationTest, ANewNodeIsAHostOfItsOwn) {
  // Whatever its host is called: the label need not be the node's name.
  Add(MakeNode("a").Allocatable("cpu", "4").Label("kubernetes.io/hostname", "host-of-a"));
  Add(MakePod("r").Request("cpu", "1").Label("app", "a").Node("a"));
  testing::PodBuilder pod = MakePod("p");
  pod.Request("cpu", "1").Label("app", "a");
  pod.AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", "a"}})));
  Add(pod);
  const Lines changes = Changes("p");
  EXPECT_NE(std::find(changes.begin(), changes.end(), "one more node like a -> 1"), changes.end())
      << ::testing::PrintToString(changes);
}

TEST_F(ExplanationTest, WhatPreFilterRefusesIsTriedToo) {
  Add(MakeNode("a").Allocatable("cpu", "4"));
  testing::PodBuilder pod = MakePod("p");
  pod.Request("cpu", "1");
  api::Pod made = pod.Build();
  // No node can satisfy both names.
  api::NodeSelectorTerm term;
  for (const char* const node : {"a", "b"})
    term.match_fields.push_back({"metadata.name", api::SelectorOperator::kIn, {node}});
  made.spec.node_affinity.emplace().required = {term};
  state_.pods.push_back(std::make_shared<const api::Pod>(made));
  EXPECT_EQ(Changes("p"),
            Lines{"without spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution -> 1"});
}

TEST_F(ExplanationTest, AGateIsReportedEvenOfAPodThatGoes) {
  api::Pod pod = MakePod("p").Build();
  pod.spec.scheduling_gates = {"quota"};
  pod.metadata.deletion_time = Time{};
  state_.pods.push_back(std::make_shared<const api::Pod>(pod));
  EXPECT_EQ(Explain("p")->state, PodState::kGated);
  pod.spec.scheduling_gates.clear();
  state_.pods = {std::make_shared<const api::Pod>(pod)};
  EXPECT_EQ(Explain("p")->state, PodState::kDeleted);
}

TEST_F(ExplanationTest, LabelsAndCordons) {
  Add(MakeNode("a").Allocatable("cpu", "4").Unschedulable());
  Add(MakeNode("b").Allocatable("cpu", "4").Label("disk", "hdd"));
  Add(MakePod("p").Request("cpu", "1").NodeSelector("disk", "ssd"));
  EXPECT_EQ(Changes("p"), (Lines{"without spec.nodeSelector[disk] -> 1", "node b: label disk=ssd -> 1"}));
}

TEST_F(ExplanationTest, TheLeastSkew) {
  for (const char* const zone : {"x", "y"})
    Add(MakeNode(std::string("n-") + zone)
            .Allocatable("cpu", std::string(zone) == "x" ? "8" : "1")
            .Label("zone", zone));
  for (int i = 0; i < 3; ++i)
    Add(MakePod("r" + std::to_string(i)).Request("cpu", "1").Label("app", "a").Node("n-x").Priority(1));
  testing::PodBuilder pod = MakePod("p");
  pod.Request("cpu", "2").Label("app", "a");
  pod.Spread(testing::SpreadConstraint(1, "zone", testing::Labels({{"app", "a"}}),
                                       api::UnsatisfiableConstraintAction::kDoNotSchedule));
  Add(pod);
  const Lines changes = Changes("p");
  EXPECT_NE(std::find(changes.begin(), changes.end(), "spec.topologySpreadConstraints[0].maxSkew: 4 instead of 1 -> 1"),
            changes.end())
      << ::testing::PrintToString(changes);
}

TEST_F(ExplanationTest, WhomPreemptionWouldEvict) {
  Add(MakeNode("a").Allocatable("cpu", "1"));
  Add(MakePod("low").Request("cpu", "1").Node("a").Priority(1));
  Add(MakePod("p").Request("cpu", "1").Priority(10));
  const auto said = Explain("p");
  ASSERT_TRUE(said.ok() && said->preemption);
  EXPECT_EQ(said->preemption->node, "a");
  EXPECT_EQ(said->preemption->victims, Lines{"default/low"});
}

TEST_F(ExplanationTest, APlacedPodAndTheRunnersUp) {
  Add(MakeNode("a").Allocatable("cpu", "4").Allocatable("memory", "8Gi"));
  Add(MakeNode("b").Allocatable("cpu", "8").Allocatable("memory", "8Gi"));
  Add(MakePod("p").Request("cpu", "2").Node("a"));
  const auto said = Explain("p");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->state, PodState::kPlaced);
  EXPECT_EQ(said->rank, 2U);
  ASSERT_EQ(said->nodes.size(), 2U);
  EXPECT_EQ(said->nodes[0].node, "b");
  std::int64_t sum = 0;
  for (const NodeScore& score : said->nodes[0].scores) sum += score.weighted();
  EXPECT_EQ(sum, said->nodes[0].total);
}

TEST_F(ExplanationTest, ReportsTheNearestName) {
  Add(MakePod("web-1"));
  EXPECT_EQ(Explain("web-l").error().message,
            "there is no pod \"web-l\" in namespace \"default\"; did you mean \"web-1\"?");
}

TEST_F(ExplanationTest, ChangesNothing) {
  Add(MakeNode("a").Allocatable("cpu", "2").Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b").Allocatable("cpu", "1"));
  Add(MakePod("r").Request("cpu", "1").Node("b"));
  Add(MakePod("p").Request("cpu", "2"));
  const auto cluster = ClusterOf(state_);
  const auto text = [&] { return codec::WriteJson(ExplanationJson(*ExplainPod(*cluster, state_, "default", "p"))); };
  const std::string first = text();
  EXPECT_EQ(text(), first);
  EXPECT_EQ(cluster->core().cache().pod_count(), 1U);
}

TEST_F(ExplanationTest, WhatIsEndedEarlySaysSoAndNothingWrong) {
  for (int n = 0; n < 12; ++n)
    Add(MakeNode("n" + std::to_string(n))
            .Allocatable("cpu", "2")
            .Taint("t" + std::to_string(n % 3), "", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b").Allocatable("cpu", "4").Unschedulable());
  Add(MakePod("r").Request("cpu", "1").Node("b"));
  Add(MakePod("p").Request("cpu", "2"));
  const auto cluster = ClusterOf(state_);
  const auto ended_after = [&](int looks) {
    const auto overlay = cluster->MakeOverlay();
    return whatif::Explain({*overlay, cluster->core().queue(), *state_.pods.back()},
                           {.is_over = [&] { return --looks < 0; }});
  };
  const Explanation all = ended_after(1'000'000);
  EXPECT_TRUE(all.left_out.empty()) << ::testing::PrintToString(all.left_out);
  std::set<std::vector<std::string>> right;
  for (const Change& change : all.changes->changes) right.insert(change.what);
  ASSERT_GT(right.size(), 3U);
  std::size_t most = 0;
  int looks = 0;
  for (; looks < 1000; ++looks) {
    const Explanation said = ended_after(looks);
    if (said.left_out.empty()) break;
    EXPECT_EQ(said.state, all.state) << looks;
    EXPECT_TRUE(said.message.starts_with("0/13 nodes are available: ")) << looks;
    std::size_t refused = 0;
    for (const FunnelStep& step : said.funnel) refused += step.refused;
    EXPECT_EQ(refused, 13U) << looks;
    ASSERT_TRUE(said.changes);
    EXPECT_FALSE(said.changes->is_complete) << looks;
    for (const Change& change : said.changes->changes)
      EXPECT_TRUE(right.contains(change.what)) << looks << ": " << ::testing::PrintToString(change.what);
    EXPECT_GE(said.changes->changes.size(), most);
    most = said.changes->changes.size();
  }
  EXPECT_GT(most, 2U);
  EXPECT_GT(looks, 20);
  EXPECT_LT(looks, 1000);
}

TEST_F(ExplanationTest, LinesFitTheScreen) {
  Add(MakeNode("a").Allocatable("cpu", "2").Taint("gpu", "true", api::TaintEffect::kNoSchedule));
  Add(MakeNode("b").Allocatable("cpu", "1"));
  Add(MakePod("r").Request("cpu", "1").Node("b"));
  Add(MakePod("p").Request("cpu", "2"));
  const auto said = Explain("p");
  ASSERT_TRUE(said.ok());
  std::string text;
  for (const std::string& line : ExplanationLines(*said, {.with_nodes = true})) {
    EXPECT_LE(cli::DisplayWidth(line), 100U) << line;
    text += line + "\n";
  }
  EXPECT_NE(text.find("a toleration"), std::string::npos) << text;
}

TEST_F(ExplanationTest, APodOfAnotherSchedulerWaitsForThatOne) {
  Add(MakeNode("a").Allocatable("cpu", "4"));
  Add(MakePod("p").Request("cpu", "1").SchedulerName("default-schedular"));
  const auto typo = Explain("p");
  ASSERT_TRUE(typo.ok());
  EXPECT_EQ(typo->state, PodState::kWaits);
  EXPECT_EQ(typo->message,
            "it waits for the scheduler \"default-schedular\". No pod of the cluster was placed by a scheduler of that "
            "name; is \"default-scheduler\" meant?");
  Add(MakePod("other").SchedulerName("volcano").Node("a"));
  Add(MakePod("q").Request("cpu", "1").SchedulerName("volcano"));
  EXPECT_EQ(Explain("q")->message,
            "it waits for the scheduler \"volcano\", of which this configuration has no profile (--config gives one "
            "that has)");
}

// Kubernetes drops the field where its gate is off, so that the scheduler of such a cluster has groups.
TEST_F(ExplanationTest, AMemberOfAGroupThatDoesNotCountHereWaits) {
  Add(MakeNode("a").Allocatable("cpu", "4"));
  Add(MakePod("member").Request("cpu", "1").InGroup("train"));
  Add(MakePod("large").Request("cpu", "8").InGroup("train"));
  const auto said = Explain("member");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->state, PodState::kWaits);
  EXPECT_EQ(said->message,
            "it names the PodGroup default/train, and would fit by itself; with --kubernetes-version 1.37 and "
            "--feature-gates GenericWorkload=true it is explained with its group");
  EXPECT_EQ(Explain("large")->state, PodState::kRefused) << "alone or not, it fits nowhere";
}

TEST_F(ExplanationTest, APodThatHasEndedIsThere) {
  api::Pod pod = MakePod("done").Node("a").Build();
  pod.status.phase = api::PodPhase::kSucceeded;
  state_.finished_pods.push_back(std::make_shared<const api::Pod>(std::move(pod)));
  const auto said = Explain("done");
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->state, PodState::kEnded);
  EXPECT_EQ(said->message, "it has succeeded; it was on a");
}

}  // namespace
}  // namespace berth::whatif
