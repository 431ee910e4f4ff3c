// SPDX-License-Identifier: Apache-2.0
// Tests of the benchmark: every workload runs to its end and keeps its rules at a small size, the verifier detects
// errors, and counters count.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/registry.h"
#include "driver.h"
#include "recipes.h"
#include "rules.h"
#include "verifier.h"
#include "workload_table.h"
#include "workloads.h"

namespace berth::bench {
namespace {

using framework::Status;

// A core with the default profile, and a run of one workload on it.
struct Bench {
  explicit Bench(const std::string& name, Shape shape = {.nodes = 40}, int verify_every = 5)
      : workload(MakeWorkload(*FindWorkload(name), shape)), verifier(verify_every) {
    auto made = runtime::MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle);
    BERTH_CHECK(made.ok(), made.error().message);
    profiles = std::move(*made);
  }

  void Run() {
    core = std::make_unique<scheduler::Scheduler>(scheduler::SchedulerOptions{.seed = 1}, handle, std::move(profiles));
    driver = std::make_unique<Driver>(*core, workload, &verifier);
    driver->Prepare();
    result = driver->Run(meter);
  }

  Workload workload;
  Verifier verifier;
  Meter meter;
  scheduler::CoreHandle handle{[](framework::PermitDecision) {}};
  std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles;
  std::unique_ptr<scheduler::Scheduler> core;
  std::unique_ptr<Driver> driver;
  RunResult result;
};

class EveryWorkload : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryWorkload, BindsAllPodsAsThePlainEvaluationWould) {
  Bench bench(GetParam());
  bench.Run();
  EXPECT_EQ(bench.result.bound, static_cast<std::uint64_t>(bench.workload.shape.pods));
  EXPECT_EQ(bench.result.failure, "");
  EXPECT_EQ(bench.result.unconfirmed, 0u);
  EXPECT_GE(bench.result.events, bench.result.bound);
  EXPECT_GE(bench.result.cycles_us.size(), bench.result.bound);
  EXPECT_GT(bench.verifier.checked(), 0);
  EXPECT_EQ(bench.verifier.violations(), 0) << bench.verifier.first_violation();
  EXPECT_EQ(CheckCapacity(bench.workload, bench.driver->placements()), "");
  if (bench.workload.rule) {
    EXPECT_EQ(bench.workload.rule(bench.driver->placements()), "");
  }
  bench.driver->Clear();
  for (const int node : bench.driver->placements().measured()) EXPECT_EQ(node, kNowhere);
}

std::vector<std::string> WorkloadNames() {
  std::vector<std::string> names;
  for (const WorkloadEntry& entry : Workloads()) names.emplace_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, EveryWorkload, ::testing::ValuesIn(WorkloadNames()),
                         [](const auto& test) { return test.param; });

TEST(Workloads, TheSameSizesAgainGiveTheSamePlacements) {
  Bench first("mixed"), second("mixed");
  first.Run();
  second.Run();
  EXPECT_EQ(first.driver->placements().measured(), second.driver->placements().measured());
}

TEST(Workloads, EachPodIsAClassOfItsOwnWhereItShouldBe) {
  for (const auto& [name, classes] :
       std::vector<std::pair<std::string, std::size_t>>{{"unique", 40}, {"manyclasses", 80}, {"mixed", 40}}) {
    Bench bench(name);
    bench.Run();
    EXPECT_GE(bench.core->pod_classes().size(), classes) << name;
  }
}

