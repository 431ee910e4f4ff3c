// SPDX-License-Identifier: Apache-2.0
// The evaluator with broken plugins, ties and limits. evaluator_property_test.cc tests that its forms agree.
#include "berth/core/runtime/evaluator.h"

#include <map>

#include <gtest/gtest.h>

#include "berth/core/runtime/runtime_testing.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/work_budget.h"

namespace berth::runtime {
namespace {

using framework::Code;
using framework::Cycle;
using framework::Dependency;
using framework::NodeInfo;
using framework::Normalization;
using framework::PodInfo;
using framework::PreFilterResult;
using framework::Status;
using testing::MakeNode;
using testing::MakePod;

class EvaluatorTest : public ::testing::TestWithParam<Form> {
 protected:
  EvaluatorTest() {
    options_.form = GetParam();
    for (const char* name : {"a", "b", "c"}) cache_.SetNode(MakeNode(name).Build());
  }

  Puppet& Add(std::string name, std::int64_t weight = 1) {
    const auto puppet = std::make_shared<Puppet>(std::move(name));
    Enable(profile_, puppet, weight);
    return *puppet;
  }

  // A plugin of an author.
  Puppet& AddOwn(std::string name) {
    Puppet& puppet = Add(std::move(name));
    profile_.own.push_back(&puppet);
    return puppet;
  }

  const Outcome& Evaluate(const framework::PodInfoPtr& pod, std::uint64_t seed = 1,
                          const ExtenderVerdicts* extenders = nullptr) {
    if (!evaluator_) evaluator_ = std::make_unique<Evaluator>(profile_, options_);
    return evaluator_->Evaluate(pod, cache_.nodes(), nullptr, seed, Time{}, extenders);
  }
  const Outcome& Evaluate(std::uint64_t seed = 1) { return Evaluate(pod_, seed); }

