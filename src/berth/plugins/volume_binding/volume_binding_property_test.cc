// SPDX-License-Identifier: Apache-2.0
// Column form = plain form over random clusters, and both = a plain rendering of upstream's search for volumes. A
// failure prints the seed that replays it.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using framework::NodeIndex;
using framework::VerdictId;
using testing::MakeNode;
using testing::MakePod;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }
  std::string Host() { return "n" + std::to_string(Below(8)); }
  std::string Zone() { return Pick({"a", "b", "c"}); }
  std::string Class() { return Pick({"wait", "make", "make", "now"}); }
  std::string Size() { return Pick({"1Gi", "2Gi", "3Gi", "5Gi", "8Gi", "8Gi"}); }

  testing::NodeBuilder Node(std::string name) {
    auto node = MakeNode(name);
    if (!OneIn(6)) node.Label("kubernetes.io/hostname", name);
    if (!OneIn(4)) node.Label("zone", Zone());
    if (OneIn(2)) node.Label("topology.kubernetes.io/zone", Zone());
    if (OneIn(2)) node.Label("topology.gke.io/zone", Zone());
    return node;
  }

  api::Requirement Requirement() {
    switch (Below(7)) {
      case 0: return testing::In("zone", {Zone(), Zone()});
      case 1: return testing::NotIn("zone", {Zone()});
      case 2: return testing::Exists(Pick({"zone", "topology.gke.io/zone"}));
      case 3: return testing::In("topology.kubernetes.io/zone", {Zone()});
      case 4: return testing::In("zone", {});  // invalid
      default: return testing::In("kubernetes.io/hostname", {Host(), Host()});
    }
  }
  NodeTerms Affinity() {
    if (OneIn(3)) return std::nullopt;
    NodeTerms terms;
    terms.emplace();
    for (int i = OneIn(3) ? 2 : 1; i > 0; --i) {
      api::NodeSelectorTerm term;
      for (int r = OneIn(2) ? 2 : 1; r > 0; --r) term.match_expressions.push_back(Requirement());
      if (OneIn(8)) term.match_fields.push_back(testing::In("metadata.name", {Host()}));
      if (OneIn(12)) term = {};
      terms->push_back(std::move(term));
    }
    return terms;
  }

  VolumeBuilder Volume(std::string name) {
    VolumeBuilder volume = MakeVolume(std::move(name), Size());
    return volume.With([&](PersistentVolume& v) {
      v.spec.storage_class_name = Class();
      v.spec.node_affinity = Affinity();
      if (OneIn(4)) v.spec.claim_ref = {"default", "c" + std::to_string(Below(10)), Pick({"", "uid-c1", "uid-c2"})};
      if (OneIn(5)) v.phase = "Bound";
      if (OneIn(8)) v.spec.volume_mode = "Block";
      if (OneIn(8)) v.spec.access_modes = {"ReadWriteMany"};
      if (OneIn(8)) v.spec.volume_attributes_class_name = "gold";
      if (OneIn(10)) v.metadata.deletion_time = Time{};
      if (OneIn(2)) v.metadata.labels.Set("kind", Pick({"fast", "slow"}));
      if (OneIn(3)) v.metadata.labels.Set("topology.kubernetes.io/zone", Pick({"a", "x-y-a__x-y-b"}));
      if (OneIn(4)) v.spec.source.kind = Pick({api::VolumeKind::kGcePersistentDisk, api::VolumeKind::kAzureDisk});
    });
  }
  ClaimBuilder Claim(std::string name) {
    ClaimBuilder claim = MakeClaim(std::move(name), Size());
    if (OneIn(3)) return Bound(claim, "v" + std::to_string(Below(14)));
    if (OneIn(5)) claim.Annotate(kSelectedNodeAnnotation, Host());
    return claim.With([&](PersistentVolumeClaim& c) {
      c.storage_class_name = Pick({"wait", "wait", "make"});
      if (OneIn(5)) c.selector = testing::Labels({{"kind", "fast"}});
      if (OneIn(12)) c.volume_mode = "Block";
      if (OneIn(12)) c.volume_attributes_class_name = "gold";
      if (OneIn(15)) c.requests.clear();
    });
  }
  testing::PodBuilder Pod(std::string name) {
    auto pod = MakePod(std::move(name));
    for (int i = 1 + Below(3); i > 0; --i) pod.Claim("c" + std::to_string(Below(10)));
    return pod;
  }

  void Fill(VolumeCluster& cluster) {
    for (int i = 0; i < 8; ++i) {
      const std::string name = "n" + std::to_string(i);
      cluster.Add(Node(name));
      if (OneIn(2)) {
        cluster.Set(ObjectBuilder<api::CsiNode>(name).Annotate("storage.alpha.kubernetes.io/migrated-plugins",
                                                               Pick({"kubernetes.io/gce-pd", "kubernetes.io/cinder"})));
      }
    }
    if (OneIn(2)) {
      cluster.Set(MakeClass("make").With([&](api::StorageClass& c) {
        c.allowed_topologies = {{{"zone", {Zone(), Zone()}}}};
        if (OneIn(2)) c.allowed_topologies.push_back({{"kubernetes.io/hostname", {Host()}}, {"zone", {Zone()}}});
      }));
    }
    if (OneIn(2)) {
      cluster.Set(ObjectBuilder<api::CsiDriver>("csi.example.com").With([](auto& d) { d.storage_capacity = true; }));
    }
    for (int i = Below(6); i > 0; --i) {
      cluster.Set(ObjectBuilder<api::CsiStorageCapacity>("s" + std::to_string(i)).With([&](auto& c) {
        c.storage_class_name = "make";
        c.capacity = api::Quantity::Parse(Size()).value();
        if (!OneIn(6)) c.node_topology = api::LabelSelector{{Requirement()}};
      }));
    }
    for (int i = Below(14); i >= 0; --i) cluster.Set(Volume("v" + std::to_string(i)));
    for (int i = 0; i < 10; ++i) cluster.Set(Claim("c" + std::to_string(i)));
  }

 private:
  Random random_;
};

