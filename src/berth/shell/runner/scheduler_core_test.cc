// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/scheduler_core.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler_options.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/plugins/registry.h"
#include "berth/testing/builders.h"

namespace berth::runner {
namespace {

// Each look takes it on by a step.
class SteppingClock final : public Clock {
 public:
  Time Now() const override { return now_ += step; }
  Duration step{0};

 private:
  mutable Time now_{std::chrono::hours(1000)};
};

class SchedulerCoreTest : public ::testing::Test {
 protected:
  void Make(std::size_t bindings_max = 128) {
    auto profiles = runtime::MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle);
    ASSERT_TRUE(profiles.ok()) << profiles.error().message;
    auto scheduler =
        std::make_unique<scheduler::Scheduler>(scheduler::SchedulerOptions{}, handle, std::move(*profiles));
    SchedulerCore::Options options;
    options.bindings_max = [bindings_max] { return bindings_max; };
    options.on_decision = [this](const scheduler::Decision& decision) { decided.push_back(decision.node_name); };
    core = std::make_unique<SchedulerCore>(std::move(scheduler), clock, std::move(options));
  }
  TurnResult Turn(TurnRequest request, int pods = 0) {
    std::vector<scheduler::Input> inputs;
    if (pods > 0) inputs.emplace_back(scheduler::NodeSet{testing::MakeNode("n").Build()});
    for (int i = 0; i < pods; ++i) {
      inputs.emplace_back(
          scheduler::PodSet{std::make_shared<const api::Pod>(testing::MakePod("p" + std::to_string(i)).Build())});
    }
    request.now = clock.Now();
    outputs.clear();
    const TurnResult result = core->TakeTurn(request, inputs, outputs);
    EXPECT_TRUE(inputs.empty());
    return result;
  }
  int Bindings() const {
    int count = 0;
    for (const scheduler::Output& output : outputs) {
      const auto* write = std::get_if<scheduler::Write>(&output);
      count += write != nullptr && std::holds_alternative<framework::BindWrite>(write->write) ? 1 : 0;
    }
    return count;
  }

  SteppingClock clock;
  scheduler::CoreHandle handle{[](framework::PermitDecision) {}};
  std::vector<std::string> decided;
  std::vector<scheduler::Output> outputs;
  std::unique_ptr<SchedulerCore> core;
};

TEST_F(SchedulerCoreTest, TakesInputsInWithoutDecidingWhenItMayNot) {
  Make();
  TurnResult result = Turn({.may_decide = false}, 3);
  EXPECT_EQ(Bindings(), 0);
  EXPECT_FALSE(result.is_idle);
  result = Turn({.may_decide = true});
  EXPECT_EQ(Bindings(), 3);
  EXPECT_EQ(decided, (std::vector<std::string>{"n", "n", "n"}));
  EXPECT_EQ(result.counts.cycles, 3u);
  EXPECT_TRUE(result.has_open_writes);
  EXPECT_FALSE(result.has_more);
}

TEST_F(SchedulerCoreTest, DecidesNoMoreThanSoManyBindingsAhead) {
  Make(2);
  const TurnResult result = Turn({.may_decide = true}, 5);
  EXPECT_EQ(Bindings(), 2);
  EXPECT_FALSE(result.has_more) << "only an answer makes room";
  EXPECT_FALSE(result.is_idle);
}

TEST_F(SchedulerCoreTest, ATurnHasSoManyDecisions) {
  Make();
  const TurnResult result = Turn({.may_decide = true}, SchedulerCore::kDecisionsPerTurn + 1);
  EXPECT_EQ(Bindings(), SchedulerCore::kDecisionsPerTurn);
  EXPECT_TRUE(result.has_more);
  EXPECT_FALSE(result.took_long);
}

TEST_F(SchedulerCoreTest, ALongTurnIsCutShort) {
  Make();
  clock.step = std::chrono::milliseconds(3);
  const TurnResult result = Turn({.may_decide = true, .time_max = std::chrono::milliseconds(2)}, 5);
  EXPECT_EQ(Bindings(), 1);
  EXPECT_TRUE(result.took_long);
  EXPECT_TRUE(result.has_more);
}

TEST_F(SchedulerCoreTest, HasSettledWhenThereIsNothingToDo) {
  Make();
  EXPECT_TRUE(Turn({.may_decide = true}).is_idle);
  EXPECT_FALSE(Turn({.may_decide = false}).is_idle) << "it may not say so before everything is listed";
}

}  // namespace
}  // namespace berth::runner