  cache::Cache cache_;
  cache::PodClasses classes_;
  framework::PodInfoPtr pod_ = classes_.MakePodInfo(MakePod("p").Build());
  ProfilePlugins profile_;
  EvaluatorOptions options_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_P(EvaluatorTest, ErrorsEndTheCycleAndAreNotKept) {
  const struct {
    const char* name;
    std::function<void(Puppet&, const bool& is_broken)> breaks;
    const char* want;
  } cases[] = {
      {"PreFilter fails",
       [](Puppet& p, const bool& is_broken) {
         p.pre_filter = [&](const Cycle&, const PodInfo&) {
           return PreFilterResult{is_broken ? Status::Error("oops") : Status(), {}};
         };
       },
       "running PreFilter plugin \"Puppet\": oops"},
      {"PreFilter throws",
       [](Puppet& p, const bool& is_broken) {
         p.pre_filter = [&](const Cycle&, const PodInfo&) -> PreFilterResult {
           if (is_broken) throw std::runtime_error("oops");
           return {};
         };
       },
       "running PreFilter plugin \"Puppet\": panic: oops"},
      {"Filter fails for one node",
       [](Puppet& p, const bool& is_broken) {
         p.filter = [&](const Cycle&, const PodInfo&, const NodeInfo& node) {
           return is_broken && node.name() == "b" ? Status::Error("oops") : Status();
         };
       },
       "running \"Puppet\" filter plugin: oops"},
      {"Filter throws something odd",
       [](Puppet& p, const bool& is_broken) {
         p.filter = [&](const Cycle&, const PodInfo&, const NodeInfo& node) {
           if (is_broken && node.name() == "c") throw 7;
           return Status();
         };
       },
       "running \"Puppet\" filter plugin: panic: unknown exception"},
      {"Filter waits",
       [](Puppet& p, const bool& is_broken) {
         p.filter = [&](const Cycle&, const PodInfo&, const NodeInfo&) {
           return is_broken ? Status::Wait() : Status();
         };
       },
       "running \"Puppet\" filter plugin: "},
      {"PreScore fails",
       [](Puppet& p, const bool& is_broken) {
         p.pre_score = [&](const Cycle&, const PodInfo&) { return is_broken ? Status::Error("oops") : Status(); };
       },
       "running PreScore plugin \"Puppet\": oops"},
      {"PreScore refuses, which it may not",
       [](Puppet& p, const bool& is_broken) {
         p.pre_score = [&](const Cycle&, const PodInfo&) {
           return is_broken ? Status::Unschedulable("oops") : Status();
         };
       },
       "running PreScore plugin \"Puppet\": oops"},
      {"Score fails",
       [](Puppet& p, const bool& is_broken) {
         p.score = [&](const Cycle&, const PodInfo&, const NodeInfo& node, Status& status) -> std::int64_t {
           if (is_broken && node.name() == "b") status = Status::Error("oops");
           return 0;
         };
       },
       "running Score plugins: plugin \"Puppet\" failed with: oops"},
      {"Score throws",
       [](Puppet& p, const bool& is_broken) {
         p.score = [&](const Cycle&, const PodInfo&, const NodeInfo&, Status&) -> std::int64_t {
           if (is_broken) throw std::runtime_error("oops");
           return 0;
         };
       },
       "running Score plugins: plugin \"Puppet\" failed with: panic: oops"},
      {"Score is out of range",
       [](Puppet& p, const bool& is_broken) {
         p.score = [&](const Cycle&, const PodInfo&, const NodeInfo& node, Status&) -> std::int64_t {
           return is_broken && node.name() == "b" ? 101 : 0;
         };
       },
       "applying score defaultWeights on Score plugins: plugin \"Puppet\" returns an invalid score 101, it should in "
       "the range of [0, 100] after normalizing (node \"b\")"},
      {"Score is out of range even when normalised",
       [](Puppet& p, const bool& is_broken) {
         p.normalization = Normalization::kMax;
         p.score = [&](const Cycle&, const PodInfo&, const NodeInfo& node, Status&) -> std::int64_t {
           return is_broken && node.name() == "b" ? -4 : 2;
         };
       },
       "applying score defaultWeights on Score plugins: plugin \"Puppet\" returns an invalid score -200, it should in "
       "the range of [0, 100] after normalizing (node \"b\")"},
      {"NormalizeScore fails",
       [](Puppet& p, const bool& is_broken) {
         p.normalization = Normalization::kCustom;
         p.normalize = [&](std::span<framework::NodeScore>) { return is_broken ? Status::Error("oops") : Status(); };
       },
       "running Normalize on Score plugins: plugin \"Puppet\" failed with: oops"},
      {"NormalizeScore throws",
       [](Puppet& p, const bool& is_broken) {
         p.normalization = Normalization::kCustom;
         p.normalize = [&](std::span<framework::NodeScore>) -> Status {
           if (is_broken) throw std::runtime_error("oops");
           return {};
         };
       },
       "running Normalize on Score plugins: plugin \"Puppet\" failed with: panic: oops"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    profile_ = ProfilePlugins();
    evaluator_.reset();
    bool is_broken = true;
    test.breaks(Add("Puppet"), is_broken);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Evaluate().result, Result::kError);
      EXPECT_EQ(Evaluate().error, test.want);
    }
    is_broken = false;
    EXPECT_EQ(Evaluate().result, Result::kFeasible) << Evaluate().error;
    EXPECT_EQ(Evaluate().feasible_count, 3u);
    // A kept verdict is dropped when its node changes.
    is_broken = true;
    for (const char* name : {"a", "b", "c"}) cache_.SetNode(MakeNode(name).Label("broken", "again").Build());
    if (std::string_view(test.name).starts_with("Filter") || std::string_view(test.name).starts_with("Score")) {
      EXPECT_EQ(Evaluate().error, test.want);
    }
    for (const char* name : {"a", "b", "c"}) cache_.SetNode(MakeNode(name).Build());
  }
}

// An author's plugin whose Filter or Score does a third of what the budget allows: on the third node it is spent.
TEST_P(EvaluatorTest, AnAuthorsPluginsShareTheBudgetOfACycle) {
  options_.own_work_max = 1200;
  for (const bool is_score : {false, true}) {
    profile_ = ProfilePlugins();
    evaluator_.reset();
    Puppet& puppet = AddOwn("Own");
    int calls = 0;
    int refused_charges = 0;
    std::int64_t units = 400;
    const auto work = [&](const Cycle& cycle) {
      ++calls;
      refused_charges += ChargeWork(cycle, units) ? 0 : 1;
    };
    if (is_score) {
      puppet.score = [&](const Cycle& cycle, const PodInfo&, const NodeInfo&, Status&) {
        work(cycle);
        return std::int64_t{1};
      };
    } else {
      puppet.filter = [&](const Cycle& cycle, const PodInfo&, const NodeInfo&) {
        work(cycle);
        return Status();
      };
    }
    const std::string want =
        is_score ? "running Score plugins: plugin \"Own\" failed with: over 1200 units of work in one cycle"
                 : "running \"Own\" filter plugin: over 1200 units of work in one cycle";
    for (int cycle = 1; cycle <= 2; ++cycle) {
      calls = refused_charges = 0;
      const Outcome& outcome = Evaluate();
      EXPECT_EQ(outcome.result, Result::kError);
      EXPECT_EQ(outcome.error, want) << "each cycle has a budget of its own";
      EXPECT_EQ(calls, 3) << "two of 450 pass, and the third spends the budget";
      EXPECT_EQ(refused_charges, 1);
    }
    units = 250;
    EXPECT_EQ(Evaluate().result, Result::kFeasible)
        << "three of 300, and what the calls of the other point are charged";
  }
}

TEST_P(EvaluatorTest, CallsThatChargeNothingAreBoundedInNumber) {
  options_.own_work_max = 2 * framework::WorkBudget::kUnitsPerCall;
  Puppet& puppet = AddOwn("Own");
  EXPECT_EQ(Evaluate().error, "running \"Own\" filter plugin: over 100 units of work in one cycle");
  EXPECT_EQ(puppet.filter_calls, 2);
  puppet.filter_calls = 0;
  // The trials of a preemption belong to the cycle.
  options_.own_work_max = 4 * framework::WorkBudget::kUnitsPerCall;
  evaluator_.reset();
  puppet.filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("no"); };
  EXPECT_EQ(Evaluate().result, Result::kRefused);
  framework::CycleState state = evaluator_->cycle().state.Clone();
  const NodeInfo& node = cache_.nodes().Info(0);
  EXPECT_EQ(evaluator_->RunFiltersWithNominatedPods(state, *pod_, node).Message(), "no");
  EXPECT_EQ(evaluator_->RunFiltersWithNominatedPods(state, *pod_, node).Message(),
            "running \"Own\" filter plugin: over 200 units of work in one cycle");
  EXPECT_EQ(puppet.filter_calls, 4);
}

TEST_P(EvaluatorTest, TheBudgetIsAskedAfterEachOtherPoint) {
  options_.own_work_max = 1000;
  const struct {
    const char* point;
    std::function<void(Puppet&)> spends;
    const char* want;
  } cases[] = {
      {"PreFilter",
       [](Puppet& p) {
         p.pre_filter = [](const Cycle& cycle, const PodInfo&) {
           ChargeWork(cycle, 2000);
           return PreFilterResult();
         };
       },
       "running PreFilter plugin \"Own\": over 1000 units of work in one cycle"},
      {"PreScore",
       [](Puppet& p) {
         p.pre_score = [](const Cycle& cycle, const PodInfo&) {
           ChargeWork(cycle, 2000);
           return Status();
         };
       },
       "running PreScore plugin \"Own\": over 1000 units of work in one cycle"},
  };
  for (const auto& test : cases) {
    for (const Dependency depends_on : {Dependency::kNode, Dependency::kCycle}) {
      profile_ = ProfilePlugins();
      evaluator_.reset();
      Puppet& puppet = AddOwn("Own");
      puppet.depends_on = {depends_on, depends_on, depends_on, depends_on};
      test.spends(puppet);
      // PreScore of a class may be called before any node is evaluated: then Filter is the first that is not called.
      const bool is_early =
          test.point == std::string("PreScore") && depends_on == Dependency::kNode && GetParam() != Form::kPlain;
      const std::string want =
          is_early ? "running \"Own\" filter plugin: over 1000 units of work in one cycle" : test.want;
      EXPECT_EQ(Evaluate().error, want) << test.point;
      EXPECT_EQ(Evaluate().error, want) << test.point << ", again";
      EXPECT_EQ(puppet.filter_calls > 0, !is_early && test.point == std::string("PreScore"));
    }
  }
}

TEST_P(EvaluatorTest, PluginsThatComeWithBerthAreNotCharged) {
  options_.own_work_max = 1;
  AddOwn("Own").filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status(); };
  profile_.own.clear();
  EXPECT_EQ(Evaluate().result, Result::kFeasible);
}

