// SPDX-License-Identifier: Apache-2.0
// On random clusters: each pod goes to a zone that has the fewest pods of its owner for the zone's weight, among those
// where it can go. A failure prints the seed that replays it.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/policy_cluster_testing.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodInfo;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kOldZone = "failure-domain.beta.kubernetes.io/zone";

std::string Profile(bool equal) {
  return std::string(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: zone-balance
    plugins:
      multiPoint: {enabled: [{name: ZoneBalance, weight: 1600}]}
    pluginConfig: [{name: ZoneBalance, args: {weights: )") +
         (equal ? "equal" : "freeCapacity") + "}}]\n";
}

class ZoneBalanceProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  ZoneBalanceProperty() : is_equal_(GetParam() % 4 == 0), cluster_(GetParam(), Profile(is_equal_)) {
    for (int i = 0; i < 20; ++i) SetNode();
    for (int i = 0; i < 6; ++i) templates_.push_back(Template());
  }

  std::string NodeName() { return "n" + std::to_string(cluster_.dice.Below(24)); }
  void SetNode() {
    runtime::Dice& dice = cluster_.dice;
    auto node = runtime::RandomNode(dice, NodeName());
    if (dice.OneIn(4)) node.Allocatable("cpu", "33").Allocatable("memory", "500Gi").Allocatable("pods", "110");
    if (!dice.OneIn(8)) node.Label(dice.OneIn(3) ? kOldZone : kZone, dice.Pick({"a", "b", "c"}));
    cluster_.Set(node);
  }
  testing::PodBuilder Template() {
    auto pod = runtime::RandomPod(cluster_.dice, "p");
    if (!cluster_.dice.OneIn(3)) pod.Controller("apps/v1", "ReplicaSet", cluster_.dice.Pick({"web", "db"}));
    return pod;
  }

  std::string ZoneOf(NodeIndex row) const {
    const auto& labels = cluster_.nodes().Info(row).node().metadata.labels;
    const std::string* zone = labels.Find(kZone);
    if (zone == nullptr) zone = labels.Find(kOldZone);
    return zone == nullptr ? "" : *zone;
  }

  static std::pair<int, int> SizeOf(const framework::NodeInfo& node) {
    return {std::bit_width(static_cast<std::uint64_t>(node.allocatable().cpu_milli)),
            std::bit_width(static_cast<std::uint64_t>(node.allocatable().memory_bytes))};
  }

  // Counted anew, without the pod.
  std::map<std::string, std::int64_t> PodsByZone(const PodInfo& pod) const {
    std::map<std::string, std::int64_t> pods;
    const framework::PodClass& own = *pod.pod_class;
    for (const NodeIndex row : cluster_.nodes().rows()) {
      for (const auto& other : cluster_.nodes().Info(row).pods()) {
        const framework::PodClass& theirs = *other->pod_class;
        if (!other->deletion_time && theirs.controller == own.controller &&
            (own.controller || theirs.labels == own.labels))
          ++pods[ZoneOf(row)];
      }
    }
    return pods;
  }

  // What is free on the feasible nodes of each zone, a node counting as the average of the zone's nodes of its size.
  std::map<std::string, std::int64_t> Weights(const PodInfo& pod, const std::vector<NodeIndex>& feasible) const {
    struct Sums {
      std::int64_t nodes = 0, feasible = 0, cpu = 0, memory = 0;
    };
    std::map<std::pair<std::string, std::pair<int, int>>, Sums> pools;
    for (const NodeIndex row : cluster_.nodes().rows()) {
      const framework::NodeInfo& node = cluster_.nodes().Info(row);
      Sums& sums = pools[{ZoneOf(row), SizeOf(node)}];
      ++sums.nodes;
      sums.cpu += std::max<std::int64_t>(0, node.allocatable().cpu_milli - node.nonzero_cpu_milli());
      sums.memory += std::max<std::int64_t>(0, node.allocatable().memory_bytes - node.nonzero_memory_bytes());
    }
    for (const NodeIndex row : feasible) ++pools[{ZoneOf(row), SizeOf(cluster_.nodes().Info(row))}].feasible;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> free;
    for (const auto& [key, sums] : pools) {
      if (sums.feasible == 0) continue;
      free[key.first].first += sums.cpu * sums.feasible / sums.nodes;
      free[key.first].second += sums.memory * sums.feasible / sums.nodes;
    }
    std::map<std::string, std::int64_t> weights;
    for (const auto& [zone, amounts] : free) {
      const std::int64_t by_cpu = amounts.first * 1000 / std::max<std::int64_t>(1, pod.pod_class->nonzero_cpu_milli);
      const std::int64_t by_memory =
          amounts.second * 1000 / std::max<std::int64_t>(1, pod.pod_class->nonzero_memory_bytes);
      weights[zone] = is_equal_ ? 1 : std::max<std::int64_t>(1, std::min(by_cpu, by_memory));
    }
    weights.erase("");
    return weights;
  }

  void Check(const PolicyCluster::Placed& placed) {
    ASSERT_NE(placed.outcome.result, runtime::Result::kError) << placed.outcome.error;
    if (placed.outcome.result != runtime::Result::kFeasible) return;
    ASSERT_EQ(placed.outcome.feasible, placed.without_policy) << "it refuses no node";
    const auto weights = Weights(*placed.pod, placed.outcome.feasible);
    if (weights.empty()) return;
    auto pods = PodsByZone(*placed.pod);
    const std::string zone = ZoneOf(placed.outcome.node);
    ASSERT_NE(zone, "") << "while there are nodes in zones";
    for (const auto& [other, weight] : weights) {
      EXPECT_LE((pods[zone] + 1) * weight, (pods[other] + 1) * weights.at(zone))
          << "zone " << zone << " before " << other;
    }
    if (weights.size() > 1) ++decided_;
  }

  const bool is_equal_;
  PolicyCluster cluster_;
  std::vector<testing::PodBuilder> templates_;
  int decided_ = 0;
};

TEST_P(ZoneBalanceProperty, TheZoneThatIsDueComesFirst) {
  cluster_.Live(
      templates_, [this] { SetNode(); }, [this] { return NodeName(); }, [this] { return Template(); },
      [this](const PolicyCluster::Placed& placed) { Check(placed); });
  EXPECT_GT(decided_, 5) << "a cluster that decides nothing proves nothing";
  if (HasFailure()) ADD_FAILURE() << "replay with seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ZoneBalanceProperty, ::testing::Range<std::uint64_t>(1, 61));

TEST(ZoneBalanceVolumes, APodGoesWhereItsVolumeIsAndCountsThere) {
  PolicyCluster cluster(7, Profile(true));
  for (const char* zone : {"a", "b", "c"}) cluster.Set(testing::MakeNode(zone).Label(kZone, zone));
  const auto web = testing::MakePod("web").Controller("apps/v1", "StatefulSet", "web");
  auto volume = std::make_shared<api::PersistentVolume>();
  volume->metadata.name = "disk";
  volume->metadata.labels.Set(kZone, "b");
  cluster.handle.store.Of<api::PersistentVolume>().Set(volume);
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.namespace_name = "default";
  claim->metadata.name = "data";
  claim->metadata.annotations.Set("pv.kubernetes.io/bind-completed", "yes");
  claim->volume_name = "disk";
  cluster.handle.store.Of<api::PersistentVolumeClaim>().Set(claim);

  std::vector<std::string> went;
  for (int i = 0; i < 6; ++i) {
    testing::PodBuilder pod = web;
    if (i < 2) pod.Claim("data");
    const auto placed = cluster.Schedule(pod);
    ASSERT_EQ(placed.outcome.result, runtime::Result::kFeasible) << placed.outcome.error;
    went.push_back(cluster.nodes().Info(placed.outcome.node).name());
    cluster.Assume();
  }
  EXPECT_EQ(went[0] + went[1], "bb") << "no other zone counts for them";
  EXPECT_EQ(std::count(went.begin(), went.end(), "b"), 2);
  EXPECT_EQ(std::count(went.begin(), went.end(), "a"), 2);
}

// In zones of equal size no two zones differ by more than one pod of an owner, however many owners there are.
TEST(ZoneBalanceOwners, AreSpreadEachByItself) {
  PolicyCluster cluster(5, Profile(false));
  for (int i = 0; i < 9; ++i) {
    cluster.Set(testing::MakeNode("n" + std::to_string(i))
                    .Allocatable("cpu", "64")
                    .Label(kZone, std::string(1, static_cast<char>('a' + i % 3))));
  }
  std::map<std::string, std::vector<int>> pods;
  for (int i = 0; i < 150; ++i) {
    const std::string owner = cluster.dice.Pick({"web", "db", "batch"});
    const auto placed = cluster.Schedule(testing::MakePod("p")
                                             .Controller("apps/v1", "ReplicaSet", owner)
                                             .Request("cpu", owner == "db" ? "500m" : "100m"));
    ASSERT_EQ(placed.outcome.result, runtime::Result::kFeasible);
    cluster.Assume();
    std::vector<int>& by_zone = pods[owner];
    by_zone.resize(3);
    ++by_zone[placed.outcome.node % 3];
    const auto [fewest, most] = std::minmax_element(by_zone.begin(), by_zone.end());
    ASSERT_LE(*most - *fewest, 1) << owner << " after " << i + 1;
  }
}

}  // namespace
}  // namespace berth::plugins
