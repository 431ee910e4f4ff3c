// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/node_volume_limits.h"

#include <array>

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

constexpr const char* kFull = "Unschedulable: node(s) exceed max volume count";
constexpr const char* kDriver = "csi.example.com";
constexpr const char* kEbs = "ebs.csi.aws.com";

struct Fixture {
  Fixture() : cluster({MakeNode("n"), MakeNode("bare")}) {}

  template <typename T>
  void Set(T object) {
    handle.store.Of<T>().Set(std::make_shared<const T>(std::move(object)));
  }
  // The CSINode of a node; a negative limit is none.
  void Limits(std::vector<std::pair<std::string, int>> limits, std::string node = "n") {
    api::CsiNode csi_node;
    csi_node.metadata.name = std::move(node);
    for (const auto& [driver, limit] : limits) {
      csi_node.drivers.push_back({driver, "id", {}, limit < 0 ? std::nullopt : std::optional<std::int32_t>(limit)});
    }
    Set(csi_node);
  }
  void Class(std::string name, std::string provisioner) {
    api::StorageClass storage_class;
    storage_class.metadata.name = std::move(name);
    storage_class.provisioner = std::move(provisioner);
    Set(storage_class);
  }
  void Volume(std::string name, api::VolumeSource source) {
    api::PersistentVolume volume;
    volume.metadata.name = std::move(name);
    volume.spec.source = std::move(source);
    Set(volume);
  }
  // A claim, bound to the volume of that name unless it is empty.
  void Claim(std::string name, std::string volume, std::optional<std::string> storage_class = {},
             std::string owner_uid = "") {
    api::PersistentVolumeClaim claim;
    claim.metadata.name = std::move(name);
    claim.metadata.namespace_name = "default";
    claim.volume_name = std::move(volume);
    claim.storage_class_name = std::move(storage_class);
    if (!owner_uid.empty()) claim.metadata.controller = api::OwnerReference{"v1", "Pod", "p", owner_uid};
    Set(claim);
  }
  // Claims c0, c1, ... bound to CSI volumes of the driver.
  void CsiClaims(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      Volume("v" + n, {.kind = VolumeKind::kCsi, .id = "handle" + n, .driver = kDriver});
      Claim("c" + n, "v" + n);
    }
  }
  void Attachment(std::string name, std::string attacher, std::optional<std::string> volume, std::string node = "n") {
    api::VolumeAttachment attachment;
    attachment.metadata.name = std::move(name);
    attachment.attacher = std::move(attacher);
    attachment.node_name = std::move(node);
    attachment.persistent_volume_name = std::move(volume);
    Set(attachment);
  }

  // The verdict for a node, of both forms; "skip" when PreFilter skips.
  std::string Decide(const testing::PodBuilder& builder, const std::string& node = "n") {
    const auto pod = builder.Info();
    cluster.Forget();
    if (plugin.PreFilter(cluster.cycle(), *pod).status.IsSkip()) return "skip";
    framework::StatusTable statuses;
    std::vector<framework::VerdictId> verdicts(cluster.table().row_count());
    plugin.FilterRows(cluster.cycle(), *pod, cluster.table().rows(), verdicts, statuses);
    std::string said;
    for (const NodeIndex row : cluster.table().rows()) {
      const std::string name = cluster.table().Info(row).name();
      const std::string verdict = cluster.Filter(plugin, *pod, name);
      EXPECT_EQ(verdicts[row] == 0 ? "ok" : TestCluster::Describe(statuses.Get(verdicts[row])), verdict) << name;
      if (name == node) said = verdict;
    }
    return said;
  }

  testing::FakeHandle handle;
  TestCluster cluster;
  TestedPlugin plugin = CreateNodeVolumeLimits(handle);
};

