// SPDX-License-Identifier: Apache-2.0
// The block chooser agrees with the plain form for pods that are each a class of their own, over long sequences in
// which nodes and pods are added, changed and deleted. A failure prints the seed that replays it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/plugins/registry.h"

namespace berth::runtime {
namespace {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;

class BlocksAgree : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
    for (config::PluginConfig& plugin : configuration.profiles.front().plugin_config) {
      auto* fit = std::get_if<config::NodeResourcesFitArgs>(&plugin.args);
      if (fit == nullptr || dice_.OneIn(2)) continue;
      using enum config::ScoringStrategyType;
      fit->scoring_strategy.type = dice_.Pick({kLeastAllocated, kMostAllocated});
      fit->scoring_strategy.resources = {{"memory", 3}, {"cpu", 1}};
    }
    auto made = MakeProfiles(configuration, plugins::InTreePlugins(), handle_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    profile_ = std::move(made->front());
    plain_ = std::make_unique<Evaluator>(*profile_, EvaluatorOptions{.form = Form::kPlain, .with_detail = true});
    blocks_ =
        std::make_unique<Evaluator>(*profile_, EvaluatorOptions{.with_detail = dice_.OneIn(4), .block_rows_min = 1});
    // Some runs have several blocks, others have nodes that fill up.
    name_count_ = dice_.Pick({5, 40, 700});
    are_alike_ = dice_.OneIn(2);
    are_some_odd_ = dice_.OneIn(2);
    soft_taints_ = are_some_odd_ && dice_.OneIn(3);
    for (int i = 0; i < name_count_; ++i) SetNode(i);
    for (int i = name_count_ > 100 ? name_count_ : 0; i > 0; --i) Place("n" + std::to_string(dice_.Below(name_count_)));
  }

  void SetNode(int i) {
    testing::NodeBuilder node("n" + std::to_string(i));
    const auto of = [this](int small, int range) { return std::to_string(small + dice_.Below(range)); };
    node.Allocatable("cpu", are_alike_ ? "4" : dice_.Pick({"4", "8", "3920m"}));
    node.Allocatable("memory", are_alike_ ? "32Gi" : of(16'000'000, 1000) + "Ki");
    node.Allocatable("pods", are_alike_ ? "30" : of(2, 20));
    using enum api::TaintEffect;
    if (are_some_odd_ && dice_.OneIn(40)) node.Taint("odd", "", soft_taints_ ? PickEffect() : kNoSchedule);
    if (are_some_odd_ && dice_.OneIn(100)) node.Unschedulable();
    if (are_some_odd_ && dice_.OneIn(100)) node.Allocatable("cpu", dice_.Pick({"0", "1000000000000"}));
    cache_.SetNode(node.Build());
  }

  api::TaintEffect PickEffect() {
    using enum api::TaintEffect;
    return dice_.Pick({kNoSchedule, kPreferNoSchedule});
  }

  PodInfoPtr NewPod(const std::string& node_name) {
    testing::PodBuilder pod("pod-" + std::to_string(next_pod_));
    pod.Uid("uid-" + std::to_string(next_pod_)).Label("app", "app-" + std::to_string(next_pod_));
    ++next_pod_;
    if (!dice_.OneIn(8)) pod.Request("cpu", std::to_string(1 + dice_.Below(dice_.OneIn(4) ? 3000 : 300)) + "m");
    if (!dice_.OneIn(8)) pod.Request("memory", std::to_string(100 + dice_.Below(3000)) + "Mi");
    if (dice_.OneIn(30)) pod.Request("ephemeral-storage", "1Gi");
    if (dice_.OneIn(3)) pod.Toleration(dice_.Pick({"odd", ""}), "Exists");
    if (!node_name.empty()) pod.Node(node_name);
    return classes_.MakePodInfo(pod.Build());
  }

  void Place(const std::string& node_name) {
    const PodInfoPtr pod = NewPod(node_name);
    cache_.SetPod(pod);
    running_.push_back(pod->uid);
  }

  void ChangeCluster() {
    switch (dice_.Below(30)) {
      case 0: SetNode(dice_.Below(name_count_)); break;
      case 1: cache_.RemoveNode("n" + std::to_string(dice_.Below(name_count_))); break;
      case 2: Place("n" + std::to_string(dice_.Below(name_count_ + 2))); break;
      default: {
        if (running_.empty() || !dice_.OneIn(4)) break;
        const auto at = static_cast<std::size_t>(dice_.Below(static_cast<int>(running_.size())));
        cache_.RemovePod(running_[at]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  void ScheduleOne() {
    const PodInfoPtr pod = NewPod("");
    const std::uint64_t seed = dice_.Seed();
    const Outcome& want = plain_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    const Outcome& got = blocks_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    ASSERT_EQ(got.result, want.result);
    ASSERT_EQ(got.total, want.total);
    ASSERT_EQ(got.feasible_count, want.feasible_count);
    ASSERT_EQ(got.is_scored, want.is_scored);
    ASSERT_EQ(Refusals(*blocks_), Refusals(*plain_));
    if (!got.best.empty()) {
      ASSERT_EQ(got.best, want.best);
      ASSERT_EQ(got.totals, want.totals);
    }
    if (got.result != Result::kFeasible) return;
    ASSERT_NE(std::find(want.best.begin(), want.best.end(), got.node), want.best.end());
    for (int i = 0; i < 3; ++i) {
      const NodeIndex row =
          cache_.nodes().rows()[static_cast<std::size_t>(dice_.Below(static_cast<int>(cache_.nodes().rows().size())))];
      ASSERT_EQ(blocks_->StatusOf(row).Message(), plain_->StatusOf(row).Message());
    }
    running_.push_back(AssumeOn(cache_, *pod, got.node));
  }

  Dice dice_{GetParam()};
  NullHandle handle_;
  cache::PodClasses classes_;
  cache::Cache cache_;
  std::unique_ptr<ProfilePlugins> profile_;
  std::unique_ptr<Evaluator> plain_, blocks_;
  std::vector<std::string> running_;
  int name_count_ = 0;
  bool are_alike_ = false;
  bool are_some_odd_ = false;
  bool soft_taints_ = false;
  int next_pod_ = 0;
};

TEST_P(BlocksAgree, OverALongLife) {
  for (int step = 0; step < 250 && !HasFatalFailure(); ++step) {
    ChangeCluster();
    ScheduleOne();
  }
  EXPECT_GT(blocks_->UseOf("blocks").choice_count, name_count_ > 100 && !soft_taints_ ? 150U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BlocksAgree, ::testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace berth::runtime
