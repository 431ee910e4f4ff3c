// SPDX-License-Identifier: Apache-2.0
// The whole core with SpotFirst: who is refused, with which words, and what brings the pod back.
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "berth/core/config/load.h"
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::plugins {
namespace {

using scheduler::Lines;
using testing::MakeNode;
using testing::MakePod;
using namespace std::chrono_literals;

constexpr const char* kSpotLabel = "karpenter.sh/capacity-type";
constexpr const char* kAnnotation = "berth.dev/spot";

testing::NodeBuilder Spot(std::string name) { return MakeNode(std::move(name)).Label(kSpotLabel, "spot"); }
testing::PodBuilder Web(std::string name) {
  return MakePod(std::move(name)).Controller("apps/v1", "ReplicaSet", "web");
}

scheduler::Profiles SpotFirstProfile(int share) {
  const auto configuration = config::LoadConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {multiPoint: {enabled: [{name: SpotFirst, weight: 1600}]}}
    pluginConfig: [{name: SpotFirst, args: {onDemandShare: )" +
                                                       std::to_string(share) + "}}]\n");
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  scheduler::Profiles profiles;
  auto made = runtime::MakeProfiles(*configuration, InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

class SpotFirstRetry : public ::testing::Test {
 protected:
  void Start(int share) { harness_ = std::make_unique<scheduler::Harness>(SpotFirstProfile(share)); }
  // What is said of the pod; all that is bound is bound at once.
  std::string Run() {
    harness_->Run(15s);
    std::string said;
    for (const std::string& line : harness_->Take()) {
      if (line.starts_with("bind ")) harness_->Answer();
      if (line.starts_with("bind ") || line.starts_with("status ")) said += (said.empty() ? "" : "\n") + line;
    }
    return said;
  }

  std::unique_ptr<scheduler::Harness> harness_;
};

TEST_F(SpotFirstRetry, APodThatInsistsWaitsForASpotNode) {
  Start(0);
  harness_->Set(MakeNode("a"));
  harness_->Set(MakePod("p").Annotation(kAnnotation, "required"));
  EXPECT_EQ(
      Run(),
      "status p Unschedulable: 0/1 nodes are available: 1 node(s) weren't spot nodes, which the pod requires. "
      "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
  harness_->Set(MakeNode("b"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 1U) << "no node for it";
  harness_->Set(Spot("a"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 0U);
  EXPECT_EQ(Run(), "bind p to a");
}

TEST_F(SpotFirstRetry, ABadAnnotationWaitsForAnother) {
  Start(0);
  harness_->Set(Spot("a"));
  harness_->Set(MakePod("p").Annotation(kAnnotation, "maybe"));
  const std::string said = Run();
  EXPECT_NE(said.find("annotation berth.dev/spot: \"maybe\" is none of preferred, required, never"), std::string::npos)
      << said;
  harness_->Set(Spot("b"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 1U) << "no node helps";
  harness_->Set(MakePod("p").Annotation(kAnnotation, "required"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 0U);
  EXPECT_TRUE(Run().starts_with("bind p to "));
}

TEST_F(SpotFirstRetry, AShareThatIsDueWaitsForAnOnDemandNode) {
  Start(50);
  harness_->Set(Spot("a"));
  harness_->Set(Web("p"));
  EXPECT_EQ(Run(),
            "status p Unschedulable: 0/1 nodes are available: 1 node(s) were spot nodes, of which the pod's controller "
            "may use no more yet. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is "
            "not helpful for scheduling.");
  harness_->Set(MakePod("other").Node("a"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 1U) << "of no concern";
  harness_->Set(MakeNode("b"));
  EXPECT_EQ(Run(), "bind p to b");
  harness_->Set(Web("q"));
  EXPECT_EQ(Run(), "bind q to a");
}

TEST_F(SpotFirstRetry, AShareThatIsDueWaitsForItsControllersPods) {
  Start(50);
  harness_->Set(Spot("a"));
  harness_->Set(MakeNode("b").Allocatable("pods", "1"));
  harness_->Set(MakePod("full").Node("b"));
  harness_->Set(Web("spot").Node("a"));
  harness_->Set(Web("p"));
  EXPECT_TRUE(Run().starts_with("status p Unschedulable: 0/2 nodes are available: "));
  // Another one starts on demand, by somebody else's hand.
  harness_->Set(Web("q").Node("b"));
  EXPECT_EQ(harness_->core.queue().unschedulable_count(), 0U);
  EXPECT_TRUE(Run().starts_with("status p Unschedulable: ")) << "one of three is not half of them";
  harness_->Remove(Web("spot").Node("a"));
  EXPECT_EQ(Run(), "bind p to a");
}

}  // namespace
}  // namespace berth::plugins