TEST(NodeVolumeLimits, ADriverMayKeepPodsFromNodesWithoutIt) {
  const std::string missing = std::string("Unschedulable: ") + kDriver + " CSI driver is not installed on the node";
  const auto pod = MakePod("p").Claim("c0");
  Fixture fixture;
  fixture.CsiClaims(1);
  const auto wants = [&](std::optional<bool> prevents) {
    api::CsiDriver driver;
    driver.metadata.name = kDriver;
    driver.prevent_pod_scheduling_if_missing = prevents;
    fixture.Set(driver);
  };
  wants(true);
  EXPECT_EQ(fixture.Decide(pod), "ok") << "the gate VolumeLimitScaling is off";
  framework::Release release;
  release.scales_volume_limits = true;
  fixture.handle.SetRelease(release);
  EXPECT_EQ(fixture.Decide(pod), missing);
  EXPECT_EQ(fixture.Decide(MakePod("p")), "skip");
  fixture.Limits({{kEbs, 5}});
  EXPECT_EQ(fixture.Decide(pod), missing);
  fixture.Limits({{kEbs, 5}, {kDriver, -1}});
  EXPECT_EQ(fixture.Decide(pod), "ok");
  EXPECT_EQ(fixture.Decide(pod, "bare"), missing);
  fixture.Limits({{kDriver, 0}});
  EXPECT_EQ(fixture.Decide(pod), kFull);
  wants(false);
  EXPECT_EQ(fixture.Decide(pod, "bare"), "ok");
  wants(std::nullopt);
  EXPECT_EQ(fixture.Decide(pod, "bare"), "ok");
  EXPECT_EQ(fixture.plugin.ObjectsRead().back(), framework::ObjectKind::kCsiDriver);
}

// 1.35 asks for nothing but a CSIDriver.
TEST(NodeVolumeLimits, EachDriverKeepsPodsFromNodesWithoutItIn135) {
  framework::Release release = framework::ReleaseOf(35);
  release.scales_volume_limits = true;
  Fixture fixture;
  fixture.handle.SetRelease(release);
  fixture.CsiClaims(1);
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("c0"), "bare"), "ok");
  api::CsiDriver driver;
  driver.metadata.name = kDriver;
  fixture.Set(driver);
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("c0"), "bare"),
            std::string("Unschedulable: ") + kDriver + " CSI driver is not installed on the node");
}

TEST(NodeVolumeLimits, CountsVolumesOfADriver) {
  const auto on_n = [](std::vector<std::string> claims) {
    auto pod = MakePod("e").Node("n");
    for (const std::string& claim : claims) pod.Claim(claim);
    return pod;
  };
  const auto two = MakePod("p").Claim("c0").Claim("c1");
  const struct {
    const char* name;
    int limit;  // below 0: none
    std::vector<std::string> used;
    testing::PodBuilder pod;
    const char* want;
  } cases[] = {
      {"no volumes", 0, {}, MakePod("p"), "skip"},
      {"they fit", 2, {}, two, "ok"},
      {"they do not", 1, {}, two, kFull},
      {"no limit", -1, {}, two, "ok"},
      {"a limit of 0", 0, {}, two, kFull},
      {"beside those of a running pod", 3, {"c2"}, two, "ok"},
      {"one too many", 2, {"c2"}, two, kFull},
      {"what a running pod has does not count again", 2, {"c0"}, two, "ok"},
      {"nor anything when all is there", 1, {"c0", "c1"}, two, "ok"},
      {"a missing claim of a running pod does not count", 2, {"missing"}, two, "ok"},
      {"a claim twice is one volume", 1, {}, MakePod("p").Claim("c0").Claim("c0"), "ok"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Fixture fixture;
    fixture.CsiClaims(4);
    fixture.Limits({{kDriver, test.limit}, {"other.example.com", 0}});
    if (!test.used.empty()) fixture.cluster.Add(on_n(test.used));
    EXPECT_EQ(fixture.Decide(test.pod), test.want);
    const std::string bare = fixture.Decide(test.pod, "bare");
    EXPECT_EQ(bare, std::string_view(test.want) == "skip" ? "skip" : "ok");
  }
}

TEST(NodeVolumeLimits, WhatStandsBehindAClaim) {
  Fixture fixture;
  fixture.Class("wait", kDriver);
  fixture.Class("ebs", "kubernetes.io/aws-ebs");
  fixture.Class("file", "kubernetes.io/azure-file");
  fixture.Class("none", "");
  fixture.Volume("csi", {.kind = VolumeKind::kCsi, .id = "h", .driver = kDriver});
  fixture.Volume("no-handle", {.kind = VolumeKind::kCsi, .driver = kDriver});
  fixture.Volume("ebs", {.kind = VolumeKind::kAwsElasticBlockStore, .id = "vol-1"});
  fixture.Volume("bad-ebs", {.kind = VolumeKind::kAwsElasticBlockStore, .id = "aws://z/x"});
  fixture.Volume("shared", {.kind = VolumeKind::kAzureDisk, .id = "u", .disk_kind = "Shared"});
  fixture.Volume("file", {.kind = VolumeKind::kAzureFile, .id = "s#f"});
  fixture.Volume("local", {.kind = VolumeKind::kLocal, .id = "/d"});
  const std::vector<std::pair<std::string, int>> nothing = {
      {kDriver, 0}, {kEbs, 0}, {"disk.csi.azure.com", 0}, {"file.csi.azure.com", 0}, {"", 0}};
  const struct {
    const char* name;
    const char* volume;
    std::optional<std::string> storage_class;
    bool counts;
  } cases[] = {
      {"a CSI volume", "csi", {}, true},
      {"one without a handle", "no-handle", {}, false},
      {"an in-tree volume of a migrated kind", "ebs", {}, true},
      {"one that cannot be translated", "bad-ebs", {}, false},
      {"an Azure disk that is not managed", "shared", {}, false},
      {"of a kind that is not migrated", "file", {}, false},
      {"of a kind without translation", "local", {}, false},
      {"a volume that is missing: the class", "gone", "wait", true},
      {"unbound, of a CSI class", "", "wait", true},
      {"unbound, of a migrated class", "", "ebs", true},
      {"unbound, of a class that is not migrated", "", "file", false},
      {"unbound, of a class without provisioner", "", "none", false},
      {"unbound, of a missing class", "", "missing", false},
      {"unbound, without class", "", {}, false},
      {"unbound, of the empty class", "", "", false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    fixture.Limits(nothing);
    fixture.Claim("c", test.volume, test.storage_class);
    EXPECT_EQ(fixture.Decide(MakePod("p").Claim("c")), test.counts ? kFull : "ok");
  }
  // The beta annotation comes first.
  api::PersistentVolumeClaim claim;
  claim.metadata.name = "c";
  claim.metadata.namespace_name = "default";
  claim.metadata.annotations.Set("volume.beta.kubernetes.io/storage-class", "wait");
  claim.storage_class_name = "none";
  fixture.Set(claim);
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("c")), kFull);
}

