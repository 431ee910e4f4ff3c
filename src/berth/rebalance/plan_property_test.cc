// SPDX-License-Identifier: Apache-2.0
// From any state, plans that are carried out one after the other come to an end: soon one plans nothing. And what a
// plan says holds: each pod moves once, to a node that has room for it at that time and is not its own, and within
// budgets and limits. Chains are whole, and what makes room goes before what needs it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/chain_search.h"
#include "berth/rebalance/rebalance_testing.h"
#include "berth/rebalance/workloads.h"
#include "berth/whatif/eviction_budgets.h"

namespace berth::rebalance {
namespace {

// A thousand clusters in shares, so that some of them can be taken alone.
constexpr std::uint64_t kShares = 8;
constexpr std::uint64_t kSeedsInShare = 125;
// Small clusters, of which few need three moves in a chain.
constexpr std::uint64_t kChainSeedsInShare = 4 * kSeedsInShare;
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

// Nodes that are nearly full, of which the first have got a taint; each pod may be on two or three of them alone.
whatif::ClusterState CrowdedState(Chance& chance) {
  constexpr std::uint64_t kApps = 8, kCpuMilli = 4000, kStep = 500;
  const std::uint64_t node_count = 4 + chance.Below(5);
  const std::uint64_t tainted = 1 + chance.Below(2);
  const auto name_of = [](std::uint64_t node) { return "n" + std::to_string(node); };
  std::vector<testing::NodeBuilder> nodes;
  std::vector<testing::PodBuilder> pods;
  for (std::uint64_t i = 0; i < node_count; ++i) {
    auto node = testing::MakeNode(name_of(i));
    node.Allocatable("cpu", std::to_string(kCpuMilli) + "m").Allocatable("pods", chance.Of({"3", "110"}));
    if (i < tainted) node.Taint("gpu", "yes", api::TaintEffect::kNoSchedule);
    nodes.push_back(node);
    std::uint64_t free = i + 1 < node_count ? kCpuMilli : chance.Below(kCpuMilli);
    for (std::uint64_t j = 0; j < 3 && free >= kStep; ++j) {
      const std::uint64_t cpu = std::min(free, kStep * (1 + chance.Below(6)));
      free -= cpu;
      const std::string app = "app" + std::to_string(chance.Below(kApps));
      auto pod = whatif::RunningPod(app, "p" + std::to_string(i) + "-" + std::to_string(j), name_of(i));
      std::vector<std::string> places = {name_of(i), name_of(chance.Below(node_count))};
      if (chance.Percent(40)) places.push_back(name_of(chance.Below(node_count)));
      pod.Request("cpu", std::to_string(cpu) + "m")
          .RequiredTerms({testing::Term({testing::In("kubernetes.io/hostname", places)})});
      if (chance.Percent(i < tainted ? 30 : 50)) pod.Toleration("gpu", "Exists");
      pods.push_back(pod);
    }
  }
  std::vector<api::PodDisruptionBudget> budgets;
  for (std::uint64_t i = 0; i < kApps; ++i) {
    const std::string app = "app" + std::to_string(i);
    if (chance.Percent(40)) budgets.push_back(whatif::Budget(app, app, static_cast<std::int32_t>(chance.Below(3))));
  }
  return StateOf(nodes, pods, budgets);
}

// What a plan may do beside what budgets allow.
struct Bounds {
  std::uint64_t total = 1000;
  std::uint64_t per_node = 1000;
  AllowanceLimits allowance;
};

// Carries the plan out move by move.
void CheckSteps(const whatif::ClusterState& state, const RebalancePlan& plan, const Bounds& bounds) {
  ClusterView view(state);
  std::map<std::string, PodNumber> pod_of;
  for (PodNumber i = 0; i < view.pods().size(); ++i) pod_of[view.pod(i).pod->metadata.uid] = i;
  const Workloads workloads(state);
  std::map<std::string, std::size_t> pods_of, moved_of;
  for (const auto& pod : state.pods) ++pods_of[workloads.Of(*pod)];
  std::map<std::string, std::uint64_t> left_node;
  whatif::EvictionBudgets budgets(state);
  for (const PlannedMove& move : plan.moves) {
    SCOPED_TRACE(move.key + " from " + move.from + " to " + move.to);
    ASSERT_TRUE(pod_of.contains(move.uid));
    const PodNumber number = pod_of[move.uid];
    const api::Pod pod = *view.pod(number).pod;
    const whatif::BudgetAnswer answer = budgets.Ask(pod).answer;
    EXPECT_TRUE(answer == whatif::BudgetAnswer::kNone || answer == whatif::BudgetAnswer::kAllows);
    budgets.Take(pod);
    const auto to = view.FindNode(move.to);
    ASSERT_TRUE(to.has_value());
    EXPECT_TRUE(view.pod(number).required->Matches(*view.node(*to).node));
    EXPECT_FALSE(plugins::HasUntoleratedHardTaint(view.node(*to).node->taints, pod.spec.tolerations));
    view.MovePod(number, *to);
    const NodeView& node = view.node(*to);
    EXPECT_LE(node.requested.cpu_milli, node.allocatable.cpu_milli);
    EXPECT_LE(node.requested.pods, node.allocatable.pods);
    EXPECT_LE(++left_node[move.from], bounds.per_node);
    const std::string workload = workloads.Of(pod);
    EXPECT_LE(++moved_of[workload], bounds.allowance.per_workload.Of(pods_of[workload]));
  }
  EXPECT_LE(plan.moves.size(), std::min<std::uint64_t>(bounds.total, bounds.allowance.per_hour));
}

// Returns how many chains there are of each length.
std::map<std::size_t, std::size_t> CheckChains(const RebalancePlan& plan) {
  std::map<std::size_t, std::size_t> chains_of_length;
  for (std::size_t i = 0; i < plan.moves.size();) {
    std::size_t end = i + 1;
    while (end < plan.moves.size() && plan.moves[i].chain != 0 && plan.moves[end].chain == plan.moves[i].chain) ++end;
    for (std::size_t j = i; j < end; ++j) {
      const PlannedMove& move = plan.moves[j];
      EXPECT_EQ(move.makes_room_for.empty(), j + 1 == end) << move.key;
      if (j + 1 == end) break;
      bool is_later = false;
      for (std::size_t k = j + 1; k < end; ++k) is_later |= plan.moves[k].key == move.makes_room_for;
      EXPECT_TRUE(is_later) << move.key << " makes room for " << move.makes_room_for;
    }
    EXPECT_EQ(plan.moves[i].chain == 0, end == i + 1);
    if (end > i + 1) ++chains_of_length[end - i];
    i = end;
  }
  return chains_of_length;
}

TEST_P(RebalancePlanPropertyTest, ChainsKeepWhatHolds) {
  std::map<std::size_t, std::size_t> chains_of_length;
  const std::uint64_t first = GetParam() * kChainSeedsInShare + 1;
  for (std::uint64_t seed = first; seed < first + kChainSeedsInShare; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chance chance(seed);
    whatif::ClusterState state = CrowdedState(chance);
    Bounds bounds;
    if (chance.Percent(25)) bounds.total = 1 + chance.Below(5);
    if (chance.Percent(25)) bounds.per_node = 1 + chance.Below(2);
    bounds.allowance.per_workload.count = chance.Percent(50) ? 100 : 50;
    if (chance.Percent(25)) bounds.allowance.per_hour = 1 + chance.Below(5);
    const Policy policy =
        PolicyOf("[{name: RemovePodsViolatingNodeTaints}]", "deschedule: {enabled: [RemovePodsViolatingNodeTaints]}",
                 "maxNoOfPodsToEvictTotal: " + std::to_string(bounds.total) +
                     "\nmaxNoOfPodsToEvictPerNode: " + std::to_string(bounds.per_node) + "\n");
    PlanOptions options;
    options.now = kTestNow;
    options.chooses_target = chance.Percent(70);
    for (std::size_t rounds = 0;; ++rounds) {
      ASSERT_LE(rounds, kRoundsMax) << "plans do not come to an end";
      const MoveAllowance allowance(state, MoveLedger(), bounds.allowance, {}, kTestNow);
      options.allowance = &allowance;
      const auto plan = PlanRebalance(*whatif::ClusterOf(state), state, policy, options);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      if (plan->moves.empty()) break;
      CheckSteps(state, *plan, bounds);
      for (const auto& [length, count] : CheckChains(*plan)) chains_of_length[length] += count;
      const whatif::ClusterState after = Applied(state, *plan, kTestNow);
      CheckMoves(state, *plan, after);
      state = after;
    }
  }
  EXPECT_GT(chains_of_length[2], 50u);
  EXPECT_GT(chains_of_length[3], 10u);
  EXPECT_LE(chains_of_length.rbegin()->first, ChainSearch::kMovesMax);
}

INSTANTIATE_TEST_SUITE_P(Shares, RebalancePlanPropertyTest, ::testing::Range(std::uint64_t{0}, kShares));

}  // namespace
}  // namespace berth::rebalance