TEST(WorkBudget, CountsUnits) {
  framework::WorkBudget budget(10);
  EXPECT_TRUE(budget.Charge(10));
  EXPECT_TRUE(budget.Charge(-5)) << "nothing is given back";
  EXPECT_FALSE(budget.Charge(1));
  EXPECT_FALSE(budget.Charge(INT64_MAX)) << "and nothing overflows";
  EXPECT_TRUE(budget.IsSpent());
  budget.Begin();
  EXPECT_TRUE(budget.Charge(10));
}

TEST_P(EvaluatorTest, TheOnlyFeasibleNodeIsNotScored) {
  Puppet& p = Add("Puppet");
  p.filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.name() == "b" ? Status() : Status::Unschedulable("not b");
  };
  p.score = [](const Cycle&, const PodInfo&, const NodeInfo&, Status&) -> std::int64_t {
    throw std::runtime_error("oops");
  };
  ASSERT_EQ(Evaluate().result, Result::kFeasible) << Evaluate().error;
  EXPECT_EQ(Evaluate().node, cache_.nodes().Find("b"));
  EXPECT_FALSE(Evaluate().is_scored);
  EXPECT_EQ(Evaluate().total, 0);
}

TEST_P(EvaluatorTest, AFilterThatThrowsForOneNodeDoesNotHurtTheNominatedOne) {
  Add("Puppet").filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    if (node.name() == "b") throw std::runtime_error("oops");
    return Status();
  };
  const Outcome& outcome = Evaluate(classes_.MakePodInfo(MakePod("p").Nominated("c").Build()));
  ASSERT_EQ(outcome.result, Result::kFeasible) << outcome.error;
  EXPECT_EQ(outcome.node, cache_.nodes().Find("c"));
  EXPECT_TRUE(outcome.is_nominated_node);
}

