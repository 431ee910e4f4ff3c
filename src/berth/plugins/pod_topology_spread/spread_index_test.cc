// SPDX-License-Identifier: Apache-2.0
// What SpreadIndex keeps is bounded, and right after it let go of something.
#include "berth/plugins/pod_topology_spread/spread_index.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/column_node_table.h"
#include "berth/plugins/pod_topology_spread/naive_spread.h"
#include "berth/plugins/pod_topology_spread/spread_counts.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using testing::In;
using testing::MakeNode;
using testing::MakePod;

class SpreadIndexTest : public ::testing::Test {
 protected:
  SpreadIndexTest() {
    for (int i = 0; i < 6; ++i) AddNode(i);
    for (int i = 0; i < 9; ++i) Run(MakePod("w" + std::to_string(i)).Label("app", "web"), i % 4);
    index_.Sync(table_);
  }

  void AddNode(int i) {
    table_.SetNode(MakeNode("n" + std::to_string(i)).Label("zone", "z" + std::to_string(i % 3)).Build());
  }
  NodeIndex Run(testing::PodBuilder pod, int node) {
    return table_.AddPod(pod.Node("n" + std::to_string(node)).Info());
  }
  void TakeLast(NodeIndex row) {
    const PodInfoPtr pod = table_.Info(row).pods().back();
    table_.RemovePod(row, pod->uid);
  }

  static PodInfoPtr Web(testing::PodBuilder pod) {
    return pod.Label("app", "web")
        .Spread(testing::SpreadConstraint(1, "zone", testing::Labels({{"app", "web"}})))
        .Info();
  }

  // The counts of a class; bound anew if they have to be.
  std::shared_ptr<SpreadCounts> Counts(const PodInfoPtr& pod, std::shared_ptr<SpreadCounts> counts = nullptr) {
    index_.Sync(table_);
    if (counts != nullptr && counts->IsOf(index_)) {
      counts->Update(index_);
      return counts;
    }
    counts = std::make_shared<SpreadCounts>(pod->pod_class, Constraints(*pod), std::vector<SpreadConstraint>(), true,
                                            index_);
    index_.Keep(counts);
    return counts;
  }

  static std::vector<SpreadConstraint> Constraints(const framework::PodInfo& pod) {
    return *CompileConstraints(pod.spec().topology_spread_constraints, pod.labels(),
                               api::UnsatisfiableConstraintAction::kDoNotSchedule);
  }

  void ExpectRight(const PodInfoPtr& pod, const SpreadCounts& counts) {
    const NaiveSpread naive(table_, *pod, Constraints(*pod));
    for (const auto& [zone, pods] : naive.counts(0)) {
      EXPECT_EQ(counts.hard().domains[0]->Count(counts.hard().key(0).Find(zone, table_)), pods) << zone;
    }
    EXPECT_EQ(counts.hard().domains[0]->size(), static_cast<std::int32_t>(naive.counts(0).size()));
  }

  cache::ColumnNodeTable table_;
  std::uint64_t numbers_ = 0;
  SpreadIndex index_{numbers_};
};

TEST_F(SpreadIndexTest, ClassesShareWhatTheyHaveInCommon) {
  const auto a = Counts(Web(MakePod("a")));
  const auto b = Counts(Web(MakePod("b").Label("x", "y")));
  EXPECT_EQ(a->hard().domains[0], b->hard().domains[0]);
  const auto picky = Counts(Web(MakePod("c").NodeSelector("zone", "z1")));
  EXPECT_EQ(a->hard().pods[0], picky->hard().pods[0]);
  EXPECT_EQ(a->hard().key_set, picky->hard().key_set);
  EXPECT_NE(a->hard().domains[0], picky->hard().domains[0]) << "it leaves nodes out";
  EXPECT_EQ(index_.selector_count(), 1u);
}

TEST_F(SpreadIndexTest, NoSelectorIsAnotherOneThanAnEmptyOne) {
  const auto none = index_.SelectorFor("default", std::nullopt, true);
  const auto empty = index_.SelectorFor("default", api::LabelSelector(), true);
  EXPECT_NE(none, empty);
  EXPECT_EQ(index_.selector_count(), 2u);
}

