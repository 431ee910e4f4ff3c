// SPDX-License-Identifier: Apache-2.0
// Each chooser finds a node as good as that of the scan, its plain twin, and reports the same verdicts, over sequences
// in which nodes and pods are added, changed and deleted. A failure prints the seed that replays it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
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

struct Case {
  std::string_view chooser;
  bool are_pods_alike = true;       // a few templates; otherwise each pod is a class of its own
  bool do_pods_see_others = false;  // spread constraints
};

std::string NameOf(const Case& c) {
  std::string name(c.chooser);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

constexpr std::string_view kChoosers[] = {"blocks", "groups", "kept totals"};

class ChooserAgreesWithScan : public ::testing::TestWithParam<std::tuple<Case, std::uint64_t>> {
 protected:
  void SetUp() override {
    auto made = MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    profile_ = std::move(made->front());
    std::vector<std::string_view> others(std::begin(kChoosers), std::end(kChoosers));
    scan_ = std::make_unique<Evaluator>(
        *profile_, EvaluatorOptions{.form = Form::kPlain, .with_detail = true, .choosers_left_out = others});
    std::erase(others, case_.chooser);
    one_ = std::make_unique<Evaluator>(*profile_, EvaluatorOptions{.block_rows_min = 1, .choosers_left_out = others});
    for (int i = 0; i < kNodes; ++i) SetNode(i);
    for (int i = 0; i < 4; ++i) templates_.push_back(RandomTemplate());
  }

  void SetNode(int i) {
    testing::NodeBuilder node("n" + std::to_string(i));
    node.Label("kubernetes.io/hostname", "n" + std::to_string(i)).Label("zone", dice_.Pick({"a", "b", "c"}));
    node.Allocatable("cpu", dice_.Pick({"1", "2", "4"})).Allocatable("memory", dice_.Pick({"4Gi", "8Gi"}));
    cache_.SetNode(node.Allocatable("pods", dice_.Pick({"4", "110"})).Build());
  }

  testing::PodBuilder RandomTemplate() {
    testing::PodBuilder pod("p");
    pod.Request("cpu", dice_.Pick({"100m", "300m", "900m"}));
    if (dice_.OneIn(2)) pod.Request("memory", dice_.Pick({"100Mi", "1Gi"}));
    pod.Label("app", dice_.Pick({"a", "b"}));
    if (!case_.do_pods_see_others) return pod;
    using enum api::UnsatisfiableConstraintAction;
    const auto action = dice_.Pick({kDoNotSchedule, kScheduleAnyway});
    pod.Spread(testing::SpreadConstraint(1 + dice_.Below(3), "zone", testing::Labels({{"app", "a"}}), action));
    return pod;
  }

  PodInfoPtr NewPod() {
    testing::PodBuilder pod = dice_.PickFrom(templates_);
    pod.Uid("uid-" + std::to_string(next_pod_));
    if (!case_.are_pods_alike) pod.Request("cpu", std::to_string(100 + next_pod_) + "m");
    ++next_pod_;
    return classes_.MakePodInfo(pod.Build());
  }

  void ChangeCluster() {
    switch (dice_.Below(12)) {
      case 0: SetNode(dice_.Below(kNodes)); break;
      case 1: cache_.RemoveNode("n" + std::to_string(dice_.Below(kNodes))); break;
      default: {
        if (running_.empty() || !dice_.OneIn(3)) break;
        const auto at = static_cast<std::size_t>(dice_.Below(static_cast<int>(running_.size())));
        cache_.RemovePod(running_[at]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  void ScheduleOne() {
    const PodInfoPtr pod = NewPod();
    const std::uint64_t seed = dice_.Seed();
    const Outcome& want = scan_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    const Outcome& got = one_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{});
    ASSERT_EQ(got.result, want.result);
    ASSERT_EQ(got.total, want.total);
    ASSERT_EQ(got.feasible_count, want.feasible_count);
    ASSERT_EQ(got.is_scored, want.is_scored);
    ASSERT_EQ(Refusals(*one_), Refusals(*scan_));
    for (const NodeIndex row : cache_.nodes().rows())
      ASSERT_EQ(one_->StatusOf(row).Message(), scan_->StatusOf(row).Message());
    if (want.result != Result::kFeasible) return;
    ASSERT_NE(std::find(want.best.begin(), want.best.end(), got.node), want.best.end());
    running_.push_back(AssumeOn(cache_, *pod, got.node));
  }

  static constexpr int kNodes = 60;

  const Case case_ = std::get<0>(GetParam());
  Dice dice_{std::get<1>(GetParam())};
  NullHandle handle_;
  cache::PodClasses classes_;
  cache::Cache cache_;
  std::unique_ptr<ProfilePlugins> profile_;
  std::unique_ptr<Evaluator> scan_, one_;
  std::vector<testing::PodBuilder> templates_;
  std::vector<std::string> running_;
  int next_pod_ = 0;
};

TEST_P(ChooserAgreesWithScan, OverALongLife) {
  constexpr std::uint64_t kSteps = 150;
  for (std::uint64_t step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    ChangeCluster();
    ScheduleOne();
  }
  EXPECT_GT(one_->UseOf(case_.chooser).choice_count, kSteps / 3);
  EXPECT_EQ(scan_->UseOf("scan").choice_count, kSteps);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChooserAgreesWithScan,
                         ::testing::Combine(::testing::Values(Case{"blocks", false, false}, Case{"groups", true, true},
                                                              Case{"kept totals", true, false}),
                                            ::testing::Range<std::uint64_t>(1, 9)),
                         [](const auto& param) {
                           return NameOf(std::get<0>(param.param)) + "_" + std::to_string(std::get<1>(param.param));
                         });

TEST(NodeChoosers, AreAskedInThisOrder) {
  const ProfilePlugins profile;
  const Evaluator evaluator(profile, {});
  std::vector<std::string_view> names;
  for (const Evaluator::ChooserUse& use : evaluator.ChooserUses()) names.push_back(use.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"blocks", "groups", "kept totals", "scan"}));
}

}  // namespace
}  // namespace berth::runtime
