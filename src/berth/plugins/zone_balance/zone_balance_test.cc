// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/zone_balance/zone_balance.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/zone_balance/zone_pools.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::kNoRawScore;
using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;
using Weights = ZoneBalanceArgs::Weights;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kOldZone = "failure-domain.beta.kubernetes.io/zone";

testing::NodeBuilder In(std::string zone, std::string name) { return MakeNode(std::move(name)).Label(kZone, zone); }
testing::PodBuilder Web(std::string name) {
  return MakePod(std::move(name)).Controller("apps/v1", "ReplicaSet", "web");
}

TEST(ZonePools, ZoneNames) {
  const auto name = [](const testing::NodeBuilder& node) { return std::string(ZonePools::ZoneNameOf(*node.Build())); };
  EXPECT_EQ(name(MakeNode("n")), "");
  EXPECT_EQ(name(MakeNode("n").Label(kZone, "a")), "a");
  EXPECT_EQ(name(MakeNode("n").Label(kOldZone, "a")), "a");
  EXPECT_EQ(name(MakeNode("n").Label(kZone, "new").Label(kOldZone, "old")), "new");
  EXPECT_EQ(name(MakeNode("n").Label(kZone, "").Label(kOldZone, "old")), "old");
  EXPECT_EQ(name(MakeNode("n").Label(kZone, "")), "");
}

TEST(ZoneBalanceArgs, AreReadAndChecked) {
  const auto read = [](const std::string& json) {
    const auto args = ReadZoneBalanceArgs(config::RawArgs{json});
    return args.ok() ? std::string(args->weights == Weights::kEqual ? "equal" : "free") : args.error().message;
  };
  EXPECT_EQ(read("{}"), "free");
  EXPECT_EQ(read(R"({"weights":"freeCapacity"})"), "free");
  EXPECT_EQ(read(R"({"weights":"equal"})"), "equal");
  EXPECT_EQ(read(R"({"weights":"big"})"),
            "plugin \"ZoneBalance\": args.weights: Unsupported value: \"big\": supported values: \"equal\", "
            "\"freeCapacity\"");
  for (const char* bad : {R"({"weights":7})", R"({"zones":[]})", "7"}) EXPECT_NE(read(bad), "free") << bad;
}

TestedPlugin Balance(const ZoneBalanceArgs& args) {
  testing::FakeHandle handle;
  return CreateZoneBalance(args, handle);
}

class ZoneBalanceTest : public ::testing::Test {
 protected:
  // The raw scores of the nodes, in the order of their names, when all but `infeasible` are feasible; "-" for one that
  // comes after all others.
  std::string Scores(const TestedPlugin& plugin, const testing::PodBuilder& pod,
                     const std::vector<std::string>& infeasible = {}) {
    const auto info = pod.Info();
    cluster_.Forget();
    std::vector<NodeIndex> feasible;
    std::map<std::string, NodeIndex> by_name;
    for (const NodeIndex row : cluster_.table().rows()) {
      const std::string& name = cluster_.table().Info(row).name();
      if (std::find(infeasible.begin(), infeasible.end(), name) != infeasible.end()) continue;
      feasible.push_back(row);
      by_name[name] = row;
    }
    const auto status = plugin.PreScore(cluster_.cycle(), *info, feasible);
    EXPECT_EQ(status.IsSkip(), plugin.PreScoreSkips(cluster_.cycle(), *info));
    if (status.IsSkip()) return "skip";
    std::vector<std::int64_t> column(cluster_.table().row_count());
    framework::Status said;
    plugin.ScoreRows(cluster_.cycle(), *info, feasible, column, said);
    EXPECT_TRUE(said.IsSuccess());
    std::string text;
    for (const auto& [name, row] : by_name) {
      const std::int64_t score = cluster_.Score(plugin, *info, name);
      EXPECT_EQ(column[row], score);
      text += (text.empty() ? "" : " ") + name + ":" + (score == kNoRawScore ? "-" : std::to_string(score));
    }
    return text;
  }

  void Run(testing::PodBuilder pod, const std::string& node) {
    cluster_.Add(pod.Uid("uid" + std::to_string(next_++)).Node(node));
  }

  TestCluster cluster_;
  int next_ = 0;
};

TEST_F(ZoneBalanceTest, TheZoneWithTheFewestPodsOfTheOwnerIsDue) {
  const TestedPlugin plugin = Balance({});
  for (const char* zone : {"a", "b", "c"}) cluster_.Add(In(zone, zone));
  EXPECT_EQ(Scores(plugin, Web("p")), "a:0 b:0 c:0");
  Run(Web("w"), "a");
  EXPECT_EQ(Scores(plugin, Web("p")), "a:1 b:0 c:0");
  Run(Web("w").Request("cpu", "100m"), "b");
  Run(Web("w").Label("version", "2"), "a");
  EXPECT_EQ(Scores(plugin, Web("p")), "a:2 b:1 c:0");
  // Of another owner, who takes no room to speak of.
  EXPECT_EQ(Scores(Balance({Weights::kEqual}), MakePod("p").Controller("apps/v1", "ReplicaSet", "db")), "a:0 b:0 c:0");
  Run(MakePod("x").Controller("apps/v1", "ReplicaSet", "db"), "c");
  EXPECT_EQ(Scores(Balance({Weights::kEqual}), Web("p")), "a:2 b:1 c:0");
}

