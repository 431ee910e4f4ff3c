// SPDX-License-Identifier: Apache-2.0
// The group chooser agrees with evaluating every row when so many pods matter to a class that its special rows do not
// fit beside an order that all classes share. Classes that see the same marks choose from one order.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/plugins/registry.h"

namespace berth::runtime {
namespace {

using framework::PodInfo;
using framework::PodInfoPtr;

constexpr int kNodes = 240;
constexpr int kApps = 6;
constexpr const char* kHostname = "kubernetes.io/hostname";
const std::vector<std::string> kColors = {"red", "yellow", "green"};

// A pod of one of three templates, with a label that no template's terms select.
testing::PodBuilder ColoredPod(const std::string& color, int app) {
  const auto term = testing::AffinityTerm(kHostname, testing::Labels({{"color", color}}));
  testing::PodBuilder pod = testing::MakePod("p").Request("cpu", "10m").Label("color", color);
  pod.Label("app", std::to_string(app));
  if (color == "red") pod.PreferredAffinity(1, term);
  if (color == "yellow") pod.PreferredAntiAffinity(2, term);
  if (color == "green") pod.AntiAffinity(term);
  return pod;
}

class GroupedChoice : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    auto made = MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle_);
    ASSERT_TRUE(made.ok());
    profile_ = std::move(made->front());
    all_rows_ = std::make_unique<Evaluator>(*profile_, EvaluatorOptions{.form = Form::kColumn, .with_detail = true});
    by_groups_ = std::make_unique<Evaluator>(*profile_, EvaluatorOptions{.form = Form::kReuse});
    for (int i = 0; i < kNodes; ++i) SetNode(i);
    // More pods of each color than special rows are evaluated one by one.
    for (const std::string& color : kColors) {
      for (int i = 0; i < 90; ++i) Run(ColoredPod(color, i % kApps), dice_.Below(kNodes));
    }
  }

  static std::string NodeName(int i) { return "n" + std::to_string(i); }
  void SetNode(int i) {
    cache_.SetNode(testing::MakeNode(NodeName(i)).Allocatable("cpu", dice_.Pick({"1", "2"})).Build());
  }
  void Run(testing::PodBuilder pod, int node) {
    running_.push_back("uid-" + std::to_string(next_pod_++));
    cache_.SetPod(classes_.MakePodInfo(pod.Uid(running_.back()).Node(NodeName(node)).Build()));
  }

  void ScheduleOne(testing::PodBuilder from) {
    const PodInfoPtr pod = classes_.MakePodInfo(from.Uid("uid-" + std::to_string(next_pod_++)).Build());
    const std::uint64_t seed = dice_.Seed();
    const Outcome& want = all_rows_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    const Outcome& got = by_groups_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    ASSERT_EQ(got.result, want.result);
    ASSERT_EQ(got.feasible_count, want.feasible_count);
    ASSERT_EQ(got.total, want.total);
    if (want.result != Result::kFeasible) return;
    ASSERT_NE(std::find(want.best.begin(), want.best.end(), got.node), want.best.end());
    running_.push_back(AssumeOn(cache_, *pod, got.node));
  }

  void ScheduleInTurns(int rounds) {
    for (int i = 0; i < rounds * kApps && !HasFatalFailure(); ++i) {
      for (const std::string& color : kColors) ScheduleOne(ColoredPod(color, i % kApps));
    }
  }

  Dice dice_{GetParam()};
  NullHandle handle_;
  cache::PodClasses classes_;
  cache::Cache cache_;
  std::unique_ptr<ProfilePlugins> profile_;
  std::unique_ptr<Evaluator> all_rows_, by_groups_;
  std::vector<std::string> running_;
  int next_pod_ = 0;
};

TEST_P(GroupedChoice, ClassesOfEqualMarksShareAnOrder) {
  ScheduleInTurns(3);
  // One shared order, and one for each template.
  EXPECT_EQ(by_groups_->UseOf("groups").kept_count, 1 + kColors.size());
}

TEST_P(GroupedChoice, AgreesWithAllRowsWhilePodsAndNodesComeAndGo) {
  for (int step = 0; step < 60 && !HasFatalFailure(); ++step) {
    if (dice_.OneIn(15)) by_groups_->DropIdle();
    switch (dice_.Below(6)) {
      case 0: SetNode(dice_.Below(kNodes)); break;
      case 1: cache_.RemoveNode(NodeName(dice_.Below(kNodes))); break;
      case 2: {  // distinguishes the classes by the label that no term selects
        const std::string app = std::to_string(dice_.Below(kApps));
        const auto term = testing::AffinityTerm(kHostname, testing::Labels({{"app", app}}));
        Run(testing::MakePod("q").AntiAffinity(term), dice_.Below(kNodes));
        break;
      }
      default:
        const auto at = static_cast<std::size_t>(dice_.Below(static_cast<int>(running_.size())));
        cache_.RemovePod(running_[at]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (int i = dice_.Below(6); i > 0 && !HasFatalFailure(); --i) {
      ScheduleOne(ColoredPod(dice_.PickFrom(kColors), dice_.Below(kApps)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroupedChoice, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace berth::runtime
