// SPDX-License-Identifier: Apache-2.0
// From any state, plans that are carried out one after the other come to an end: soon one plans nothing. And what a
// plan says holds: each pod moves once, to a node that has room for it and is not its own, and within budgets and
// limits.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/rebalance/rebalance_testing.h"

namespace berth::rebalance {
namespace {

// A thousand clusters in shares, so that some of them can be taken alone.
constexpr std::uint64_t kShares = 8;
constexpr std::uint64_t kSeedsInShare = 125;
// Of plans by price, which take long; the sanitizers (clang) take ten times as long.
#ifdef __clang__
constexpr std::uint64_t kOwnSeedsInShare = 20;
#else
constexpr std::uint64_t kOwnSeedsInShare = kSeedsInShare;
#endif
constexpr std::size_t kRoundsMax = 12;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  bool Percent(std::uint64_t percent) { return random_.Below(100) < percent; }
  std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }
  std::string Of(const std::vector<std::string>& from) { return from[random_.Below(from.size())]; }

 private:
  Random random_;
};

whatif::ClusterState RandomState(Chance& chance) {
  std::vector<testing::NodeBuilder> nodes;
  const std::uint64_t node_count = 2 + chance.Below(7);
  for (std::uint64_t i = 0; i < node_count; ++i) {
    auto node = testing::MakeNode("n" + std::to_string(i));
    node.Allocatable("cpu", chance.Of({"2", "4", "8"})).Label("zone", chance.Of({"a", "b", "c"}));
    node.Label("disk", chance.Of({"ssd", "hdd"}));
    if (chance.Percent(25)) node.Taint("gpu", "yes", api::TaintEffect::kNoSchedule);
    if (chance.Percent(15)) node.Taint("old", "", api::TaintEffect::kPreferNoSchedule);
    if (chance.Percent(8)) node.Unschedulable();
    nodes.push_back(node);
  }
  std::vector<testing::PodBuilder> pods;
  for (std::uint64_t i = 0; i < 2 + chance.Below(5); ++i) {
    const std::string app = "app" + std::to_string(i);
    const std::string cpu = chance.Of({"100m", "300m", "700m"});
    const std::uint64_t traits = chance.Below(64);
    const std::string disk = chance.Of({"ssd", "hdd"});
    for (std::uint64_t j = 0; j < 1 + chance.Below(8); ++j) {
      auto pod = whatif::RunningPod(app, app + "-" + std::to_string(j),
                                    "n" + std::to_string(chance.Percent(50) ? 0 : chance.Below(node_count)));
      pod.Request("cpu", cpu).Request("memory", "512Mi").Created(kTestNow - std::chrono::minutes(chance.Below(600)));
      if ((traits & 1) != 0) pod.Spread(testing::SpreadConstraint(1, "zone", testing::Labels({{"app", app}})));
      if ((traits & 2) != 0)
        pod.AntiAffinity(testing::AffinityTerm("kubernetes.io/hostname", testing::Labels({{"app", app}})));
      if ((traits & 12) == 4) pod.RequiredTerms({testing::Term({testing::In("disk", {disk})})});
      if ((traits & 12) == 8) pod.Preferred(50, testing::Term({testing::In("disk", {disk})}));
      if ((traits & 16) != 0) pod.Toleration("gpu", "Exists");
      pods.push_back(pod);
    }
  }
  return StateOf(nodes, pods);
}

// Some strategies, in an order of chance.
Policy RandomPolicy(Chance& chance) {
  std::vector<std::string> deschedule = {"RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaints",
                                         "RemovePodsViolatingInterPodAntiAffinity", "PodLifeTime"};
  std::vector<std::string> balance = {"RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint",
                                      "LowNodeUtilization", "HighNodeUtilization"};
  const auto some = [&chance](std::vector<std::string>& names) {
    std::string list;
    while (!names.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(chance.Below(names.size()));
      if (chance.Percent(60)) list += (list.empty() ? "" : ", ") + names[static_cast<std::size_t>(at)];
      names.erase(names.begin() + at);
    }
    return list;
  };
  const std::string plugins =
      "deschedule: {enabled: [" + some(deschedule) + "]}, balance: {enabled: [" + some(balance) + "]}";
  std::string config = R"([{name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType:
      [requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]}},
    {name: RemovePodsViolatingNodeTaints, args: {includePreferNoSchedule: true}},
    {name: RemovePodsViolatingInterPodAntiAffinity}, {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 18000}},
    {name: RemoveDuplicates}, {name: RemovePodsViolatingTopologySpreadConstraint},
    {name: HighNodeUtilization, args: {thresholds: {cpu: 20}}},
    {name: LowNodeUtilization, args: {thresholds: {cpu: 20, memory: 20}, targetThresholds: {cpu: 50, memory: 50})";
  config += chance.Percent(40) ? ", useDeviationThresholds: true" : "";
  config += "}}, {name: DefaultEvictor, args: {nodeFit: " + std::string(chance.Percent(50) ? "true" : "false") + "}}]";
  std::string flat;
  for (const char c : config) flat += c == '\n' ? ' ' : c;
  return PolicyOf(flat, plugins);
}