TEST(NodeVolumeLimits, UnboundClaimsCountOnceEach) {
  Fixture fixture;
  fixture.Class("wait", kDriver);
  for (const char* name : {"x", "y"}) fixture.Claim(name, "", "wait");
  fixture.Limits({{kDriver, 1}});
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("x")), "ok");
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("x").Claim("y")), kFull);
  fixture.cluster.Add(MakePod("e").Claim("x").Node("n"));
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("x")), "ok");
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("y")), kFull);
}

TEST(NodeVolumeLimits, InlineVolumes) {
  const auto ebs = [](std::string id) {
    return api::Volume{"inline", {.kind = VolumeKind::kAwsElasticBlockStore, .id = std::move(id)}};
  };
  Fixture fixture;
  fixture.Limits({{kEbs, 1}, {kDriver, 0}, {"file.csi.azure.com", 0}});
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ebs("vol-1"))), "ok");
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ebs("vol-1")).Volume(ebs("aws://zone/vol-1"))), "ok");
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ebs("vol-1")).Volume(ebs("vol-2"))), kFull);
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume({"v", {.kind = VolumeKind::kCsi, .driver = kDriver}})), "skip");
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume({"v", {.kind = VolumeKind::kIscsi}})), "skip");
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume({"v", {.kind = VolumeKind::kAzureFile}})), "ok");

  const api::Volume shared{"inline", {.kind = VolumeKind::kAzureDisk, .id = "u", .disk_kind = "Shared"}};
  const std::string error =
      "Error: converting volume(inline) from inline to csi: kind(Shared) is not supported in csi migration";
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(shared)), error);
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(shared), "bare"), "ok");
  fixture.cluster.Add(MakePod("e").Volume(shared).Node("n"));
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ebs("vol-1"))), error);
  fixture.Limits({{kEbs, -1}});
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ebs("vol-1"))), "ok");
}

