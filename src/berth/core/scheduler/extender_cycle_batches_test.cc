// SPDX-License-Identifier: Apache-2.0
// Cycles that ask extenders about batches of nodes, because one of them gets whole nodes. The test answers for the
// extenders.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/scheduler/extender_cycle_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

using Names = std::vector<std::string>;

constexpr int kNodeCount = 250;

std::string NodeName(int i) { return "n" + std::to_string(100 + i); }

Names NodeNames(int begin, int end) {
  Names names;
  for (int i = begin; i < end; ++i) names.push_back(NodeName(i));
  return names;
}

Names Sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

config::Extender ByName(config::Extender extender) {
  extender.node_cache_capable = true;
  return extender;
}

config::Extender ForGpus(config::Extender extender) {
  extender.managed_resources = {{"example.com/gpu", false}};
  return extender;
}

// 250 nodes n100 to n349. From n200 on half of each is taken, from n300 on three quarters. So the batches of 100 are
// n100 to n199, n200 to n299 and the remaining 50.
class BigWorld : public ExtenderWorld {
 public:
  explicit BigWorld(const std::vector<config::Extender>& extenders, std::int32_t percentage = 1, std::uint64_t seed = 1,
                    bool is_loaded = true)
      : ExtenderWorld(extenders, seed, WithPercentage(percentage)) {
    for (int i = 0; i < kNodeCount; ++i) {
      Set(MakeNode(NodeName(i)));
      if (is_loaded && i >= 100)
        Set(MakePod("load-" + NodeName(i)).Node(NodeName(i)).Request("cpu", i < 200 ? "2" : "3"));
    }
  }