TEST_F(SpreadIndexTest, SurvivesThatClassesWithoutPodsAreForgotten) {
  const PodInfoPtr web = Web(MakePod("p"));
  auto counts = Counts(web);
  const std::uint64_t epoch = index_.epoch();
  for (int i = 0; i < 5000; ++i) {
    const NodeIndex row = Run(MakePod("x").Label("app", "x" + std::to_string(i)), 5);
    index_.Sync(table_);
    TakeLast(row);
    index_.Sync(table_);
  }
  EXPECT_NE(index_.epoch(), epoch);
  Run(MakePod("late").Label("app", "web"), 5);
  ExpectRight(web, *Counts(web, counts));
}

TEST_F(SpreadIndexTest, SurvivesThatLabelValuesGetNewNumbers) {
  const PodInfoPtr web = Web(MakePod("p"));
  auto counts = Counts(web);
  std::size_t bytes = 0;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t numbering = index_.numbering();
    auto labelled = MakeNode("labelled");
    for (int i = 0; i < 300; ++i) labelled.Label("label-" + std::to_string(i), "x");
    table_.SetNode(labelled.Build());
    for (int i = 0; i < 300; ++i) table_.LabelColumn("label-" + std::to_string(i));
    AddNode(6 + round);
    Run(MakePod("r" + std::to_string(round)).Label("app", "web"), 6 + round);
    counts = Counts(web, counts);
    EXPECT_NE(index_.numbering(), numbering);
    ExpectRight(web, *counts);
    if (round == 0) bytes = counts->hard().pods[0]->Bytes();
  }
  EXPECT_LE(counts->hard().pods[0]->Bytes(), bytes + 256) << "domains from before are gone";
}

TEST_F(SpreadIndexTest, BoundsSelectors) {
  const PodInfoPtr web = Web(MakePod("p"));
  const auto counts = Counts(web);
  const std::uint64_t epoch = index_.epoch();
  for (std::size_t i = 0; i < SpreadIndex::kSelectorsMax + 100; ++i) {
    index_.SelectorFor("default", api::LabelSelector{{In("app", {"a" + std::to_string(i)})}});
    ASSERT_LE(index_.selector_count(), SpreadIndex::kSelectorsMax);
  }
  EXPECT_NE(index_.epoch(), epoch);
  Run(MakePod("late").Label("app", "web"), 5);
  ExpectRight(web, *Counts(web, counts));
}

TEST_F(SpreadIndexTest, BoundsLayouts) {
  const PodInfoPtr web = Web(MakePod("p"));
  const auto counts = Counts(web);
  std::size_t bytes_max = 0;
  for (int i = 0; i < 6000; ++i) {
    const NodeIndex row = Run(MakePod("x").Label("app", "x"), 5);
    const PodInfoPtr picky = Web(MakePod("p").NodeSelector("zone", "z" + std::to_string(i)));
    const auto some = Counts(picky);
    if (i < 3 || i > 5990) ExpectRight(picky, *some);
    TakeLast(row);
    if (i % 64 == 0) bytes_max = std::max(bytes_max, index_.topology().Bytes());
  }
  EXPECT_LT(bytes_max, SpreadTopology::kLayoutsMax * 600u);
  EXPECT_LT(index_.topology().Bytes(), bytes_max / 2) << "it began anew";
  ExpectRight(web, *Counts(web, counts));
}

TEST_F(SpreadIndexTest, BoundsClasses) {
  const PodInfoPtr web = Web(MakePod("p"));
  const auto counts = Counts(web);
  const std::weak_ptr<SpreadCounts> kept = counts;
  const auto other = Counts(Web(MakePod("q")));
  for (std::size_t i = 0; i < SpreadIndex::kClassesMax; ++i) index_.Keep(other);
  EXPECT_FALSE(counts->IsOf(index_));
  EXPECT_EQ(kept.use_count(), 1) << "the index has let go of it";
}

}  // namespace
}  // namespace berth::plugins