TEST(NodeVolumeLimits, ClaimsThatCannotBeUsed) {
  Fixture fixture;
  fixture.CsiClaims(1);
  fixture.Limits({{kDriver, 5}});
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("none")),
            "UnschedulableAndUnresolvable: looking up PVC default/none: persistentvolumeclaim \"none\" not found");
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("none"), "bare"),
            "UnschedulableAndUnresolvable: looking up PVC default/none: persistentvolumeclaim \"none\" not found");
  EXPECT_EQ(fixture.Decide(MakePod("p").Claim("")), "Error: PersistentVolumeClaim had no name");

  const api::Volume ephemeral{"data", {.kind = VolumeKind::kEphemeral}};
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ephemeral)),
            "UnschedulableAndUnresolvable: looking up PVC default/p-data: persistentvolumeclaim \"p-data\" not found");
  fixture.Claim("p-data", "v0", {}, "somebody");
  const char* kForeign = "Error: PVC default/p-data was not created for pod default/p (pod is not owner)";
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ephemeral)), kForeign);
  fixture.Claim("p-data", "v0", {}, "uid-default-p");
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ephemeral)), "ok");
  fixture.Limits({{kDriver, 0}});
  EXPECT_EQ(fixture.Decide(MakePod("p").Volume(ephemeral)), kFull);

  // A running pod with a claim of another owner is an error for all that come with volumes.
  fixture.Limits({{kDriver, 5}});
  fixture.Claim("p-data", "v0");
  fixture.cluster.Add(MakePod("p").Volume(ephemeral).Node("n"));
  EXPECT_EQ(fixture.Decide(MakePod("q").Claim("c0")), kForeign);
}

TEST(NodeVolumeLimits, Attachments) {
  Fixture fixture;
  fixture.CsiClaims(3);
  fixture.Volume("in-tree", {.kind = VolumeKind::kAwsElasticBlockStore, .id = "vol-1"});
  fixture.Limits({{kDriver, 2}});
  const auto pod = MakePod("p").Claim("c0").Claim("c1");
  EXPECT_EQ(fixture.Decide(pod), "ok");
  // None of these counts.
  fixture.Attachment("1", "", "v2");
  fixture.Attachment("2", kDriver, std::nullopt);
  fixture.Attachment("3", kDriver, "gone");
  fixture.Attachment("4", kDriver, "in-tree");
  fixture.Attachment("5", kDriver, "v2", "bare");
  fixture.Attachment("6", "other.example.com", "v2");
  EXPECT_EQ(fixture.Decide(pod), "ok");
  fixture.Attachment("7", kDriver, "v2");
  EXPECT_EQ(fixture.Decide(pod), kFull);
  fixture.handle.store.Of<api::VolumeAttachment>().Remove("7");
  EXPECT_EQ(fixture.Decide(pod), "ok");
  // The volume that the pod wants is attached already: it counts twice.
  fixture.Attachment("7", kDriver, "v0");
  EXPECT_EQ(fixture.Decide(pod), kFull);
  // But not when a pod there uses it.
  fixture.cluster.Add(MakePod("e").Claim("c0").Node("n"));
  EXPECT_EQ(fixture.Decide(pod), "ok");
  // An attachment that moves.
  fixture.Attachment("8", kDriver, "v2");
  EXPECT_EQ(fixture.Decide(pod), kFull);
  fixture.Attachment("8", kDriver, "v2", "bare");
  EXPECT_EQ(fixture.Decide(pod), "ok");
}

TEST(NodeVolumeLimits, FollowsNodesAndCsiNodes) {
  Fixture fixture;
  fixture.CsiClaims(2);
  const auto pod = MakePod("p").Claim("c0");
  EXPECT_EQ(fixture.Decide(pod), "ok");
  fixture.Limits({{kDriver, 0}});
  EXPECT_EQ(fixture.Decide(pod), kFull);
  fixture.Limits({{kDriver, 0}, {kDriver, 1}});
  EXPECT_EQ(fixture.Decide(pod), "ok");
  fixture.Limits({{kDriver, 1}, {kDriver, 0}, {kDriver, -1}});
  EXPECT_EQ(fixture.Decide(pod), kFull);
  fixture.handle.store.Of<api::CsiNode>().Remove("n");
  EXPECT_EQ(fixture.Decide(pod), "ok");
  fixture.Limits({{kDriver, 0}}, "late");
  fixture.cluster.Add(MakeNode("late"));
  EXPECT_EQ(fixture.Decide(pod, "late"), kFull);
  fixture.cluster.table().RemoveNode("late");
  fixture.cluster.Add(MakeNode("other"));
  EXPECT_EQ(fixture.Decide(pod, "other"), "ok");
}

