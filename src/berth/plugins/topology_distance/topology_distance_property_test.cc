// SPDX-License-Identifier: Apache-2.0
// On random clusters, in each form of evaluation: a pod goes where the sum of distances to its peers, counted anew pod
// by pod, is the smallest; the first one of a pod group where all of them have room. A failure prints the seed that
// replays it.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/policy_cluster_testing.h"
#include "berth/plugins/topology_distance/topology_distance_testing.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;

constexpr std::array<const char*, 3> kKeys = {kRack, kBlock, kZone};
constexpr std::array<std::int64_t, 3> kDistances = {1, 3, 10};
constexpr std::int64_t kBeyond = 25;
constexpr std::int64_t kRoomMax = std::int64_t{1} << 32;

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: topology-distance
    plugins:
      multiPoint: {enabled: [{name: TopologyDistance, weight: 1600}]}
    pluginConfig:
      - name: TopologyDistance
        args:
          levels:
            - {key: example.com/rack, distance: 1}
            - {key: example.com/block, distance: 3}
            - {key: topology.kubernetes.io/zone, distance: 10}
          maxDistance: 25
          peerLabel: job
          byController: true
)";

class TopologyDistanceProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  TopologyDistanceProperty() : cluster_(GetParam(), kProfile) {
    if (GetParam() % 2 == 0) cluster_.handle.groups = &groups_;
    for (int i = 0; i < 20; ++i) SetNode();
    for (int i = 0; i < 8; ++i) templates_.push_back(Template());
  }

  std::string NodeName() { return "n" + std::to_string(cluster_.dice.Below(24)); }
  void SetNode() {
    runtime::Dice& dice = cluster_.dice;
    auto node = runtime::RandomNode(dice, NodeName());
    if (dice.OneIn(3)) node.Allocatable("cpu", "16").Allocatable("memory", "64Gi").Allocatable("pods", "110");
    for (const char* key : kKeys) {
      if (!dice.OneIn(8)) node.Label(key, dice.Pick({"a", "b", "c"}));
    }
    cluster_.Set(node);
  }
  testing::PodBuilder Template() {
    runtime::Dice& dice = cluster_.dice;
    auto pod = runtime::RandomPod(dice, "p");
    if (dice.OneIn(2)) pod.InGroup(dice.Pick({"g", "h", "i"}));
    if (dice.OneIn(3)) pod.Label("job", dice.Pick({"a", "b"}));
    if (dice.OneIn(3)) pod.Controller("batch/v1", "Job", dice.Pick({"x", "y"}));
    return pod;
  }

  static std::string ValueOf(const NodeInfo& node, std::size_t level) {
    const std::string* const value = node.node().metadata.labels.Find(kKeys[level]);
    return value == nullptr ? "" : *value;
  }
  static std::string PathOf(const NodeInfo& node, std::size_t level = 0) {
    std::string path;
    for (; level < kKeys.size(); ++level) path += ValueOf(node, level) + "/";
    return path;
  }
  static bool AreInOneDomain(const NodeInfo& a, const NodeInfo& b, std::size_t level) {
    return !ValueOf(a, level).empty() && PathOf(a, level) == PathOf(b, level);
  }
  static std::int64_t Distance(const NodeInfo& a, const NodeInfo& b) {
    if (a.name() == b.name()) return 0;
    for (std::size_t level = 0; level < kKeys.size(); ++level) {
      if (AreInOneDomain(a, b, level)) return kDistances[level];
    }
    return kBeyond;
  }

  static bool ArePeers(const PodInfo& a, const PodInfo& b) {
    if (a.namespace_name() != b.namespace_name() || a.pod_group_name != b.pod_group_name) return false;
    if (!a.pod_group_name.empty()) return true;
    const auto job = [](const PodInfo& pod) {
      const std::string* const value = pod.labels().Find("job");
      return value == nullptr ? "" : *value;
    };
    if (job(a) != job(b)) return false;
    return !job(a).empty() || (a.pod_class->controller && a.pod_class->controller == b.pod_class->controller);
  }
  static bool HasPeers(const PodInfo& pod) { return ArePeers(pod, pod); }

  // How many such pods a feasible node has room for.
  static std::int64_t RoomOn(const NodeInfo& node, const PodInfo& pod) {
    if (!pod.pod_class->host_ports.empty()) return 1;
    std::int64_t room = kRoomMax;
    for (const char* resource : {"cpu", "memory", "ephemeral-storage", "example.com/gpu"}) {
      const std::int64_t wanted = pod.pod_class->requests.Get(resource);
      if (wanted == 0) continue;
      room = std::min(room, (node.allocatable().Get(resource) - node.requested().Get(resource)) / wanted);
    }
    return std::max<std::int64_t>(
        1, std::min(room, node.allocatable().pods - static_cast<std::int64_t>(node.pods().size())));
  }

  using Rank = std::vector<std::int64_t>;  // the smallest comes first
  // Of each feasible node; empty: the plugin has nothing to say.
  std::map<NodeIndex, Rank> Ranks(const PodInfo& pod, const std::vector<NodeIndex>& feasible) const {
    std::map<NodeIndex, Rank> ranks;
    if (!HasPeers(pod)) return ranks;
    const auto& nodes = cluster_.nodes();
    std::vector<NodeIndex> peers;
    for (const NodeIndex row : nodes.rows()) {
      for (const auto& other : nodes.Info(row).pods()) {
        if (!other->deletion_time && ArePeers(pod, *other)) peers.push_back(row);
      }
    }
    const bool is_known = cluster_.handle.groups != nullptr && !pod.pod_group_name.empty();
    const auto waiting =
        is_known ? static_cast<std::int64_t>(groups_.CountsOf(framework::GroupOf(pod)).unscheduled) : 0;
    if (is_known && peers.empty() && waiting < 2) return ranks;
    for (const NodeIndex row : feasible) {
      const NodeInfo& node = nodes.Info(row);
      Rank& rank = ranks[row];
      if (!peers.empty()) {
        std::int64_t sum = 0;
        for (const NodeIndex peer : peers) sum += Distance(node, nodes.Info(peer));
        rank.push_back(sum);
      } else if (is_known) {
        rank = SpanOf(node, pod, feasible, waiting);
      }
      rank.push_back(-std::count_if(feasible.begin(), feasible.end(),
                                    [&](NodeIndex other) { return PathOf(nodes.Info(other)) == PathOf(node); }));
    }
    return ranks;
  }
  // The distance within the narrowest domain around the node that has room for all; its room and that of all wider
  // ones.
  Rank SpanOf(const NodeInfo& node, const PodInfo& pod, const std::vector<NodeIndex>& feasible,
              std::int64_t waiting) const {
    Rank rank;
    if (const std::int64_t room = RoomOn(node, pod); room >= waiting) rank = {0, room};
    for (std::size_t level = 0; level < kKeys.size(); ++level) {
      std::int64_t room = 0;
      for (const NodeIndex other : feasible) {
        const NodeInfo& info = cluster_.nodes().Info(other);
        if (AreInOneDomain(node, info, level)) room += RoomOn(info, pod);
      }
      if (room < waiting) continue;
      if (rank.empty()) rank.push_back(kDistances[level]);
      rank.push_back(room);
    }
    if (rank.empty()) rank.push_back(kBeyond);
    rank.resize(1 + 1 + kKeys.size(), kRoomMax);
    return rank;
  }

  void Check(const PolicyCluster::Placed& placed) {
    ASSERT_NE(placed.outcome.result, runtime::Result::kError) << placed.outcome.error;
    if (placed.outcome.result != runtime::Result::kFeasible) return;
    ASSERT_EQ(placed.outcome.feasible, placed.without_policy) << "it refuses no node";
    if (placed.outcome.feasible.size() < 2) return;
    const auto ranks = Ranks(*placed.pod, placed.outcome.feasible);
    if (ranks.empty()) return;
    const Rank& chosen = ranks.at(placed.outcome.node);
    for (const auto& [row, rank] : ranks) {
      EXPECT_LE(chosen, rank) << cluster_.nodes().Info(placed.outcome.node).name() << " before "
                              << cluster_.nodes().Info(row).name();
      if (chosen < rank) ++decided_;
    }
  }

  WaitingGroups groups_;
  PolicyCluster cluster_;
  std::vector<testing::PodBuilder> templates_;
  int decided_ = 0;
};