// FindMatchingVolume over all volumes in the order of their names, assumed ones included.
const PersistentVolume* FindPlainly(const Sources& sources, const PersistentVolumeClaim& claim, const api::Node& node,
                                    const std::vector<const PersistentVolume*>& taken) {
  const auto request = [&] {
    const auto* quantity = api::FindResource(claim.requests, "storage");
    return quantity == nullptr ? api::Quantity() : *quantity;
  }();
  const PersistentVolume* smallest = nullptr;
  for (const auto& [name, stored] : sources.objects.Of<PersistentVolume>()) {
    const PersistentVolume* volume = sources.volumes->Find(name);
    if (ClassOf(*stored) != ClassOf(claim) || std::find(taken.begin(), taken.end(), volume) != taken.end()) continue;
    if (volume->spec.claim_ref && !IsBoundTo(*volume, claim)) continue;
    if (CapacityOf(*volume) < request || (volume->spec.volume_mode == "Block") != (claim.volume_mode == "Block") ||
        volume->spec.volume_attributes_class_name != claim.volume_attributes_class_name ||
        volume->metadata.deletion_time) {
      continue;
    }
    const bool is_reachable = VolumeAffinity(volume->spec.node_affinity).Matches(node.metadata.labels);
    if (IsBoundTo(*volume, claim)) return is_reachable ? volume : nullptr;
    if (volume->phase != "Available" || !is_reachable) continue;
    if (claim.selector && !claim.selector->Matches(volume->metadata.labels)) continue;
    if (volume->spec.access_modes != claim.access_modes) continue;
    if (smallest == nullptr || CapacityOf(*smallest) > CapacityOf(*volume)) smallest = volume;
  }
  return smallest;
}

void ExpectMatchesPlainly(VolumeCluster& cluster, const PodVolumes& pod, const NodeDecision& decision,
                          const api::Node& node) {
  const Sources& sources = cluster.plugin_state().sources();
  std::vector<const PersistentVolume*> taken;
  std::map<std::size_t, const PersistentVolume*> want;
  for (const std::size_t i : pod.by_request_size) {
    const PersistentVolume* volume = FindPlainly(sources, *pod.delayed[i].claim, node, taken);
    if (volume == nullptr) continue;
    want[i] = volume;
    taken.push_back(volume);
  }
  std::map<std::size_t, const PersistentVolume*> got;
  for (const NodeDecision::Match& match : decision.matches) got[match.claim] = match.volume;
  EXPECT_EQ(got, want) << node.metadata.name;
}

