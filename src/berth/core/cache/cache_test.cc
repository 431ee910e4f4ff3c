// SPDX-License-Identifier: Apache-2.0
// The transitions of the state machine in cache.h, and their effect on the node's sums.
#include "berth/core/cache/cache.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::cache {
namespace {

using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

framework::PodInfoPtr On(const char* node, const char* cpu = "1") {
  return MakePod("p").Uid("u").Node(node).Request("cpu", cpu).Info();
}

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    a_ = cache_.SetNode(MakeNode("a").Build());
    b_ = cache_.SetNode(MakeNode("b").Build());
  }
  std::int64_t Requested(NodeIndex row) const { return cache_.nodes().columns().requested_cpu_milli[row]; }

  Cache cache_;
  NodeIndex a_ = 0;
  NodeIndex b_ = 0;
};

TEST_F(CacheTest, AssumeAndForget) {
  cache_.AssumePod(On("a"));
  EXPECT_TRUE(cache_.IsAssumed("u"));
  EXPECT_EQ(cache_.assumed_count(), 1u);
  EXPECT_EQ(cache_.pod_count(), 1u);
  EXPECT_EQ(Requested(a_), 1000);
  EXPECT_EQ((*cache_.FindPod("u"))->node_name, "a");
  cache_.ForgetPod("u");
  EXPECT_FALSE(cache_.IsAssumed("u"));
  EXPECT_EQ(cache_.assumed_count(), 0u);
  EXPECT_EQ(cache_.FindPod("u"), nullptr);
  EXPECT_EQ(Requested(a_), 0);
}

TEST_F(CacheTest, AssumeAndConfirmOnTheSameNode) {
  cache_.AssumePod(On("a"));
  EXPECT_EQ(cache_.SetPod(On("a")), Cache::PodChange::kConfirmed);
  EXPECT_FALSE(cache_.IsAssumed("u"));
  EXPECT_EQ(cache_.assumed_count(), 0u);
  EXPECT_EQ(Requested(a_), 1000);
  EXPECT_EQ(cache_.SetPod(On("a", "2")), Cache::PodChange::kUpdated);
  EXPECT_EQ(Requested(a_), 2000);
}

TEST_F(CacheTest, AConfirmationBringsTheNewestRequests) {
  cache_.AssumePod(On("a"));
  EXPECT_EQ(cache_.SetPod(On("a", "3")), Cache::PodChange::kConfirmed);
  EXPECT_EQ(Requested(a_), 3000);
}

TEST_F(CacheTest, AssumedPodThatRunsElsewhere) {
  cache_.AssumePod(On("a"));
  EXPECT_EQ(cache_.SetPod(On("b")), Cache::PodChange::kMoved);
  EXPECT_FALSE(cache_.IsAssumed("u"));
  EXPECT_EQ(cache_.assumed_count(), 0u);
  EXPECT_EQ(Requested(a_), 0);
  EXPECT_EQ(Requested(b_), 1000);
}

TEST_F(CacheTest, AddedUpdatedMovedRemoved) {
  EXPECT_EQ(cache_.SetPod(On("a")), Cache::PodChange::kAdded);
  EXPECT_EQ(cache_.SetPod(On("a")), Cache::PodChange::kUpdated);
  EXPECT_EQ(cache_.SetPod(On("b")), Cache::PodChange::kMoved);
  EXPECT_EQ(Requested(a_), 0);
  EXPECT_EQ(Requested(b_), 1000);
  EXPECT_TRUE(cache_.RemovePod("u"));
  EXPECT_FALSE(cache_.RemovePod("u"));
  EXPECT_EQ(Requested(b_), 0);
  EXPECT_EQ(cache_.pod_count(), 0u);
}

TEST_F(CacheTest, RemovingAnAssumedPodEndsTheAssumption) {
  cache_.AssumePod(On("a"));
  EXPECT_TRUE(cache_.RemovePod("u"));
  EXPECT_EQ(cache_.assumed_count(), 0u);
  EXPECT_EQ(Requested(a_), 0);
}

TEST_F(CacheTest, APodOutlivesItsNode) {
  cache_.AssumePod(On("a"));
  cache_.RemoveNode("a");
  EXPECT_EQ(cache_.nodes().Find("a"), framework::kNoNode);
  EXPECT_EQ(cache_.SetPod(On("a")), Cache::PodChange::kConfirmed);
  EXPECT_EQ(cache_.SetNode(MakeNode("a").Build()), a_);
  EXPECT_EQ(Requested(a_), 1000);
}

using CacheDeathTest = CacheTest;

TEST_F(CacheDeathTest, WhatTheCoreMustNotDo) {
  GTEST_FLAG_SET(death_test_style, "fast");
  cache_.AssumePod(On("a"));
  EXPECT_DEATH(cache_.AssumePod(On("b")), "added");
  cache_.SetPod(On("a"));
  EXPECT_DEATH(cache_.AssumePod(On("a")), "added");
  EXPECT_DEATH(cache_.ForgetPod("u"), "is_assumed");
  EXPECT_DEATH(cache_.ForgetPod("nobody"), "is_assumed");
}

}  // namespace
}  // namespace berth::cache
