// SPDX-License-Identifier: Apache-2.0
// Random and RoundRobin in the runtime: the three forms of evaluation choose the same node, and it is the one that the
// policy is defined by, beside all default plugins.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/runtime/runtime_testing.h"
#include "berth/plugins/helper/ready_profile_testing.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using runtime::Dice;
using runtime::Evaluator;
using runtime::Form;
using runtime::Outcome;
using runtime::Result;

class PickingForms : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void Live(const std::string& policy, std::string_view plugin) {
    testing::FakeHandle handle;
    const auto profiles = ReadyPlugins(policy, handle);
    runtime::ProfilePlugins& profile = *profiles.front();
    Evaluator plain(profile, {.form = Form::kPlain, .with_detail = true});
    Evaluator column(profile, {.form = Form::kColumn});
    Evaluator reuse(profile, {.form = Form::kReuse, .block_rows_min = 1});
    Dice dice(GetParam());
    cache::PodClasses classes;
    cache::Cache cache;
    std::vector<testing::PodBuilder> templates;
    for (int i = 0; i < 3; ++i)
      templates.push_back(runtime::RandomPod(dice, "t" + std::to_string(i)).SchedulerName(policy));
    const int names = dice.Pick({5, 20, 80});
    const auto any_node = [&] { return "n" + std::to_string(dice.Below(names)); };
    for (int i = 0; i < names / 2; ++i) cache.SetNode(runtime::RandomNode(dice, any_node()).Build());
    std::size_t orders = 0;
    for (int step = 0; step < 150; ++step) {
      if (dice.OneIn(4)) cache.SetNode(runtime::RandomNode(dice, any_node()).Build());
      if (dice.OneIn(6)) cache.RemoveNode(any_node());
      testing::PodBuilder builder = dice.PickFrom(templates);
      const auto pod = classes.MakePodInfo(builder.Uid("uid-" + std::to_string(step)).Build());
      const std::uint64_t seed = dice.Seed();
      const Outcome& want = plain.Evaluate(pod, cache.nodes(), nullptr, seed, Time{});
      for (Evaluator* evaluator : {&column, &reuse}) {
        const Outcome& got = evaluator->Evaluate(pod, cache.nodes(), nullptr, seed, Time{});
        ASSERT_EQ(got.result, want.result) << got.error << want.error << " at step " << step;
        ASSERT_EQ(got.node, want.node) << " at step " << step;
        ASSERT_EQ(got.total, want.total) << " at step " << step;
        ASSERT_EQ(got.feasible_count, want.feasible_count) << " at step " << step;
      }
      orders = std::max(orders, reuse.UseOf("groups").kept_count);
      if (want.result != Result::kFeasible) continue;
      for (const auto& [name, scores] : want.scores) {
        if (name != plugin) continue;
        const auto at = std::find(want.feasible.begin(), want.feasible.end(), want.node) - want.feasible.begin();
        ASSERT_EQ(scores[static_cast<std::size_t>(at)], 100) << "the policy decides";
        ASSERT_EQ(std::count(scores.begin(), scores.end(), 100), 1);
        ++scored_;
      }
      const std::string node = cache.nodes().Info(want.node).name();
      for (framework::ReservePlugin* reserve : profile.reserve) {
        if (reserve->Name() == plugin) (void)reserve->Reserve(plain.cycle(), *pod, node);
      }
      if (dice.OneIn(3)) continue;
      auto placed = std::make_shared<framework::PodInfo>(*pod);
      placed->node_name = node;
      cache.AssumePod(placed);
    }
    EXPECT_GT(orders, 0u) << "no choice was made by groups";
  }

  int scored_ = 0;
};

TEST_P(PickingForms, OfRandom) { Live("random", names::kRandom); }
TEST_P(PickingForms, OfRoundRobin) { Live("round-robin", names::kRoundRobin); }

INSTANTIATE_TEST_SUITE_P(Seeds, PickingForms, ::testing::Range<std::uint64_t>(1, 31));

// The default plugins would rather have some of these nodes than others.
TEST(RandomProperty, EveryFeasibleNodeHasTheSameChanceWhateverOthersSay) {
  testing::FakeHandle handle;
  const auto profiles = ReadyPlugins("random", handle);
  for (const Form form : {Form::kPlain, Form::kReuse}) {
    Evaluator evaluator(*profiles.front(), {.form = form});
    Dice dice(7);
    cache::PodClasses classes;
    cache::Cache cache;
    for (int i = 0; i < 30; ++i) {
      auto node = testing::MakeNode("n" + std::to_string(i)).Allocatable("cpu", std::to_string(1 + i));
      if (i % 3 == 0) node.Taint("soft", "", api::TaintEffect::kPreferNoSchedule);
      if (i % 5 == 0) node.Taint("hard", "", api::TaintEffect::kNoSchedule);
      cache.SetNode(node.Build());
    }
    const auto pod = classes.MakePodInfo(testing::MakePod("p").SchedulerName("random").Request("cpu", "500m").Build());
    const int cycles = form == Form::kPlain ? 2'400 : 24'000;
    std::map<std::string, int> counts;
    for (int i = 0; i < cycles; ++i) {
      const Outcome& outcome = evaluator.Evaluate(pod, cache.nodes(), nullptr, dice.Seed(), Time{});
      ASSERT_EQ(outcome.feasible_count, 24u);
      ++counts[cache.nodes().Info(outcome.node).name()];
    }
    ASSERT_EQ(counts.size(), 24u);
    const double expected = cycles / 24.0;
    double chi_square = 0;
    for (const auto& [name, count] : counts) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 49.73) << "23 degrees of freedom: one seed in a thousand";
  }
}

}  // namespace
}  // namespace berth::plugins