// Asks both forms about every node; returns the feasible ones.
std::vector<std::string> Compare(VolumeCluster& cluster, const framework::PodInfo& pod, std::int64_t& score_sum) {
  const framework::NodeTable& nodes = cluster.table();
  const auto* state = cluster.state().Read<PodVolumes>("VolumeBinding");
  framework::StatusTable statuses;
  std::vector<VerdictId> verdicts(nodes.row_count(), framework::kVerdictOk);
  cluster.plugin().FilterRows(cluster.cycle(), pod, nodes.rows(), verdicts, statuses);
  std::vector<std::int64_t> scores(nodes.row_count());
  framework::Status scored;
  cluster.plugin().ScoreRows(cluster.cycle(), pod, nodes.rows(), scores, scored);
  EXPECT_TRUE(scored.IsSuccess());
  std::vector<std::string> feasible;
  for (const NodeIndex row : nodes.rows()) {
    const framework::NodeInfo& node = nodes.Info(row);
    const framework::Status plain = cluster.plugin().Filter(cluster.cycle(), pod, node);
    EXPECT_EQ(TestCluster::Describe(statuses.Get(verdicts[row])), TestCluster::Describe(plain)) << node.name();
    EXPECT_EQ(verdicts[row] == framework::kVerdictOk, plain.IsSuccess());
    const NodeDecision decision = DecideNode(cluster.plugin_state().sources(), *state, node.node());
    if (plain.IsSuccess()) {
      feasible.push_back(node.name());
      EXPECT_EQ(scores[row], cluster.plugin().Score(cluster.cycle(), pod, row, node, scored));
      EXPECT_TRUE(scores[row] >= 0 && scores[row] <= framework::kNodeScoreMax) << scores[row];
      score_sum += scores[row];
      ExpectMatchesPlainly(cluster, *state, decision, node.node());
    }
  }
  return feasible;
}

TEST(VolumeBindingProperty, ColumnFormIsThePlainForm) {
  std::int64_t score_sum = 0;
  int feasible_count = 0;
  int reserved_count = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    VolumeCluster cluster({}, {}, seed % 2 == 0 ? ScoringStorage() : framework::Release());
    generator.Fill(cluster);
    for (int i = 0; i < 6; ++i) {
      const auto pod = generator.Pod("p" + std::to_string(i)).Info();
      if (cluster.PreFilter(*pod) != "ok") continue;
      const std::vector<std::string> feasible = Compare(cluster, *pod, score_sum);
      if (feasible.empty()) continue;
      ++feasible_count;
      // Assumed volumes stay assumed for the next pods.
      const std::string& node = feasible[static_cast<std::size_t>(generator.Below(static_cast<int>(feasible.size())))];
      ASSERT_EQ(TestCluster::Describe(cluster.plugin().Reserve(cluster.cycle(), *pod, node)), "ok");
      reserved_count += static_cast<int>(cluster.plugin_state().sources().volumes->assumed_count());
      if (generator.OneIn(3)) cluster.plugin().Unreserve(*pod, node);
      if (generator.OneIn(3)) cluster.Set(generator.Volume("v" + std::to_string(generator.Below(14))).Version("2"));
    }
    if (::testing::Test::HasFailure()) break;
  }
  // The clusters are neither all too full nor all too empty to say something.
  EXPECT_GT(feasible_count, 300);
  EXPECT_GT(score_sum, 1000);
  EXPECT_GT(reserved_count, 100);
}

// Everything that was reserved is given back.
TEST(VolumeBindingProperty, UnreserveRestoresAll) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Generator generator(seed);
    VolumeCluster cluster;
    generator.Fill(cluster);
    std::vector<std::pair<framework::PodInfoPtr, std::string>> placed;
    for (int i = 0; i < 6; ++i) {
      const auto pod = generator.Pod("p" + std::to_string(i)).Info();
      const std::string node = generator.Host();
      if (cluster.Place(*pod, node) == "ok") placed.emplace_back(pod, node);
    }
    for (const auto& [pod, node] : placed) cluster.plugin().Unreserve(*pod, node);
    EXPECT_EQ(cluster.plugin_state().sources().volumes->assumed_count(), 0u) << seed;
    EXPECT_EQ(cluster.plugin_state().sources().claims->assumed_count(), 0u) << seed;
    EXPECT_EQ(cluster.plugin_state().reservation_count(), 0u) << seed;
  }
}

}  // namespace
}  // namespace berth::plugins::volumes
