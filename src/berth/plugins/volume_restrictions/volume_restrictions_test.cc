// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_restrictions/volume_restrictions.h"

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using api::VolumeKind;
using framework::EventResource;
using framework::NodeIndex;
using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kDisk = "Unschedulable: node(s) had no available disk";
constexpr const char* kClaim =
    "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
    "by another pod";

api::Volume Disk(VolumeKind kind, std::string id, bool read_only = false) {
  return {"v", {.kind = kind, .id = std::move(id), .read_only = read_only}};
}
api::Volume Rbd(std::string image, std::string pool, std::vector<std::string> monitors, bool read_only = false) {
  return {"v",
          {.kind = VolumeKind::kRbd,
           .id = std::move(image),
           .pool = std::move(pool),
           .monitors = std::move(monitors),
           .read_only = read_only}};
}
std::shared_ptr<const api::PersistentVolumeClaim> Claim(std::string name, std::string mode,
                                                        std::string namespace_name = "default") {
  api::PersistentVolumeClaim claim;
  claim.metadata.name = std::move(name);
  claim.metadata.namespace_name = std::move(namespace_name);
  claim.access_modes = {std::move(mode)};
  return std::make_shared<const api::PersistentVolumeClaim>(std::move(claim));
}

struct Fixture {
  Fixture() : cluster({MakeNode("a"), MakeNode("b")}) {
    auto& claims = handle.store.Of<api::PersistentVolumeClaim>();
    for (const char* name : {"once", "once2"}) claims.Set(Claim(name, "ReadWriteOncePod"));
    claims.Set(Claim("many", "ReadWriteMany"));
    claims.Set(Claim("once", "ReadWriteOncePod", "other"));
  }

  // "skip", PreFilter's refusal, or the verdicts for node a and node b, of both forms.
  std::string Decide(const testing::PodBuilder& builder) {
    const auto pod = builder.Info();
    cluster.Forget();
    const framework::Status prepared = plugin.PreFilter(cluster.cycle(), *pod).status;
    if (prepared.IsSkip()) return "skip";
    if (!prepared.IsSuccess()) return TestCluster::Describe(prepared);
    framework::StatusTable statuses;
    std::vector<framework::VerdictId> verdicts(cluster.table().row_count());
    plugin.FilterRows(cluster.cycle(), *pod, cluster.table().rows(), verdicts, statuses);
    std::string out;
    for (const char* name : {"a", "b"}) {
      const framework::VerdictId id = verdicts[cluster.table().Find(name)];
      const std::string verdict = cluster.Filter(plugin, *pod, name);
      EXPECT_EQ(id == 0 ? "ok" : TestCluster::Describe(statuses.Get(id)), verdict);
      out += (out.empty() ? "" : "; ") + verdict;
    }
    return out;
  }

  testing::FakeHandle handle;
  TestCluster cluster;
  TestedPlugin plugin = CreateVolumeRestrictions(handle);
};