TEST_P(EvaluatorTest, WhatRefusedTheNominatedNodeDoesNotHideTheOthers) {
  Add("Puppet").filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    if (node.name() == "a") return Status::Unschedulable("not a");
    return node.name() == "b" ? Status::Unschedulable("not b") : Status();
  };
  const Outcome& outcome = Evaluate(classes_.MakePodInfo(MakePod("p").Nominated("a").Build()));
  EXPECT_EQ(outcome.node, cache_.nodes().Find("c"));
  EXPECT_EQ(outcome.nominated_status.Message(), "not a");
  EXPECT_EQ(evaluator_->RefusalCounts().size(), 2u);
  EXPECT_EQ(evaluator_->StatusOf(cache_.nodes().Find("b")).Message(), "not b");
}

TEST_P(EvaluatorTest, ANominatedNodeOutsideANarrowedSearchIsRemembered) {
  Add("A").pre_filter = [](const Cycle&, const PodInfo&) { return PreFilterResult{Status(), {{"b"}}}; };
  Add("B").filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("full"); };
  const Outcome& outcome = Evaluate(classes_.MakePodInfo(MakePod("p").Nominated("a").Build()));
  ASSERT_EQ(outcome.result, Result::kRefused);
  EXPECT_EQ(outcome.unschedulable_plugins, (std::set<std::string>{"A", "B"}));
  EXPECT_EQ(evaluator_->StatusOf(0).code(), Code::kUnschedulable) << "evicting may help there";
  EXPECT_EQ(evaluator_->Message(), "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [A B], 2 full.");
}

TEST_P(EvaluatorTest, PreFilterRefusals) {
  const auto refuse = [](Status status) {
    return [status](const Cycle&, const PodInfo&) { return PreFilterResult{status, {}}; };
  };
  const auto narrow = [](std::set<std::string> names) {
    return [names](const Cycle&, const PodInfo&) { return PreFilterResult{Status(), names}; };
  };
  using PreFilterFn = std::function<PreFilterResult(const Cycle&, const PodInfo&)>;
  const struct {
    const char* name;
    std::vector<PreFilterFn> plugins;  // for A, B and C
    const char* message;
    std::set<std::string> rejectors;
  } cases[] = {
      {"refusal", {refuse(Status::Unschedulable("no"))}, "0/3 nodes are available: no.", {"A"}},
      {"the last refusal counts",
       {refuse(Status::Unschedulable("no")), refuse(Status::Unschedulable("never"))},
       "0/3 nodes are available: never.",
       {"B"}},
      {"an unresolvable one ends it",
       {refuse(Status::UnschedulableAndUnresolvable("no")), refuse(Status::Unschedulable("never"))},
       "0/3 nodes are available: no.",
       {"A"}},
      {"one plugin leaves no node", {narrow({})}, "0/3 nodes are available: node(s) didn't satisfy plugin A.", {"A"}},
      {"two plugins leave no node",
       {narrow({"a"}), narrow({"b"})},
       "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously.",
       {"A", "B"}},
      {"narrowed and then refused",
       {narrow({"a"}), refuse(Status::Unschedulable("no"))},
       "0/3 nodes are available: no.",
       {"A", "B"}},
      {"narrowed and then refused for good",
       {narrow({"a"}), refuse(Status::UnschedulableAndUnresolvable("no"))},
       "0/3 nodes are available: no.",
       {"B"}},
      {"narrowed to a node that does not exist",
       {narrow({"z"})},
       "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A].",
       {"A"}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    profile_ = ProfilePlugins();
    evaluator_.reset();
    const char* names[] = {"A", "B", "C"};
    for (std::size_t i = 0; i < test.plugins.size(); ++i) Add(names[i]).pre_filter = test.plugins[i];
    profile_.post_filter.clear();
    for (int i = 0; i < 2; ++i) {
      const Outcome& outcome = Evaluate();
      ASSERT_EQ(outcome.result, Result::kRefused) << outcome.error;
      EXPECT_EQ(outcome.unschedulable_plugins, test.rejectors);
      EXPECT_EQ(evaluator_->Message(), test.message);
    }
  }
}

// A plugin that is called in each cycle, beside one whose Skip is kept with the class.
TEST_P(EvaluatorTest, SkipsOfACycleAndSkipsThatAreKept) {
  const auto refuse = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.name() == "a" ? Status::Unschedulable("no") : Status();
  };
  Puppet& kept = Add("Kept");
  kept.pre_filter = [](const Cycle&, const PodInfo&) { return PreFilterResult{Status::Skip(), {}}; };
  kept.filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("not to be asked"); };
  Puppet& asked = Add("Asked");
  asked.depends_on.pre_filter = Dependency::kCycle;
  Status says;
  asked.pre_filter = [&](const Cycle&, const PodInfo&) { return PreFilterResult{says, {}}; };
  asked.filter = refuse;
  for (int round = 0; round < 3; ++round) {
    says = Status();
    EXPECT_EQ(Evaluate().feasible_count, 2u);
    says = Status::Skip();
    EXPECT_EQ(Evaluate().feasible_count, 3u);
    says = Status::Unschedulable("not now");
    EXPECT_EQ(Evaluate().result, Result::kRefused);
    EXPECT_EQ(evaluator_->Message(), "0/3 nodes are available: not now.");
    says = Status::Error("oops");
    EXPECT_EQ(Evaluate().error, "running PreFilter plugin \"Asked\": oops");
  }
  EXPECT_EQ(asked.pre_filter_calls, 12);
  // The first cycle of a class may be its only one, so that results are kept from the second one on.
  EXPECT_LE(kept.pre_filter_calls, GetParam() == Form::kReuse ? 2 : 12);
}