TEST_F(ZoneBalanceTest, PodsWithoutAnOwnerBelongTogetherByNamespaceAndLabels) {
  const TestedPlugin plugin = Balance({Weights::kEqual});
  for (const char* zone : {"a", "b"}) cluster_.Add(In(zone, zone));
  Run(MakePod("x").Label("app", "web"), "a");
  EXPECT_EQ(Scores(plugin, MakePod("p").Label("app", "web")), "a:1 b:0");
  EXPECT_EQ(Scores(plugin, MakePod("p").Label("app", "web").Namespace("other")), "a:0 b:0");
  EXPECT_EQ(Scores(plugin, MakePod("p").Label("app", "db")), "a:0 b:0");
}

TEST_F(ZoneBalanceTest, OldAndNewLabelsNameTheSameZones) {
  const TestedPlugin plugin = Balance({Weights::kEqual});
  cluster_.Add(In("a", "a1"));
  cluster_.Add(MakeNode("a2").Label(kOldZone, "a"));
  cluster_.Add(MakeNode("b").Label(kOldZone, "b"));
  Run(Web("w"), "a2");
  EXPECT_EQ(Scores(plugin, Web("p")), "a1:1 a2:1 b:0");
  cluster_.Add(In("b", "a2"));  // it moves, and its pod with it
  EXPECT_EQ(Scores(plugin, Web("p")), "a1:0 a2:1 b:1");
}

TEST_F(ZoneBalanceTest, NodesWithoutAZoneComeLast) {
  const TestedPlugin plugin = Balance({Weights::kEqual});
  cluster_.Add(MakeNode("none"));
  EXPECT_EQ(Scores(plugin, Web("p")), "skip") << "all nodes are alike";
  cluster_.Add(In("a", "a"));
  EXPECT_EQ(Scores(plugin, Web("p")), "a:0 none:-");
  cluster_.table().RemoveNode("none");
  EXPECT_EQ(Scores(plugin, Web("p")), "skip") << "one zone";
}

TEST_F(ZoneBalanceTest, OnlyZonesWhereThePodCanGoCount) {
  const TestedPlugin plugin = Balance({Weights::kEqual});
  for (const char* zone : {"a", "b", "c"}) cluster_.Add(In(zone, zone));
  Run(Web("w"), "a");
  Run(Web("w"), "b");
  Run(Web("w"), "b");
  // Its volume is in a or b, as other filters have found.
  EXPECT_EQ(Scores(plugin, Web("p"), {"c"}), "a:0 b:1");
}

TEST_F(ZoneBalanceTest, ZonesAreWeighedByWhatIsFree) {
  const TestedPlugin plugin = Balance({});
  const auto node = [](const char* zone, const char* name, const char* cpu, const char* memory) {
    return In(zone, name).Allocatable("cpu", cpu).Allocatable("memory", memory);
  };
  cluster_.Add(node("a", "a", "30", "300Gi"));
  cluster_.Add(node("b", "b", "10", "300Gi"));
  const auto pod = Web("p").Request("cpu", "1").Request("memory", "1Gi");
  // For one in b there are three in a.
  std::string order;
  for (int i = 0; i < 12; ++i) {
    const bool is_a = Scores(plugin, pod).starts_with("a:0");
    order += is_a ? 'a' : 'b';
    Run(pod, is_a ? "a" : "b");
  }
  EXPECT_EQ(std::count(order.begin(), order.end(), 'a'), 9) << order;
  EXPECT_EQ(Scores(Balance({Weights::kEqual}), pod), "a:1 b:0");
}

TEST_F(ZoneBalanceTest, TheScarcerResourceDecides) {
  const TestedPlugin plugin = Balance({});
  cluster_.Add(In("a", "a").Allocatable("cpu", "100").Allocatable("memory", "4Gi"));
  cluster_.Add(In("b", "b").Allocatable("cpu", "10").Allocatable("memory", "40Gi"));
  EXPECT_EQ(Scores(plugin, MakePod("p").Request("cpu", "1").Request("memory", "1Gi")), "a:1 b:0");
  EXPECT_EQ(Scores(plugin, MakePod("p").Request("cpu", "10").Request("memory", "1Mi")), "a:0 b:1");
}