TEST(VolumeRestrictions, Filter) {
  const std::string ok = "ok; ok";
  const std::string disk = std::string(kDisk) + "; ok";
  const std::string claim = std::string(kClaim) + "; " + kClaim;
  const auto gce = VolumeKind::kGcePersistentDisk;
  const auto ebs = VolumeKind::kAwsElasticBlockStore;
  const auto iscsi = VolumeKind::kIscsi;
  const auto with = [](api::Volume volume) { return MakePod("p").Volume(std::move(volume)); };
  const auto on_a = [](api::Volume volume) { return MakePod("e").Volume(std::move(volume)).Node("a"); };
  const struct {
    const char* name;
    testing::PodBuilder running, pod;
    std::string want;
  } cases[] = {
      {"no volumes", on_a(Disk(gce, "d")), MakePod("p"), "skip"},
      {"volumes that cannot conflict", on_a(Disk(VolumeKind::kCinder, "d")), with(Disk(VolumeKind::kCinder, "d")),
       "skip"},
      {"GCE PD: the same", on_a(Disk(gce, "d")), with(Disk(gce, "d")), disk},
      {"GCE PD: another", on_a(Disk(gce, "d")), with(Disk(gce, "e")), ok},
      {"GCE PD: one reads", on_a(Disk(gce, "d", true)), with(Disk(gce, "d")), disk},
      {"GCE PD: both read", on_a(Disk(gce, "d", true)), with(Disk(gce, "d", true)), ok},
      {"EBS: the same", on_a(Disk(ebs, "d")), with(Disk(ebs, "d")), disk},
      {"EBS: both read", on_a(Disk(ebs, "d", true)), with(Disk(ebs, "d", true)), disk},
      {"EBS: another", on_a(Disk(ebs, "d")), with(Disk(ebs, "e")), ok},
      {"iSCSI: the same", on_a(Disk(iscsi, "d")), with(Disk(iscsi, "d")), disk},
      {"iSCSI: both read", on_a(Disk(iscsi, "d", true)), with(Disk(iscsi, "d", true)), ok},
      {"RBD: a common monitor", on_a(Rbd("i", "p", {"x", "y"})), with(Rbd("i", "p", {"z", "y"})), disk},
      {"RBD: none", on_a(Rbd("i", "p", {"x"})), with(Rbd("i", "p", {"z"})), ok},
      {"RBD: another pool", on_a(Rbd("i", "p", {"x"})), with(Rbd("i", "q", {"x"})), ok},
      {"RBD: another image", on_a(Rbd("i", "p", {"x"})), with(Rbd("j", "p", {"x"})), ok},
      {"RBD: both read", on_a(Rbd("i", "p", {"x"}, true)), with(Rbd("i", "p", {"x"}, true)), ok},
      {"another kind of the same name", on_a(Disk(gce, "d")), with(Disk(ebs, "d")), ok},
      {"any of the volumes", on_a(Disk(gce, "d")).Volume(Disk(ebs, "x")), with(Disk(gce, "e")).Volume(Disk(ebs, "x")),
       disk},
      {"a pod of another namespace", on_a(Disk(gce, "d")).Namespace("other"), with(Disk(gce, "d")), disk},

      {"claim: not in use", on_a(Disk(gce, "d")), MakePod("p").Claim("once"), "skip"},
      {"claim: in use", MakePod("e").Claim("once").Node("a"), MakePod("p").Claim("once"), claim},
      {"claim: of another mode", MakePod("e").Claim("many").Node("a"), MakePod("p").Claim("many"), "skip"},
      {"claim: of another namespace", MakePod("e").Namespace("other").Claim("once").Node("a"),
       MakePod("p").Claim("once"), "skip"},
      {"claim: used on a node that is not there", MakePod("e").Claim("once").Node("gone"), MakePod("p").Claim("once"),
       "skip"},
      {"claim: missing", MakePod("e").Node("a"), MakePod("p").Claim("many").Claim("none"),
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"none\" not found"},
      {"disk before claim", MakePod("e").Claim("once").Volume(Disk(gce, "d")).Node("a"),
       MakePod("p").Claim("once").Volume(Disk(gce, "d")), std::string(kDisk) + "; " + kClaim},
      {"disk, and a claim that is free", on_a(Disk(gce, "d")), MakePod("p").Claim("once").Volume(Disk(gce, "d")), disk},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Fixture fixture;
    fixture.cluster.Add(test.running);
    EXPECT_EQ(fixture.Decide(test.pod), test.want);
  }
}

TEST(VolumeRestrictions, WithoutPreparation) {
  Fixture fixture;
  const auto pod = MakePod("p").Claim("once").Info();
  constexpr const char* kMissing = "Error: cannot read \"PreFilterVolumeRestrictions\" from cycleState";
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "a"), kMissing);
  EXPECT_EQ(
      TestCluster::Describe(fixture.plugin.AddPod(fixture.cluster.cycle(), *pod, *pod, fixture.cluster.Node("a"))),
      kMissing);
}

TEST(VolumeRestrictions, PodsThatComeAndGoOnACopyOfTheState) {
  Fixture fixture;
  fixture.cluster.Add(MakePod("e").Claim("once").Node("a"));
  const auto pod = MakePod("p").Claim("once").Claim("once2").Info();
  ASSERT_TRUE(fixture.plugin.PreFilter(fixture.cluster.cycle(), *pod).status.IsSuccess());
  framework::CycleState copy = fixture.cluster.state().Clone();
  const framework::Cycle cycle{fixture.cluster.table(), copy, 1, Time{}};
  const auto& node = fixture.cluster.Node("a");
  const auto said = [&] { return TestCluster::Describe(fixture.plugin.Filter(cycle, *pod, node)); };
  EXPECT_EQ(said(), kClaim);
  ASSERT_TRUE(fixture.plugin.RemovePod(cycle, *pod, *MakePod("e").Claim("once").Info(), node).IsSuccess());
  EXPECT_EQ(said(), "ok");
  ASSERT_TRUE(fixture.plugin.AddPod(cycle, *pod, *MakePod("f").Claim("many").Info(), node).IsSuccess());
  EXPECT_EQ(said(), "ok");
  ASSERT_TRUE(fixture.plugin.AddPod(cycle, *pod, *MakePod("f").Claim("once2").Info(), node).IsSuccess());
  EXPECT_EQ(said(), kClaim);
  // A pod of another namespace with a claim of that name is taken for a user.
  const auto stranger = MakePod("g").Namespace("other").Claim("once").Info();
  ASSERT_TRUE(fixture.plugin.RemovePod(cycle, *pod, *stranger, node).IsSuccess());
  EXPECT_EQ(said(), "ok");
  EXPECT_EQ(fixture.cluster.Filter(fixture.plugin, *pod, "a"), kClaim);
}