TEST_P(EvaluatorTest, Messages) {
  Puppet& p = Add("Puppet");
  for (int i = 0; i < 9; ++i) cache_.SetNode(MakeNode("n" + std::to_string(i)).Build());
  p.filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    if (node.name() == "a") return Status(Code::kUnschedulable, {"x", "y"});
    return node.name() == "b" || node.name() == "c" ? Status::Unschedulable("z") : Status::Unschedulable("x");
  };
  p.post_filter = [](const PodInfo&) {
    return framework::PostFilterResult{Status(Code::kUnschedulable, {"nobody to evict"}), true, ""};
  };
  ASSERT_EQ(Evaluate().result, Result::kRefused);
  // Reasons are sorted as strings.
  EXPECT_EQ(evaluator_->Message(), "0/12 nodes are available: 1 y, 10 x, 2 z.");
  EXPECT_TRUE(evaluator_->RunPostFilter().has_nomination);
  EXPECT_EQ(evaluator_->Message(), "0/12 nodes are available: 1 y, 10 x, 2 z. nobody to evict");
}

TEST_P(EvaluatorTest, ThePreemptionThatFoundNothingIsReported) {
  Puppet& first = Add("First");
  first.filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("x"); };
  const auto report = std::make_shared<const framework::PreemptionReport>();
  first.post_filter = [&](const PodInfo&) {
    return framework::PostFilterResult{Status::Unschedulable("nobody"), true, "", report};
  };
  Add("Second");
  ASSERT_EQ(Evaluate().result, Result::kRefused);
  EXPECT_EQ(evaluator_->RunPostFilter().preemption, report);
}

