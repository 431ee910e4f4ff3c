// SPDX-License-Identifier: Apache-2.0
// Explanations of refused pods on 5,000 nodes with 50,000 pods take a bounded number of evaluations. gtest prints the
// milliseconds of each; the cluster is loaded before the first.
#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/cache/cache.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/testing/builders.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr int kNodeCount = 5000;
constexpr int kPodsOnNode = 10;
constexpr int kZoneCount = 3;
// Beside the pods that a node could do without, of which up to 2,000 are tried.
constexpr std::size_t kEvaluationsMax = 600;
constexpr std::size_t kWithPodsLessMax = kEvaluationsMax + 2000;

class LargeCluster : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    state_ = std::make_unique<ClusterState>();
    for (int n = 0; n < kNodeCount; ++n) {
      const std::string name = "n" + std::to_string(n);
      auto node = MakeNode(name).Allocatable("cpu", "8").Allocatable("memory", "32Gi").Allocatable("pods", "110");
      node.Label("zone", "z" + std::to_string(n % kZoneCount)).Label("kubernetes.io/hostname", name);
      if (n % 10 == 0) node.Taint("gpu", "true", api::TaintEffect::kNoSchedule);
      state_->nodes.push_back(node.Build());
      for (int p = 0; p < kPodsOnNode; ++p) {
        auto pod = MakePod("r" + std::to_string(n) + "-" + std::to_string(p)).Node(name);
        pod.Request("cpu", "600m").Request("memory", "2Gi").Priority(100).Label("app", "a" + std::to_string(p));
        state_->pods.push_back(std::make_shared<const api::Pod>(pod.Build()));
      }
    }
    Pend(MakePod("large").Request("cpu", "6").Request("memory", "20Gi"));
    Pend(MakePod("selective").Request("cpu", "1").NodeSelector("disk", "ssd"));
    Pend(MakePod("apart")
             .Request("cpu", "1")
             .Label("app", "a1")
             .AntiAffinity(testing::AffinityTerm("zone", testing::Labels({{"app", "a1"}}))));
    Pend(MakePod("spread")
             .Request("cpu", "3")
             .Label("app", "a2")
             .Spread(testing::SpreadConstraint(1, "kubernetes.io/hostname", testing::Labels({{"app", "a2"}}),
                                               api::UnsatisfiableConstraintAction::kDoNotSchedule)));
    cluster_ = ClusterOf(*state_);
  }
  static void TearDownTestSuite() {
    cluster_.reset();
    state_.reset();
  }
  static void Pend(const testing::PodBuilder& pod) {
    state_->pods.push_back(std::make_shared<const api::Pod>(pod.Build()));
  }

  // The explanation of a refused pod.
  static Explanation Explain(const std::string& name) {
    auto said = ExplainPod(*cluster_, *state_, "default", name);
    EXPECT_TRUE(said.ok());
    EXPECT_EQ(said->state, PodState::kRefused);
    EXPECT_TRUE(said->changes && !said->changes->changes.empty());
    return std::move(*said);
  }

  static std::unique_ptr<ClusterState> state_;
  static std::unique_ptr<OfflineCluster> cluster_;
};
std::unique_ptr<ClusterState> LargeCluster::state_;
std::unique_ptr<OfflineCluster> LargeCluster::cluster_;

TEST_F(LargeCluster, IsLoaded) {
  EXPECT_EQ(cluster_->core().cache().pod_count(), std::size_t{kNodeCount * kPodsOnNode});
}
TEST_F(LargeCluster, TooLarge) { EXPECT_LE(Explain("large").changes->evaluation_count, kWithPodsLessMax); }
TEST_F(LargeCluster, ALabelThatNoNodeHas) {
  EXPECT_LE(Explain("selective").changes->evaluation_count, kEvaluationsMax);
}
TEST_F(LargeCluster, ApartFromPodsInAllZones) {
  EXPECT_LE(Explain("apart").changes->evaluation_count, kWithPodsLessMax);
}
TEST_F(LargeCluster, SpreadAndTooLarge) { EXPECT_LE(Explain("spread").changes->evaluation_count, kWithPodsLessMax); }

}  // namespace
}  // namespace berth::whatif