TEST_P(TopologyDistanceProperty, ThePodGoesNearestToItsPeers) {
  cluster_.Live(
      templates_,
      [this] {
        SetNode();
        const std::string group = cluster_.dice.Pick({"g", "h", "i"});
        groups_.waiting[group] = static_cast<std::size_t>(cluster_.dice.Below(12));
      },
      [this] { return NodeName(); }, [this] { return Template(); },
      [this](const PolicyCluster::Placed& placed) { Check(placed); });
  EXPECT_GT(decided_, 20) << "a cluster that decides nothing proves nothing";
  if (HasFailure()) ADD_FAILURE() << "replay with seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, TopologyDistanceProperty, ::testing::Range<std::uint64_t>(1, 61));

testing::NodeBuilder InRack(int n, int racks, int racks_per_block) {
  const int rack = n % racks;
  return testing::MakeNode("n" + std::to_string(n))
      .Label(kRack, "r" + std::to_string(rack))
      .Label(kBlock, "b" + std::to_string(rack / racks_per_block))
      .Label(kZone, "z");
}

// Two groups of one class in turn, each on more nodes than can be special rows, so that they are chosen by own marks:
// those of one group must not be taken for the other's.
TEST(TopologyDistanceGroups, ChooseByMarksOfTheirOwn) {
  PolicyCluster cluster(3, kProfile);
  const auto member = [](const std::string& group) {
    return testing::MakePod("p").InGroup(group).Request("cpu", "100m");
  };
  // Of the nodes of each rack a third has a pod of g, a third one of h.
  const auto has_pod_of = [](int n) { return (n / 12) % 3 == 0 ? "g" : (n / 12) % 3 == 1 ? "h" : ""; };
  for (int n = 0; n < 240; ++n) {
    cluster.Set(InRack(n, 12, 3));
    if (const std::string group = has_pod_of(n); !group.empty()) cluster.Run(member(group), "n" + std::to_string(n));
  }
  for (int i = 0; i < 120; ++i) {
    const std::string group = i % 2 == 0 ? "g" : "h";
    const auto placed = cluster.Schedule(member(group));
    ASSERT_EQ(placed.outcome.result, runtime::Result::kFeasible) << placed.outcome.error;
    const std::string& node = cluster.nodes().Info(placed.outcome.node).name();
    EXPECT_EQ(has_pod_of(std::stoi(node.substr(1))), group) << node;
    cluster.Assume();
  }
  EXPECT_GT(cluster.ChosenByGroups(), 200U) << "both forms that reuse do so for nearly all pods";
}

}  // namespace
}  // namespace berth::plugins