TEST_P(EvaluatorTest, PostFilterOrder) {
  using framework::PostFilterResult;
  using Fn = std::function<PostFilterResult(const PodInfo&)>;
  const auto say = [](PostFilterResult result) { return [result](const PodInfo&) { return result; }; };
  const struct {
    const char* name;
    Fn first, second;
    Code code;
    const char* node;
    bool has_nomination;
    const char* message;
  } cases[] = {
      {"success ends it", say({Status(), true, "a"}), say({Status::Unschedulable("second"), true, ""}), Code::kSuccess,
       "a", true, ""},
      {"both are asked", say({Status::Unschedulable("first"), false, ""}),
       say({Status::Unschedulable("second"), true, ""}), Code::kUnschedulable, "", true, " first, second"},
      {"the last nomination is kept", say({Status::Unschedulable("first"), true, "a"}),
       say({Status::Unschedulable("second"), false, ""}), Code::kUnschedulable, "a", true, " first, second"},
      {"unresolvable ends it", say({Status::UnschedulableAndUnresolvable("first"), false, ""}),
       say({Status(), true, "b"}), Code::kUnschedulableAndUnresolvable, "", false, " first"},
      {"an error ends it", say({Status::Error("first"), false, ""}), say({Status(), true, "b"}), Code::kError, "",
       false, " first"},
      {"so does an exception", [](const PodInfo&) -> PostFilterResult { throw std::runtime_error("oops"); },
       say({Status(), true, "b"}), Code::kError, "", false, " running PostFilter plugin \"First\": panic: oops"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    profile_ = ProfilePlugins();
    evaluator_.reset();
    Puppet& first = Add("First");
    first.filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("x"); };
    first.post_filter = test.first;
    Add("Second").post_filter = test.second;
    ASSERT_EQ(Evaluate().result, Result::kRefused);
    const PostFilterResult result = evaluator_->RunPostFilter();
    EXPECT_EQ(result.status.code(), test.code);
    EXPECT_EQ(result.has_nomination, test.has_nomination);
    EXPECT_EQ(result.nominated_node_name, test.node);
    EXPECT_EQ(evaluator_->Message(), std::string("0/3 nodes are available: 3 x.") + test.message);
    EXPECT_EQ(result.preemption, nullptr);
  }
}

// AddPod and RemovePod of this plugin fail.
class RigidPuppet final : public Puppet {
 public:
  using Puppet::Puppet;
  bool HasPreFilterExtensions() const override { return true; }
  Status AddPod(const Cycle&, const PodInfo&, const PodInfo&, const NodeInfo&) const override {
    return Status::Unschedulable("no room for more");
  }
  Status RemovePod(const Cycle&, const PodInfo&, const PodInfo&, const NodeInfo&) const override {
    throw std::runtime_error("oops");
  }
};

TEST_P(EvaluatorTest, DryRunsSayWhoFailed) {
  const auto rigid = std::make_shared<RigidPuppet>("Rigid");
  Enable(profile_, rigid);
  bool is_broken = false;
  rigid->filter = [&](const Cycle&, const PodInfo&, const NodeInfo&) {
    return is_broken ? Status::Error("oops") : Status::Unschedulable("x");
  };
  ASSERT_EQ(Evaluate().result, Result::kRefused);
  framework::CycleState state = evaluator_->cycle().state.Clone();
  const NodeInfo& node = cache_.nodes().Info(0);
  const auto refused = evaluator_->RunFiltersWithNominatedPods(state, *pod_, node);
  EXPECT_EQ(refused.code(), Code::kUnschedulable);
  EXPECT_EQ(refused.Message(), "x");
  is_broken = true;
  const auto broken = evaluator_->RunFiltersWithNominatedPods(state, *pod_, node);
  EXPECT_EQ(broken.code(), Code::kError);
  EXPECT_EQ(broken.Message(), "running \"Rigid\" filter plugin: oops");
  const auto added = evaluator_->RunAddPod(state, *pod_, *MakePod("q").Info(), node);
  EXPECT_EQ(added.code(), Code::kError);
  EXPECT_EQ(added.Message(), "running AddPod on PreFilter plugin \"Rigid\": no room for more");
  EXPECT_EQ(evaluator_->RunRemovePod(state, *pod_, *MakePod("q").Info(), node).Message(),
            "running RemovePod on PreFilter plugin \"Rigid\": panic: oops");

  // If a nominated pod cannot be added, the cycle ends with the same message.
  is_broken = false;
  const framework::PodInfoPtr nominated[] = {MakePod("q").Info()};
  framework::NominatedRows on_rows;
  on_rows.Set(0, nominated);
  const Outcome& outcome = evaluator_->Evaluate(pod_, cache_.nodes(), &on_rows, 1, Time{});
  EXPECT_EQ(outcome.result, Result::kError);
  EXPECT_EQ(outcome.error, "running AddPod on PreFilter plugin \"Rigid\": no room for more");
}

TEST_P(EvaluatorTest, DryRunsRespectNominatedPods) {
  Puppet& p = Add("Puppet");
  p.filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.pods().empty() ? Status() : Status::Unschedulable("taken");
  };
  const framework::PodInfoPtr on_a[] = {MakePod("equal").Info()}, on_b[] = {MakePod("low").Priority(-1).Info()};
  framework::NominatedRows on_rows;
  on_rows.Set(0, on_a);
  on_rows.Set(1, on_b);
  (void)Evaluate();
  (void)evaluator_->Evaluate(pod_, cache_.nodes(), &on_rows, 1, Time{});
  std::string got;
  for (framework::NodeIndex row = 0; row < 3; ++row) {
    framework::CycleState state;
    got += evaluator_->RunFiltersWithNominatedPods(state, *pod_, cache_.nodes().Info(row)).Message() + ";";
  }
  EXPECT_EQ(got, "taken;;;");
}