TEST(NodeVolumeLimits, ColumnEqualsPlain) {
  int full = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const auto below = [&random](std::uint64_t n) { return random.Below(n); };
    const auto text = [&](const char* prefix, std::uint64_t n) { return prefix + std::to_string(below(n)); };
    Fixture fixture;
    for (const char* name : {"n2", "n3", "n4"}) fixture.cluster.Add(MakeNode(name));
    const std::array nodes{"n", "bare", "n2", "n3", "n4"};
    const std::array drivers{kDriver, kEbs, "other.example.com"};
    const auto make = [&](std::string name) {
      auto pod = MakePod(std::move(name));
      for (std::uint64_t i = below(4); i > 0; --i) pod.Claim(text("c", 13));
      if (below(12) == 0) pod.Volume({"d", {.kind = VolumeKind::kEphemeral}});
      if (below(3) == 0) pod.Volume({"i", {.kind = VolumeKind::kAwsElasticBlockStore, .id = text("vol-", 4)}});
      if (below(40) == 0) pod.Volume({"i", {.kind = VolumeKind::kAwsElasticBlockStore, .id = "aws://x"}});
      return pod;
    };
    fixture.Class("wait", kDriver);
    fixture.Class("ebs", "kubernetes.io/aws-ebs");
    std::vector<std::pair<NodeIndex, std::string>> running;
    for (int step = 0; step < 120; ++step) {
      switch (below(9)) {
        case 0:
          fixture.Limits(
              {{drivers[below(3)], static_cast<int>(below(6)) - 1}, {drivers[below(3)], static_cast<int>(below(6))}},
              nodes[below(5)]);
          break;
        case 1: fixture.handle.store.Of<api::CsiNode>().Remove(nodes[below(5)]); break;
        case 2:
          fixture.Volume(
              text("v", 8),
              below(3) == 0
                  ? api::VolumeSource{.kind = VolumeKind::kAwsElasticBlockStore, .id = text("vol-", 4)}
                  : api::VolumeSource{.kind = VolumeKind::kCsi, .id = text("h", 6), .driver = drivers[below(3)]});
          break;
        case 3:
          fixture.Claim(text("c", 12), below(3) == 0 ? "" : text("v", 8),
                        std::array<std::optional<std::string>, 3>{std::nullopt, "wait", "ebs"}[below(3)]);
          break;
        case 4: fixture.Attachment(text("a", 9), drivers[below(3)], text("v", 8), nodes[below(5)]); break;
        case 5: fixture.handle.store.Of<api::VolumeAttachment>().Remove(text("a", 9)); break;
        case 6:
          if (running.empty()) break;
          fixture.cluster.table().RemovePod(running.back().first, running.back().second);
          running.pop_back();
          break;
        case 7:
          if (below(4) == 0) {
            fixture.Claim("e" + std::to_string(step) + "-d", text("v", 8), {}, "somebody");
          } else {
            fixture.cluster.Add(MakeNode(nodes[below(5)]).Label("step", std::to_string(step)));
          }
          [[fallthrough]];
        default: {
          const std::string name = "e" + std::to_string(step);
          const auto pod = make(name).Node(nodes[below(5)]).Info();
          running.emplace_back(fixture.cluster.table().AddPod(pod), pod->uid);
        }
      }
      for (const char* node : nodes) full += fixture.Decide(make("p"), node) == kFull ? 1 : 0;
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
  }
  EXPECT_GT(full, 100);
}