TEST(VolumeRestrictions, FollowsTheTable) {
  Fixture fixture;
  const auto pod = MakePod("p").Claim("once");
  EXPECT_EQ(fixture.Decide(pod), "skip");
  const auto running = MakePod("e").Claim("once").Node("b").Info();
  const NodeIndex row = fixture.cluster.table().AddPod(running);
  EXPECT_NE(fixture.Decide(pod), "skip");
  fixture.cluster.table().RemoveNode("b");
  EXPECT_EQ(fixture.cluster.table().node_count(), 1u);
  const auto lone = pod.Info();
  EXPECT_TRUE(fixture.plugin.PreFilter(fixture.cluster.cycle(), *lone).status.IsSkip());
  fixture.cluster.Add(MakeNode("b"));
  EXPECT_NE(fixture.Decide(pod), "skip");
  fixture.cluster.table().RemovePod(row, running->uid);
  EXPECT_EQ(fixture.Decide(pod), "skip");
}

TEST(VolumeRestrictions, ColumnEqualsPlain) {
  Random random(7);
  const auto below = [&random](std::uint64_t n) { return random.Below(n); };
  const auto volume = [&] {
    const VolumeKind kind = std::array{VolumeKind::kGcePersistentDisk, VolumeKind::kAwsElasticBlockStore,
                                       VolumeKind::kIscsi, VolumeKind::kRbd, VolumeKind::kCinder}[below(5)];
    if (kind == VolumeKind::kRbd) return Rbd(std::to_string(below(3)), "p", {std::to_string(below(3))}, below(2) == 0);
    return Disk(kind, std::to_string(below(4)), below(2) == 0);
  };
  const auto make = [&](std::string name) {
    auto pod = MakePod(std::move(name));
    for (std::uint64_t i = below(4); i > 0; --i) pod.Volume(volume());
    for (std::uint64_t i = below(3); i > 0; --i) pod.Claim(std::array{"once", "once2", "many"}[below(3)]);
    return pod;
  };
  Fixture fixture;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    const auto verdict = fixture.Decide(make("p"));
    refused += verdict.find("Unschedulable") == std::string::npos ? 0 : 1;
    const std::string name = "e" + std::to_string(i);
    const auto running = make(name).Node(std::array{"a", "b", "c"}[below(3)]).Info();
    const NodeIndex row = fixture.cluster.table().AddPod(running);
    if (below(8) != 0) fixture.cluster.table().RemovePod(row, running->uid);
    ASSERT_FALSE(HasFailure()) << i;
  }
  EXPECT_GT(refused, 20);
}

TEST(VolumeRestrictions, Hints) {
  using namespace framework::action;
  Fixture fixture;
  const auto gce = VolumeKind::kGcePersistentDisk;
  const auto with_disk = MakePod("p").Volume(Disk(gce, "d")).Info();
  const auto with_claim = MakePod("p").Claim("once").Info();
  const auto gone = [](testing::PodBuilder pod) { return pod.Node("a").Info(); };
  constexpr auto kQueue = QueueingHint::kQueue;
  constexpr auto kSkip = QueueingHint::kSkip;
  const struct {
    const char* name;
    framework::PodInfoPtr pod, before;
    QueueingHint want;
  } deletions[] = {
      {"the same disk", with_disk, gone(MakePod("e").Volume(Disk(gce, "d"))), kQueue},
      {"another disk", with_disk, gone(MakePod("e").Volume(Disk(gce, "e"))), kSkip},
      {"another namespace", with_disk, gone(MakePod("e").Namespace("other").Volume(Disk(gce, "d"))), kSkip},
      {"the same claim", with_claim, gone(MakePod("e").Claim("once")), kQueue},
      {"the same claim, whatever its mode", MakePod("p").Claim("many").Info(), gone(MakePod("e").Claim("many")),
       kQueue},
      {"another claim", with_claim, gone(MakePod("e").Claim("once2")), kSkip},
      {"no volumes", with_claim, gone(MakePod("e")), kSkip},
  };
  for (const auto& test : deletions) {
    EXPECT_EQ(
        HintFor(fixture.plugin, {EventResource::kAssignedPod, kDelete}, *test.pod, {.old_pod = test.before.get()}),
        test.want)
        << test.name;
  }
  const auto added = [&](std::shared_ptr<const api::PersistentVolumeClaim> claim) {
    const framework::AnyObject object = std::move(claim);
    return HintFor(fixture.plugin, {EventResource::kPersistentVolumeClaim, kAdd}, *with_claim, {.new_object = &object});
  };
  EXPECT_EQ(added(Claim("once", "ReadWriteOncePod")), kQueue);
  EXPECT_EQ(added(Claim("once2", "ReadWriteOncePod")), kSkip);
  EXPECT_EQ(added(Claim("once", "ReadWriteOncePod", "other")), kSkip);
  EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kNode, kAdd}, *with_disk, {}), kQueue);
  EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kAssignedPod, kAdd}, *with_disk, {}), kSkip);
  EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kNode, kUpdateNodeLabel}, *with_disk, {}), kSkip);
}

}  // namespace
}  // namespace berth::plugins