void CheckMoves(const whatif::ClusterState& before, const RebalancePlan& plan, const whatif::ClusterState& after) {
  std::map<std::string, int> moves_of;
  for (const PlannedMove& move : plan.moves) {
    EXPECT_EQ(++moves_of[move.uid], 1) << move.key;
    EXPECT_FALSE(move.to.empty());
    EXPECT_TRUE(move.from != move.to || move.strategy == "PodLifeTime") << move.key;
  }
  EXPECT_EQ(before.pods.size(), after.pods.size());
  // No node gets more than it has because of a move.
  const ClusterView was(before), is(after);
  for (NodeNumber i = 0; i < is.nodes().size(); ++i) {
    const NodeView& node = is.node(i);
    const bool got_more = node.requested.cpu_milli > was.node(i).requested.cpu_milli;
    EXPECT_TRUE(!got_more || node.requested.cpu_milli <= node.allocatable.cpu_milli) << node.name();
  }
}

class RebalancePlanPropertyTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RebalancePlanPropertyTest, EndsInAStateWhereNothingIsPlanned) {
  std::size_t moved = 0, second = 0, several = 0;
  const std::uint64_t first = GetParam() * kSeedsInShare + 1;
  for (std::uint64_t seed = first; seed < first + kSeedsInShare; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chance chance(seed);
    whatif::ClusterState state = RandomState(chance);
    const Policy policy = RandomPolicy(chance);
    std::size_t rounds = 0;
    while (true) {
      const RebalancePlan plan = PlanOf(state, policy);
      EXPECT_TRUE(plan.is_complete);
      if (plan.moves.empty()) break;
      ++rounds;
      ASSERT_LE(rounds, kRoundsMax) << "plans do not come to an end";
      moved += plan.moves.size();
      const whatif::ClusterState after = Applied(state, plan, kTestNow);
      CheckMoves(state, plan, after);
      state = after;
    }
    if (rounds > 1) ++second;
    if (rounds > 2) ++several;
  }
  // The clusters are such that there is something to do.
  EXPECT_GT(moved, kSeedsInShare);
  // A plan does all that can be done without moving a pod twice: rarely is there more to do.
  EXPECT_LE(second, kSeedsInShare / 20);
  EXPECT_EQ(several, 0u);
}

// The same nodes with prices and kinds.
whatif::ClusterState WithPricesAndSpot(const whatif::ClusterState& state, Chance& chance) {
  whatif::ClusterState changed = state;
  for (auto& node : changed.nodes) {
    api::Node with = *node;
    if (chance.Percent(80)) with.metadata.annotations.Set("berth.dev/price", chance.Of({"0.10", "0.40", "1.00"}));
    if (chance.Percent(40)) with.metadata.labels.Set("karpenter.sh/capacity-type", "spot");
    if (chance.Percent(10)) with.metadata.annotations.Set("berth.dev/reclaim-at", FormatRfc3339(kTestNow));
    node = std::make_shared<const api::Node>(std::move(with));
  }
  return changed;
}

// berth's own strategies, some of them, beside some of the descheduler's.
Policy RandomOwnPolicy(Chance& chance) {
  const auto some = [&chance](const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
      if (!chance.Percent(60)) continue;
      const bool is_first = list.empty();
      list = chance.Percent(50) ? name + (is_first ? "" : ", ") + list : list + (is_first ? "" : ", ") + name;
    }
    return list;
  };
  return PolicyOf(
      "[{name: BackToSpot}, {name: CheaperNode, args: {minStay: 0s, minSavingPercent: 1}}, {name: BetterScore}, "
      "{name: Consolidate, args: {nodesPerRound: 3}}, {name: ZoneRepair, args: {topologyKey: zone}}, "
      "{name: RemovePodsViolatingNodeTaints}, {name: RemoveDuplicates}, "
      "{name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}]",
      "deschedule: {enabled: [" + some({"BackToSpot", "RemovePodsViolatingNodeTaints"}) + "]}, balance: {enabled: [" +
          some({"CheaperNode", "BetterScore", "Consolidate", "ZoneRepair", "RemoveDuplicates", "LowNodeUtilization"}) +
          "]}");
}

TEST_P(RebalancePlanPropertyTest, OwnStrategiesEndTogether) {
  std::size_t moved = 0;
  const std::uint64_t first = GetParam() * kOwnSeedsInShare + 1;
  for (std::uint64_t seed = first; seed < first + kOwnSeedsInShare; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chance chance(seed);
    whatif::ClusterState state = WithPricesAndSpot(RandomState(chance), chance);
    const Policy policy = RandomOwnPolicy(chance);
    const bool chooses = chance.Percent(50);
    for (std::size_t rounds = 0;; ++rounds) {
      ASSERT_LE(rounds, kRoundsMax) << "plans do not come to an end";
      PlanOptions options;
      options.now = kTestNow;
      options.chooses_target = chooses;
      const auto plan = PlanRebalance(*whatif::ClusterOf(state), state, policy, options);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      if (plan->moves.empty()) break;
      moved += plan->moves.size();
      const whatif::ClusterState after = Applied(state, *plan, kTestNow);
      CheckMoves(state, *plan, after);
      state = after;
    }
  }
  EXPECT_GT(moved, kOwnSeedsInShare);
}

INSTANTIATE_TEST_SUITE_P(Shares, RebalancePlanPropertyTest, ::testing::Range(std::uint64_t{0}, kShares));

}  // namespace
}  // namespace berth::rebalance
