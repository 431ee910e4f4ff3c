// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/node_batches.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/cache.h"
#include "berth/testing/builders.h"

namespace berth::scheduler {
namespace {

using Names = std::vector<std::string>;

// Results of numFeasibleNodesToFind in kube-scheduler 1.36.3.
TEST(FeasibleNodesToFindTest, Table) {
  const struct {
    std::size_t node_count;
    std::int32_t percentage;
    std::size_t want;
  } cases[] = {
      {0, 0, 0},       {1, 0, 1},       {1, 50, 1},      {10, 0, 10},       {10, 40, 10},          {99, 1, 99},
      {100, 0, 100},   {100, 1, 100},   {101, 0, 100},   {101, 99, 100},    {101, 100, 101},       {204, 0, 100},
      {250, 0, 120},   {250, 60, 150},  {1000, 0, 420},  {1000, 40, 400},   {1000, 100, 1000},     {1000, 9, 100},
      {1000, 10, 100}, {1000, 11, 110}, {3000, 0, 780},  {5000, 0, 500},    {5000, 1, 100},        {5000, 50, 2500},
      {5624, 0, 337},  {5625, 0, 281},  {6000, 0, 300},  {6000, 40, 2400},  {6250, 0, 312},        {9999, 1, 100},
      {10099, 1, 100}, {10100, 1, 101}, {15000, 0, 750}, {100000, 0, 5000}, {100000, 100, 100000},
  };
  for (const auto& c : cases)
    EXPECT_EQ(FeasibleNodesToFind(c.node_count, c.percentage), c.want) << c.percentage << " % of " << c.node_count;
}

class NodeBatchesTest : public ::testing::Test {
 protected:
  NodeBatchesTest() {
    for (const char* name : {"a", "b", "c", "d", "e"}) cache_.SetNode(testing::MakeNode(name).Build());
    for (const framework::NodeIndex row : cache_.nodes().rows()) rows_.push_back(row);
  }
  void Begin(const std::vector<std::int64_t>& totals, std::size_t batch_size, std::uint64_t seed = 1) {
    batches_.Begin(rows_, totals, cache_.nodes(), batch_size, seed);
  }
  Names Take() { return batches_.Take(cache_.nodes()); }

  cache::Cache cache_;
  std::vector<framework::NodeIndex> rows_;
  NodeBatches batches_;
};

TEST_F(NodeBatchesTest, TheBestFirst) {
  EXPECT_EQ(Take(), Names{}) << "before it begins";
  Begin({10, -5, 30, 40, 20}, 2);
  EXPECT_EQ(Take(), (Names{"d", "c"}));
  EXPECT_EQ(Take(), (Names{"e", "a"}));
  EXPECT_EQ(Take(), (Names{"b"}));
  EXPECT_EQ(Take(), Names{});
}

TEST_F(NodeBatchesTest, OneBatchKeepsTheOrder) {
  Begin({}, 5);
  EXPECT_EQ(Take(), (Names{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(Take(), Names{});
}

TEST_F(NodeBatchesTest, NodesThatAreGoneMakeRoomForOthers) {
  Begin({10, -5, 30, 40, 20}, 2);
  EXPECT_EQ(Take(), (Names{"d", "c"}));
  cache_.RemoveNode("e");
  cache_.RemoveNode("d");
  EXPECT_EQ(Take(), (Names{"a", "b"}));
  EXPECT_EQ(Take(), Names{});
}

TEST_F(NodeBatchesTest, EqualsHaveTheSameChance) {
  std::map<std::string, int> first;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Begin({7, 7, 9, 7, 7}, 2, seed);
    const Names names = Take();
    ASSERT_EQ(names.front(), "c");
    ++first[names.back()];
  }
  for (const char* name : {"a", "b", "d", "e"}) {
    EXPECT_GT(first[name], 850) << name;
    EXPECT_LT(first[name], 1150) << name;
  }
}

}  // namespace
}  // namespace berth::scheduler