TEST_F(ZoneBalanceTest, OnlyFeasibleNodesGiveAZoneWeight) {
  const TestedPlugin plugin = Balance({});
  for (const char* name : {"a1", "a2", "a3"}) cluster_.Add(In("a", name));
  for (const char* name : {"b1", "b2"}) cluster_.Add(In("b", name));
  EXPECT_EQ(Scores(plugin, Web("p")), "a1:0 a2:0 a3:0 b1:1 b2:1");
  EXPECT_EQ(Scores(plugin, Web("p"), {"a1", "a2"}), "a3:1 b1:0 b2:0");
  // Large nodes that are not for this pod leave the small ones what they are.
  cluster_.Add(In("b", "gpu").Allocatable("cpu", "1000").Allocatable("memory", "9000Gi"));
  EXPECT_EQ(Scores(plugin, Web("p"), {"gpu"}), "a1:0 a2:0 a3:0 b1:1 b2:1");
  EXPECT_EQ(Scores(plugin, Web("p")), "a1:1 a2:1 a3:1 b1:0 b2:0 gpu:0");
}

TEST_F(ZoneBalanceTest, AbsurdAmountsDoNotOverflow) {
  const TestedPlugin plugin = Balance({});
  cluster_.Add(In("a", "a").Allocatable("cpu", "1000000000000000").Allocatable("memory", "8E"));
  cluster_.Add(In("b", "b").Allocatable("cpu", "0").Allocatable("memory", "0"));
  cluster_.Add(In("c", "c").WithoutAllocatable());
  EXPECT_EQ(Scores(plugin, Web("p").Request("cpu", "0").Request("memory", "0")), "a:0 b:1 c:1");
  Run(Web("w").Request("cpu", "1000000000000000").Request("memory", "8E"), "b");
  EXPECT_EQ(Scores(plugin, Web("p").Request("cpu", "1")), "a:0 b:2 c:1");
}

TEST_F(ZoneBalanceTest, WithoutPreScoreThereIsNoScore) {
  const TestedPlugin plugin = Balance({});
  cluster_.Add(In("a", "a"));
  framework::Status status;
  plugin.Score(cluster_.cycle(), *Web("p").Info(), 0, cluster_.Node("a"), status);
  EXPECT_EQ(TestCluster::Describe(status), "Error: reading \"PreScoreZoneBalance\" from cycleState: not found");
}

class ZonePoolsLive : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ZonePoolsLive, AddsUpAsIfRebuilt) {
  Random random(GetParam());
  const auto below = [&random](std::uint64_t n) { return static_cast<std::size_t>(random.Below(n)); };
  cache::ColumnNodeTable table;
  ZonePools kept;
  std::vector<std::pair<NodeIndex, std::string>> running;
  const std::string cpus[] = {"1", "3", "4", "1000000000000000"};
  for (int step = 0; step < 150; ++step) {
    const std::string name = "n" + std::to_string(below(8));
    switch (below(6)) {
      case 0:
      case 1: {
        auto node = MakeNode(name).Allocatable("cpu", cpus[below(4)]);
        if (below(4) > 0)
          node.Label(below(2) == 0 ? kZone : kOldZone, std::string(1, static_cast<char>('a' + below(3))));
        table.SetNode(node.Build());
        break;
      }
      case 2: table.RemoveNode(name); break;
      case 3:
        if (!running.empty()) {
          const std::size_t at = below(running.size());
          table.RemovePod(running[at].first, running[at].second);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      default: {
        const auto pod =
            MakePod("p").Uid("uid" + std::to_string(step)).Request("cpu", cpus[below(3)]).Node(name).Info();
        running.emplace_back(table.AddPod(pod), pod->uid);
      }
    }
    if (below(3) == 0) continue;
    kept.Sync(table);
    ZonePools rebuilt;
    rebuilt.Sync(table);
    EXPECT_EQ(kept.live_zone_count(), rebuilt.live_zone_count());
    for (const NodeIndex row : table.rows()) {
      const ZonePools::Pool& of_kept = kept.pools()[kept.pool_of(row)];
      const ZonePools::Pool& of_rebuilt = rebuilt.pools()[rebuilt.pool_of(row)];
      ASSERT_EQ(of_kept.nodes, of_rebuilt.nodes);
      ASSERT_EQ(of_kept.free_cpu_milli, of_rebuilt.free_cpu_milli);
      ASSERT_EQ(of_kept.free_memory_bytes, of_rebuilt.free_memory_bytes);
      ASSERT_EQ(of_kept.zone == ZonePools::kNoZone, ZonePools::ZoneNameOf(table.Info(row).node()).empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ZonePoolsLive, ::testing::Range<std::uint64_t>(1, 21));

TEST(ZonePools, ZonesThatAreGoneAreForgotten) {
  cache::ColumnNodeTable table;
  ZonePools pools;
  const std::uint64_t numbering = pools.numbering();
  for (int i = 0; i < 3 * static_cast<int>(ZonePools::kDeadMax); ++i) {
    table.SetNode(In("zone" + std::to_string(i), "n").Build());
    pools.Sync(table);
  }
  EXPECT_LT(pools.zone_count(), 2 * ZonePools::kDeadMax);
  EXPECT_GT(pools.numbering(), numbering + 1) << "marks have another meaning";
}

}  // namespace
}  // namespace berth::plugins