TEST(Workloads, DeploymentsComeOneAfterAnotherOrInterleaved) {
  const Recipe apart = DeploymentPods(3, 7, false), mixed = DeploymentPods(3, 7, true);
  std::vector<int> apart_kinds, mixed_kinds;
  for (int i = 0; i < 7; ++i) {
    apart_kinds.push_back(apart.KindOf(i));
    mixed_kinds.push_back(mixed.KindOf(i));
  }
  EXPECT_EQ(apart_kinds, (std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(mixed_kinds, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Workloads, PodsAreOfTheProfileThatIsMeasured) {
  Bench bench("basic", {.nodes = 5});
  bench.profiles.front()->scheduler_name = "best-price";
  bench.Run();
  EXPECT_EQ(bench.result.bound, 0u) << "the pods are the default profile's";
  Bench own("basic", {.nodes = 5});
  own.profiles.front()->scheduler_name = own.workload.scheduler_name = "best-price";
  own.Run();
  EXPECT_EQ(own.result.bound, 10u);
}

TEST(Workloads, PodsOfPoliciesMayHaveOwners) {
  Bench bench("policies", {.nodes = 12, .deployments = 3});
  EXPECT_EQ(bench.workload.measured.kinds, 3);
  EXPECT_EQ(bench.workload.objects.size(), 3u);
  PodSource source(Group::kMeasured, bench.workload.measured);
  EXPECT_TRUE(source.Make(0)->metadata.controller.has_value());
  EXPECT_NE(source.Make(0)->metadata.annotations.Find("cluster.type"), nullptr);
  bench.Run();
  EXPECT_EQ(bench.result.bound, 24u);
}

TEST(Driver, PreemptionTakesAsManyAsItNeeds) {
  Bench bench("preemption", {.nodes = 10});
  bench.Run();
  EXPECT_EQ(bench.result.bound, 10u);
  EXPECT_EQ(bench.result.victims, 30u);
  EXPECT_GE(bench.result.cycles_us.size(), 20u);  // each is tried again once its victims are gone
  EXPECT_DOUBLE_EQ(PodsPerNodeDeviation(bench.driver->placements()), 0);
}

TEST(Driver, GivesUpWhenNothingMoves) {
  Bench bench("basic", {.nodes = 1, .existing = 0, .pods = 45});
  bench.Run();  // a node of four CPUs holds forty pods
  EXPECT_EQ(bench.result.bound, 40u);
  EXPECT_EQ(bench.result.failure, "");
  EXPECT_EQ(bench.verifier.violations(), 0) << bench.verifier.first_violation();
}

TEST(Verifier, NoticesWhatTheDefaultProfileWouldNotDo) {
  struct Case {
    const char* name;
    std::function<void(runtime::Puppet&)> misbehave;
  };
  const std::vector<Case> cases{
      {"a filter refuses a good node",
       [](runtime::Puppet& puppet) {
         puppet.filter = [](const framework::Cycle&, const framework::PodInfo&, const framework::NodeInfo& node) {
           return node.name() == "node-3" ? Status::Unschedulable("not today") : Status();
         };
       }},
      {"a score prefers a node",
       [](runtime::Puppet& puppet) {
         puppet.score = [](const framework::Cycle&, const framework::PodInfo&, const framework::NodeInfo& node,
                           Status&) { return node.name() == "node-3" ? 100 : 0; };
       }},
      {"all nodes are refused",
       [](runtime::Puppet& puppet) {
         puppet.filter = [](const framework::Cycle&, const framework::PodInfo&, const framework::NodeInfo&) {
           return Status::Unschedulable("not today");
         };
       }},
      {"a pod is placed where none fits", {}},
  };
  for (const Case& c : cases) {
    Bench bench("basic", {.nodes = 5, .existing = 0, .pods = 5}, 1);
    if (c.misbehave) {
      const auto puppet = std::make_shared<runtime::Puppet>("Bad");
      c.misbehave(*puppet);
      runtime::Enable(*bench.profiles.front(), puppet);
    } else {
      bench.profiles.front()->filter.clear();
      bench.workload.measured = Kinds({TooBig});
    }
    bench.Run();
    EXPECT_GT(bench.verifier.violations(), 0) << c.name;
    EXPECT_NE(bench.verifier.first_violation(), "") << c.name;
  }
}

TEST(Verifier, NoticesThatNobodyIsPreempted) {
  Bench bench("preemption", {.nodes = 3}, 1);
  bench.profiles.front()->post_filter.clear();
  bench.Run();
  EXPECT_EQ(bench.result.bound, 0u);
  EXPECT_GT(bench.verifier.violations(), 0);
  EXPECT_NE(bench.verifier.first_violation().find("preempts nowhere"), std::string::npos)
      << bench.verifier.first_violation();
}

TEST(PodSource, DistinguishesPodsAndLeavesThoseAloneThatSomebodyKept) {
  const Recipe recipe = Kinds({Basic, Affinity});
  PodSource source(Group::kMeasured, recipe);
  std::set<std::string> names, uids, versions;
  for (int i = 0; i < 6; ++i) {
    const auto& pod = source.Make(i);
    names.insert(pod->metadata.name);
    uids.insert(pod->metadata.uid);
    versions.insert(pod->metadata.resource_version);
    EXPECT_EQ(pod->metadata.uid.size(), 36u);
    EXPECT_EQ(NumberIn(pod->metadata.name), i);
    EXPECT_EQ(PodSource::GroupOf(pod->metadata.name), Group::kMeasured);
    EXPECT_EQ(pod->spec.pod_affinity.required.size(), i % 2 == 0 ? 0u : 1u);
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(uids.size(), 6u);
  EXPECT_EQ(versions.size(), 6u);
  const std::shared_ptr<api::Pod> kept = source.Make(6);
  kept->spec.node_name = "a";
  source.Make(8);
  EXPECT_EQ(kept->metadata.name, "pod-6");
  EXPECT_EQ(source.Make(8)->spec.node_name, "");
}

TEST(Rules, ReportWhatIsWrong) {
  const auto at = [](std::vector<int> existing, std::vector<int> measured) {
    return Placements{6, 3, {std::move(existing), std::move(measured), {}}};
  };
  const auto pinned = [](int i) { return i; };
  struct Case {
    const char* name;
    std::string got;
    bool is_fine;
  };
  const std::vector<Case> cases{
      {"one a node", CheckOnePerNode(at({0}, {1, 2, kNowhere, kNowhere}), true), true},
      {"two on a node", CheckOnePerNode(at({}, {1, 1}), true), false},
      {"with an existing one", CheckOnePerNode(at({1}, {1}), true), false},
      {"existing ones do not count", CheckOnePerNode(at({1}, {1}), false), true},
      {"apart", CheckApart(at({0}, {1, 1})), true},
      {"not apart", CheckApart(at({0}, {1, 0})), false},
      {"zones even", CheckZoneSpread(at({}, {0, 1, 2, 3}), 1, AllPods), true},
      {"zones uneven", CheckZoneSpread(at({}, {0, 3, 1}), 1, AllPods), false},
      {"uneven, but other pods", CheckZoneSpread(at({}, {0, 3, 1, 2}), 0, [](int i) { return i != 0; }), true},
      {"nodes even", CheckNodeSpread(at({}, {0, 1, 2, 3, 4}), 1), true},
      {"nodes uneven", CheckNodeSpread(at({}, {0, 0}), 1), false},
      {"right zones", CheckZones(at({}, {0, 1, 3, 4}), AllPods), true},
      {"wrong zone", CheckZones(at({}, {0, 5}), AllPods), false},
      {"pinned", CheckPinned(at({}, {0, 1, kNowhere}), pinned), true},
      {"elsewhere", CheckPinned(at({}, {0, 2}), pinned), false},
  };
  for (const Case& c : cases) EXPECT_EQ(c.got.empty(), c.is_fine) << c.name << ": " << c.got;
}

TEST(Rules, ANodeHoldsNoMoreThanItHas) {
  Workload workload = MakeWorkload(*FindWorkload("basic"), {.nodes = 2});
  Placements placements{2, 3, {{}, std::vector<int>(40, 1), {}}};
  EXPECT_EQ(CheckCapacity(workload, placements), "");
  placements.of[0] = {1};
  EXPECT_EQ(CheckCapacity(workload, placements), "node-1 holds more than it has");
  EXPECT_DOUBLE_EQ(PodsPerNodeDeviation(placements), 20.5);
}

TEST(Meter, CountsAllocations) {
  const Meter meter;
  const Reading before = meter.Read();
  {
    std::vector<std::unique_ptr<std::string>> strings;
    strings.reserve(100);
    for (int i = 0; i < 100; ++i) strings.push_back(std::make_unique<std::string>(1000, 'x'));
  }
  const Reading after = meter.Read();
  EXPECT_GE(after.allocations - before.allocations, 201u);
  EXPECT_GE(after.allocated_bytes - before.allocated_bytes, 100'000u);
  EXPECT_GE(after.wall_s, before.wall_s);
  EXPECT_GE(after.cpu_s, before.cpu_s);
  EXPECT_GT(after.rss_mib, 0);
  EXPECT_GE(after.rss_peak_mib, after.rss_mib);
}

}  // namespace
}  // namespace berth::bench