TEST(NodeVolumeLimits, Hints) {
  using namespace framework::action;
  Fixture fixture;
  constexpr auto kQueue = QueueingHint::kQueue;
  constexpr auto kSkip = QueueingHint::kSkip;
  const api::Volume ephemeral{"data", {.kind = VolumeKind::kEphemeral}};
  const api::Volume ebs{"v", {.kind = VolumeKind::kAwsElasticBlockStore, .id = "vol-1"}};
  const auto with_claim = MakePod("p").Claim("c").Info();
  const auto with_ephemeral = MakePod("p").Volume(ephemeral).Info();

  const auto csi_node = [](std::vector<std::pair<const char*, int>> limits) -> framework::AnyObject {
    auto made = std::make_shared<api::CsiNode>();
    for (const auto& [driver, limit] : limits) {
      made->drivers.push_back({driver, "", {}, limit < 0 ? std::nullopt : std::optional<std::int32_t>(limit)});
    }
    return std::shared_ptr<const api::CsiNode>(made);
  };
  const struct {
    const char* name;
    framework::AnyObject before, after;
    QueueingHint want;
  } updates[] = {
      {"a limit grows", csi_node({{"a", 1}}), csi_node({{"a", 2}}), kQueue},
      {"it shrinks", csi_node({{"a", 2}}), csi_node({{"a", 1}}), kSkip},
      {"a driver comes", csi_node({}), csi_node({{"a", 1}}), kQueue},
      {"a driver comes without limit", csi_node({}), csi_node({{"a", -1}}), kQueue},
      {"the limit goes away", csi_node({{"a", 1}}), csi_node({{"a", -1}}), kQueue},
      {"a first limit", csi_node({{"a", -1}}), csi_node({{"a", 1}}), kSkip},
      {"the driver goes away", csi_node({{"a", 1}}), csi_node({}), kQueue},
      {"one of two grows", csi_node({{"a", 2}, {"b", 1}}), csi_node({{"a", 1}, {"b", 2}}), kQueue},
  };
  for (const auto& test : updates) {
    EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kCsiNode, kUpdate}, *with_claim,
                      {.old_object = &test.before, .new_object = &test.after}),
              test.want)
        << test.name;
  }
  EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kCsiNode, kAdd}, *with_claim, {.new_object = &updates[0].after}),
            kQueue);
  EXPECT_EQ(
      HintFor(fixture.plugin, {EventResource::kCsiNode, kDelete}, *with_claim, {.old_object = &updates[0].before}),
      kQueue);

  const struct {
    const char* name;
    testing::PodBuilder gone;
    QueueingHint want;
  } deletions[] = {
      {"with a claim", MakePod("e").Claim("x").Node("n"), kQueue},
      {"with an ephemeral volume", MakePod("e").Volume(ephemeral).Node("n"), kQueue},
      {"with a migrated volume", MakePod("e").Volume(ebs).Node("n"), kQueue},
      {"nominated", MakePod("e").Claim("x").Nominated("n"), kQueue},
      {"not placed", MakePod("e").Claim("x"), kSkip},
      {"without volumes", MakePod("e").Node("n"), kSkip},
      {"with others", MakePod("e").Volume({"v", {.kind = VolumeKind::kIscsi}}).Node("n"), kSkip},
  };
  for (const auto& test : deletions) {
    const auto gone = test.gone.Info();
    EXPECT_EQ(HintFor(fixture.plugin, {EventResource::kAssignedPod, kDelete}, *with_claim, {.old_pod = gone.get()}),
              test.want)
        << test.name;
  }

  const auto added = [&](const framework::PodInfo& pod, const char* name, const char* namespace_name) {
    auto claim = std::make_shared<api::PersistentVolumeClaim>();
    claim->metadata.name = name;
    claim->metadata.namespace_name = namespace_name;
    const framework::AnyObject object = std::shared_ptr<const api::PersistentVolumeClaim>(claim);
    return HintFor(fixture.plugin, {EventResource::kPersistentVolumeClaim, kAdd}, pod, {.new_object = &object});
  };
  EXPECT_EQ(added(*with_claim, "c", "default"), kQueue);
  EXPECT_EQ(added(*with_claim, "c", "other"), kSkip);
  EXPECT_EQ(added(*with_claim, "d", "default"), kSkip);
  EXPECT_EQ(added(*with_ephemeral, "p-data", "default"), kQueue);
  EXPECT_EQ(added(*with_ephemeral, "data", "default"), kSkip);

  const auto detached = [&](const framework::PodInfo& pod, const char* attacher) {
    auto attachment = std::make_shared<api::VolumeAttachment>();
    attachment->attacher = attacher;
    const framework::AnyObject object = std::shared_ptr<const api::VolumeAttachment>(attachment);
    return HintFor(fixture.plugin, {EventResource::kVolumeAttachment, kDelete}, pod, {.old_object = &object});
  };
  EXPECT_EQ(detached(*with_claim, kDriver), kQueue);
  EXPECT_EQ(detached(*with_ephemeral, kDriver), kQueue);
  EXPECT_EQ(detached(*MakePod("p").Volume(ebs).Info(), kEbs), kQueue);
  EXPECT_EQ(detached(*MakePod("p").Volume(ebs).Info(), kDriver), kSkip);
  const api::Volume broken{"v", {.kind = VolumeKind::kAzureDisk, .id = "u", .disk_kind = "Shared"}};
  EXPECT_EQ(detached(*MakePod("p").Volume(broken).Info(), kDriver), kQueue);
  const api::Volume file{"v", {.kind = VolumeKind::kAzureFile, .id = "s#f"}};
  EXPECT_EQ(detached(*MakePod("p").Volume(file).Info(), "file.csi.azure.com"), kQueue);
}

}  // namespace
}  // namespace berth::plugins