  // The node names of the only new request, which must be `line` without them.
  Names Question(const std::string& line) {
    const Lines lines = Take();
    EXPECT_EQ(lines.size(), 1U) << line;
    if (lines.size() != 1) return {};
    std::istringstream words(lines.front().substr(std::min(line.size(), lines.front().size())));
    EXPECT_EQ(lines.front().substr(0, line.size()), line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  void RefuseAll(const Names& names, const std::string& why = "no license") {
    ExtenderAnswer answer;
    for (const std::string& name : names) answer.failed_nodes.emplace_back(name, why);
    Reply(std::move(answer));
  }

 private:
  static Profiles WithPercentage(std::int32_t percentage) {
    Profiles profiles = DefaultProfiles();
    profiles.front()->percentage_of_nodes_to_score = percentage;
    return profiles;
  }
};

TEST(ExtenderBatchesTest, HowManyNodesAreAskedAbout) {
  const struct {
    const char* name;
    std::vector<config::Extender> extenders;
    std::int32_t percentage;
    std::size_t want;
  } cases[] = {
      {"at least a hundred", {Filter("x")}, 1, 100},
      {"by percentage", {Filter("x")}, 60, 150},
      {"by the number of nodes", {Filter("x")}, 0, 120},
      {"all", {Filter("x")}, 100, 250},
      {"names cost little", {ByName(Filter("x"))}, 1, 250},
      {"one by name beside one that gets them whole", {ByName(Filter("x")), Filter("y")}, 1, 100},
      {"whole for scores", {ByName(Filter("x")), Prioritizer("y", 1)}, 1, 100},
      {"whole for one that is not interested", {ByName(Filter("x")), ForGpus(Filter("y"))}, 1, 250},
      {"whole for binding, where no nodes are sent", {ByName(Filter("x")), Binder("y")}, 1, 250},
  };
  for (const auto& c : cases) {
    BigWorld world(c.extenders, c.percentage);
    world.Set(MakePod("p"));
    world.Run();
    EXPECT_EQ(world.Question("ask 0 filter p:").size(), c.want) << c.name;
  }
}

TEST(ExtenderBatchesTest, InSmallClustersAllNodesAreAskedAboutInTheirOrder) {
  ExtenderWorld world({Filter("x")});
  Lines want{"ask 0 filter p:"};
  for (int i = 0; i < 99; ++i) {
    world.Set(MakeNode(NodeName(i)));
    world.Set(MakePod("load-" + NodeName(i)).Node(NodeName(i)).Request("cpu", std::to_string(i % 3)));
    want.front() += " " + NodeName(i);
  }
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(world.Take(), want);
}

TEST(ExtenderBatchesTest, TheBestNodesAreAskedAbout) {
  BigWorld world({Filter("x"), Filter("y")});
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(Sorted(world.Question("ask 0 filter p:")), NodeNames(0, 100));
  world.Left({"n120", "n110"});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: n120 n110"}));
  world.Left({"n110"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to n110"}));
  EXPECT_EQ(world.core.decisions().Newest().feasible_count, 1U);
}

TEST(ExtenderBatchesTest, TheBestGoFirst) {
  BigWorld world({Filter("x")}, 60);
  world.Set(MakePod("p"));
  world.Run();
  Names names = world.Question("ask 0 filter p:");
  ASSERT_EQ(names.size(), 150U);
  EXPECT_EQ(Sorted({names.begin(), names.begin() + 100}), NodeNames(0, 100));
  for (const std::string& name : Names(names.begin() + 100, names.end())) {
    EXPECT_GE(name, NodeName(100));
    EXPECT_LT(name, NodeName(200));
  }
}

TEST(ExtenderBatchesTest, TheNodesThatPassAreFewEnough) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p").Request("cpu", "3"));
  world.Run();
  EXPECT_EQ(world.Question("ask 0 filter p:"), NodeNames(0, 100));
}

TEST(ExtenderBatchesTest, ThoseWhoOnlyScoreGetTheBest) {
  BigWorld world({Prioritizer("x", 100)});
  world.Set(MakePod("p"));
  world.Run();
  EXPECT_EQ(Sorted(world.Question("ask 0 prioritize p:")), NodeNames(0, 100));
  world.Scores({{"n177", 10}, {"n333", 10}});
  EXPECT_EQ(world.Take(), (Lines{"bind p to n177"})) << "n333 was not asked about";
}

TEST(ExtenderBatchesTest, AsLongAsAllAreRefusedTheNextBestFollow) {
  BigWorld world({Filter("x"), Filter("y"), Prioritizer("z", 1)});
  world.Set(MakePod("p"));
  world.Run();
  const Names first = world.Question("ask 0 filter p:");
  world.RefuseAll(first);
  const Names second = world.Question("ask 0 filter p:");
  EXPECT_EQ(Sorted(second), NodeNames(100, 200));
  world.Left({"n205", "n206"});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: n205 n206"}));
  world.Left({});
  EXPECT_EQ(Sorted(world.Question("ask 0 filter p:")), NodeNames(200, 250)) << "whoever of them refuses";
  world.Left({"n300", "n301"});
  EXPECT_EQ(world.Take(), (Lines{"ask 1 filter p: n300 n301"}));
  world.Left({"n300", "n301"});
  EXPECT_EQ(world.Take(), (Lines{"ask 2 prioritize p: n300 n301"}));
  world.Scores({{"n301", 1}});
  EXPECT_EQ(world.Take(), (Lines{"bind p to n301"}));
}

TEST(ExtenderBatchesTest, AfterTheLastBatchThePodIsRefused) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p"));
  world.Run();
  world.RefuseAll(world.Question("ask 0 filter p:"));
  world.RefuseAll(world.Question("ask 0 filter p:"), "too old");
  world.Question("ask 0 filter p:");
  world.RefuseAll(NodeNames(200, 230));
  const Lines lines = world.Take();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[1].starts_with(
      "Warning FailedScheduling p: 0/250 nodes are available: 100 too old, 130 no license. no new claims"))
      << lines[1] << ": of 20 nobody has said why";
  EXPECT_EQ(world.core.queue().Find("uid-default-p")->unschedulable_plugins, (Names{"Extender"}));
  // The next attempt begins with the best nodes again.
  world.Set(MakePod("other").Node("n349").Label("no", "matter"));
  world.Run(11s);
  EXPECT_EQ(Sorted(world.Question("ask 0 filter p:")), NodeNames(0, 100));
}

// The pod's refusing plugins include those that refused nodes of earlier batches.
TEST(ExtenderBatchesTest, ARefusalInAnEarlierBatchIsRemembered) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p").Request("cpu", "1"));
  world.Run();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(world.Question("ask 0 filter p:").size(), 100U);
    world.Left({});  // without a reason
  }
  const Names last = world.Question("ask 0 filter p:");
  EXPECT_EQ(last.size(), 50U);
  for (const std::string& name : last) world.Set(MakePod("big-" + name).Node(name).Request("cpu", "1"));
  world.Left(last);
  EXPECT_EQ(world.Take().size(), 2U);
  EXPECT_EQ(world.core.queue().Find("uid-default-p")->unschedulable_plugins, (Names{"Extender", "NodeResourcesFit"}));
}

TEST(ExtenderBatchesTest, NoMoreQuestionsAboutAPodThatPreFilterRefusesByThen) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p"));
  world.Run();
  world.RefuseAll(world.Question("ask 0 filter p:"));
  const Names second = world.Question("ask 0 filter p:");
  api::NodeSelectorTerm nowhere;
  for (const char* name : {"n100", "n101"})
    nowhere.match_fields.push_back({"metadata.name", api::SelectorOperator::kIn, {name}});
  world.Set(MakePod("p").RequiredTerms({nowhere}));
  world.Left(second);
  const Lines lines = world.Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines.front().starts_with("status p Unschedulable: 0/250 nodes are available: ")) << lines.front();
}

// The cycle ends with an error before most nodes have been asked about.
TEST(ExtenderBatchesTest, AnExtenderThatFailsInALaterBatchFailsThePod) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p"));
  world.Run();
  world.RefuseAll(world.Question("ask 0 filter p:"));
  world.Question("ask 0 filter p:");
  world.Break("down");
  EXPECT_EQ(world.Take(), (Lines{"status p SchedulerError: down", "Warning FailedScheduling p: down"}));
}