TEST_P(EvaluatorTest, DryRunsAfterAPreFilterRefusalRunThePodsOwnFilters) {
  Puppet& p = Add("Puppet");
  bool skips = true;
  p.depends_on.pre_filter = Dependency::kCycle;
  p.pre_filter = [&](const Cycle&, const PodInfo&) {
    return PreFilterResult{skips ? Status::Skip() : Status::Unschedulable("not now"), {}};
  };
  p.filter = [](const Cycle&, const PodInfo&, const NodeInfo&) { return Status::Unschedulable("x"); };
  ASSERT_EQ(Evaluate().result, Result::kFeasible);
  skips = false;
  ASSERT_EQ(Evaluate().result, Result::kRefused);
  framework::CycleState state;
  EXPECT_EQ(evaluator_->RunFiltersWithNominatedPods(state, *pod_, cache_.nodes().Info(0)).Message(), "x");
}

TEST_P(EvaluatorTest, TotalsOfMoreRowsThanExtendersAreAskedAbout) {
  Puppet& p = Add("Puppet", 3);
  int score_calls = 0;
  bool is_broken = false;
  p.depends_on.score = Dependency::kCycle;
  p.filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.name() == "a" ? Status::Unschedulable("no") : Status();
  };
  p.score = [&](const Cycle&, const PodInfo&, const NodeInfo& node, Status& status) -> std::int64_t {
    ++score_calls;
    if (is_broken) status = Status::Error("oops");
    return node.name() == "b" ? 7 : 20;
  };
  ExtenderVerdicts extenders;
  extenders.filters_only = true;
  extenders.scores["b"] = 1000;  // left from an earlier request: the plugins alone choose the nodes to ask about
  const auto evaluate = [&](std::size_t totals_above) -> const Outcome& {
    extenders.totals_above = totals_above;
    return Evaluate(pod_, 1, &extenders);
  };
  EXPECT_EQ(evaluate(SIZE_MAX).totals, std::vector<std::int64_t>());
  EXPECT_EQ(evaluate(2).totals, std::vector<std::int64_t>());
  EXPECT_EQ(score_calls, 0);
  const Outcome& scored = evaluate(1);
  EXPECT_EQ(scored.result, Result::kFeasible);
  EXPECT_EQ(scored.node, framework::kNoNode);
  EXPECT_EQ(scored.feasible.size(), 2U);
  EXPECT_EQ(scored.totals, (std::vector<std::int64_t>{21, 60}));
  is_broken = true;
  const Outcome& failed = evaluate(1);
  EXPECT_EQ(failed.result, Result::kError);
  EXPECT_EQ(failed.error, "running Score plugins: plugin \"Puppet\" failed with: oops");
  EXPECT_EQ(evaluate(2).result, Result::kFeasible);
}

TEST_P(EvaluatorTest, TiesAreBrokenByTheSeedAlone) {
  Add("Puppet").filter = [](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.name() == "refused" ? Status::Unschedulable("x") : Status();
  };
  cache_.SetNode(MakeNode("refused").Build());
  std::map<framework::NodeIndex, int> chosen;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const framework::NodeIndex node = Evaluate(seed).node;
    if (seed < 100) {
      EXPECT_EQ(Evaluate(seed).node, node);
    }
    ++chosen[node];
  }
  ASSERT_EQ(chosen.size(), 3u);
  for (const auto& [row, count] : chosen) {
    EXPECT_GT(count, 850) << row;
    EXPECT_LT(count, 1150) << row;
  }
}

TEST_P(EvaluatorTest, WhatRestsOnOtherObjectsIsAskedAgainWhenTheyChange) {
  Puppet& puppet = Add("Puppet");
  std::string refused = "a";
  puppet.filter = [&](const Cycle&, const PodInfo&, const NodeInfo& node) {
    return node.name() == refused ? Status::Unschedulable("x") : Status();
  };
  puppet.score = [&](const Cycle&, const PodInfo&, const NodeInfo& node, Status&) -> std::int64_t {
    return node.name() == "c" && refused == "a" ? 10 : 0;
  };
  EXPECT_EQ(cache_.nodes().Info(Evaluate().node).name(), "c");
  refused = "c";
  ++puppet.epoch;
  EXPECT_NE(cache_.nodes().Info(Evaluate().node).name(), "c");
  EXPECT_EQ(Evaluate().feasible_count, 2u);
}