TEST(ExtenderBatchesTest, WhereWhatIsLeftIsFullByThenTheNextBestFollow) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p").Request("cpu", "1"));
  world.Run();
  world.Question("ask 0 filter p:");
  world.Set(MakePod("big").Node("n100").Request("cpu", "4"));
  world.RemoveNode("n101");
  world.RemoveNode("n222");
  world.Set(MakeNode("new"));
  world.Left({"n100", "n101"});
  Names second = world.Question("ask 0 filter p:");
  EXPECT_EQ(second.size(), 100U);
  EXPECT_EQ(std::count(second.begin(), second.end(), "n222"), 0) << "it is gone";
  EXPECT_EQ(std::count(second.begin(), second.end(), "new"), 0) << "it waits for the next attempt";
  world.Left({"n200"});
  EXPECT_EQ(world.Take(), (Lines{"bind p to n200"}));
}

TEST(ExtenderBatchesTest, ThePrioritizersScoresOfEarlierBatchesCount) {
  BigWorld world({Prioritizer("x", 1)});
  world.Set(MakePod("p").Request("cpu", "1"));
  world.Run();
  world.Question("ask 0 prioritize p:");
  for (int i = 0; i < 100; ++i) world.Set(MakePod("big-" + NodeName(i)).Node(NodeName(i)).Request("cpu", "4"));
  world.Scores({{"n150", 10}});
  EXPECT_EQ(world.Question("ask 0 prioritize p:").size(), 100U);
  world.Remove(MakePod("big-n150").Node("n150").Request("cpu", "4"));
  world.Scores({{"n200", 1}});
  EXPECT_EQ(world.Take(), (Lines{"bind p to n150"})) << "it has room again, and was asked about";
}

TEST(ExtenderBatchesTest, TheNominatedNodeGoesFirstAndAlone) {
  BigWorld world({Filter("x")});
  world.Set(MakePod("p").Nominated("n340"));
  world.Run();
  EXPECT_EQ(world.Take(), (Lines{"ask 0 filter p: n340"}));
  world.RefuseAll({"n340"});
  EXPECT_EQ(Sorted(world.Question("ask 0 filter p:")), NodeNames(0, 100));
}

// An ignorable extender that hangs costs its time limit once per cycle.
TEST(ExtenderBatchesTest, WhoFailedIsNotAskedAboutLaterBatches) {
  BigWorld world({Ignorable(Filter("x")), Ignorable(Filter("y")), Prioritizer("z", 1)});
  world.Set(MakePod("p").Request("cpu", "1"));
  world.Run();
  world.Question("ask 1 filter p:");
  world.Break("x is down");
  world.RefuseAll(world.Question("ask 2 filter p:"));
  world.Question("ask 2 filter p:");
  world.Left({"n200", "n201"});
  EXPECT_EQ(world.Take(), (Lines{"ask 0 prioritize p: n200 n201"}));
  for (const char* node : {"n200", "n201"})
    world.Set(MakePod(std::string("big-") + node).Node(node).Request("cpu", "2"));
  world.Break("z is down");
  EXPECT_EQ(world.Question("ask 2 filter p:").size(), 50U);
  world.Left({"n300", "n301"});
  const Lines lines = world.Take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front().substr(0, 13), "bind p to n30") << "z is not asked again";
  world.Answer();
  world.Take();
  world.Set(MakePod("q"));
  world.Run();
  EXPECT_EQ(world.Question("ask 1 filter q:").size(), 100U) << "about the next pod x is asked";
}

TEST(ExtenderBatchesTest, TheSeedDecidesAmongEquals) {
  const auto first = [](std::uint64_t seed) {
    BigWorld world({Filter("x")}, 1, seed, /*is_loaded=*/false);
    world.Set(MakePod("p"));
    world.Run();
    return world.Question("ask 0 filter p:");
  };
  const Names once = first(1);
  EXPECT_EQ(once.size(), 100U);
  EXPECT_EQ(first(1), once);
  EXPECT_NE(first(2), once);
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::string& name : first(seed)) seen.insert(std::move(name));
  }
  EXPECT_GT(seen.size(), 245U) << "each has its chance";
}

// As upstream, the limit is computed from the number of nodes that PreFilter leaves.
TEST(ExtenderBatchesTest, OfANarrowedSearchThePercentageIsOfWhatIsLeft) {
  std::vector<api::NodeSelectorTerm> terms(150);
  for (int i = 0; i < 150; ++i)
    terms[static_cast<std::size_t>(i)].match_fields = {{"metadata.name", api::SelectorOperator::kIn, {NodeName(i)}}};
  BigWorld world({Filter("x")}, 70);
  world.Set(MakePod("p").RequiredTerms(terms));
  world.Run();
  Names names = world.Question("ask 0 filter p:");
  ASSERT_EQ(names.size(), 105U);
  EXPECT_EQ(Sorted({names.begin(), names.begin() + 100}), NodeNames(0, 100));
  world.RefuseAll(names);
  EXPECT_EQ(world.Question("ask 0 filter p:").size(), 45U);
}

}  // namespace
}  // namespace berth::scheduler