TEST_P(EvaluatorTest, NoNodes) {
  Add("Puppet");
  for (const char* name : {"a", "b", "c"}) cache_.RemoveNode(name);
  EXPECT_EQ(Evaluate().result, Result::kNoNodes);
  EXPECT_EQ(evaluator_->Message(), "no nodes available to schedule pods");
  EXPECT_TRUE(evaluator_->RefusalCounts().empty());
  EXPECT_TRUE(evaluator_->StatusOf(0).IsSuccess());
}

INSTANTIATE_TEST_SUITE_P(Forms, EvaluatorTest, ::testing::Values(Form::kPlain, Form::kColumn, Form::kReuse),
                         [](const auto& form) {
                           return form.param == Form::kPlain    ? "Plain"
                                  : form.param == Form::kColumn ? "Column"
                                                                : "Reuse";
                         });

// ---- Results kept between the pods of a class ----

class ReuseTest : public EvaluatorTest {};

TEST_P(ReuseTest, TheNextPodCostsWhatChanged) {
  Puppet& p = Add("Puppet");
  p.pre_filter = [](const Cycle&, const PodInfo&) { return PreFilterResult(); };
  (void)Evaluate();
  EXPECT_EQ(p.pre_filter_calls, 1);
  EXPECT_EQ(p.filter_calls, 3);
  (void)Evaluate(classes_.MakePodInfo(MakePod("other").Build()));
  EXPECT_EQ(p.pre_filter_calls, 1);
  EXPECT_EQ(p.filter_calls, 3);
  cache_.SetNode(MakeNode("b").Unschedulable().Build());
  (void)Evaluate();
  EXPECT_EQ(p.filter_calls, 4);
  // Another class does not use them.
  (void)Evaluate(classes_.MakePodInfo(MakePod("q").Label("x", "y").Build()));
  EXPECT_EQ(p.pre_filter_calls, 2);
  EXPECT_EQ(p.filter_calls, 7);
}

TEST_P(ReuseTest, ClassesAreBounded) {
  Puppet& p = Add("Puppet");
  evaluator_ =
      std::make_unique<Evaluator>(profile_, EvaluatorOptions{.class_bytes_max = 20'000, .class_bytes_per_row_max = 0});
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    // Includes classes for which PreFilter refuses or fails, and which therefore keep little.
    if (i == 100)
      p.pre_filter = [](const Cycle&, const PodInfo&) { return PreFilterResult{Status::Unschedulable("no"), {}}; };
    if (i == 200)
      p.pre_filter = [](const Cycle&, const PodInfo&) { return PreFilterResult{Status::Error("oops"), {}}; };
    // The second pod of each class is the first one for which results are kept.
    for (int times = 0; times < 2; ++times) {
      (void)Evaluate(classes_.MakePodInfo(MakePod("p").Label("i", std::to_string(i)).Build()));
    }
    most = std::max(most, evaluator_->kept_count());
  }
  EXPECT_LE(most, 30u);
  EXPECT_GE(most, 2u);
}

TEST_P(ReuseTest, WhatIsNotUsedForAPeriodGoes) {
  Add("Puppet");
  const auto evaluate = [this](const char* label) {
    for (int times = 0; times < 2; ++times)
      (void)Evaluate(classes_.MakePodInfo(MakePod("p").Label("i", label).Build()));
  };
  evaluate("a");
  evaluate("b");
  const std::size_t both = evaluator_->kept_count();
  ASSERT_GE(both, 1u);
  evaluator_->DropIdle();
  EXPECT_EQ(evaluator_->kept_count(), both);
  evaluate("b");
  evaluator_->DropIdle();
  EXPECT_EQ(evaluator_->kept_count(), 1u);
  evaluator_->DropIdle();
  EXPECT_EQ(evaluator_->kept_count(), 0u);
}

TEST_P(ReuseTest, ReasonsThatNeverRepeatDoNotPileUp) {
  int call = 0;
  Puppet& p = Add("Puppet");
  p.depends_on.filter = Dependency::kCycle;
  p.filter = [&](const Cycle&, const PodInfo&, const NodeInfo&) {
    return Status::Unschedulable("call " + std::to_string(++call));
  };
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(Evaluate().result, Result::kRefused);
  EXPECT_EQ(evaluator_->Message(), "0/3 nodes are available: 1 call 8998, 1 call 8999, 1 call 9000.");
}

INSTANTIATE_TEST_SUITE_P(Forms, ReuseTest, ::testing::Values(Form::kReuse), [](const auto&) { return "Reuse"; });

}  // namespace
}  // namespace berth::runtime
