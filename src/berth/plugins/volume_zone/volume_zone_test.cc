// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_zone/volume_zone.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

using Labels = api::StringMap;
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr const char* kRefused = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

std::shared_ptr<api::PersistentVolume> Volume(std::string name, Labels labels) {
  auto volume = std::make_shared<api::PersistentVolume>();
  volume->metadata.name = std::move(name);
  volume->metadata.labels = std::move(labels);
  return volume;
}
std::shared_ptr<api::PersistentVolumeClaim> Claim(std::string name, std::string volume_name,
                                                  std::optional<std::string> storage_class = std::nullopt) {
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.namespace_name = "default";
  claim->metadata.name = std::move(name);
  claim->volume_name = std::move(volume_name);
  claim->storage_class_name = std::move(storage_class);
  return claim;
}
std::shared_ptr<api::StorageClass> Class(std::string name, std::optional<std::string> mode) {
  auto storage_class = std::make_shared<api::StorageClass>();
  storage_class->metadata.name = std::move(name);
  storage_class->volume_binding_mode = std::move(mode);
  return storage_class;
}

class VolumeZoneTest : public ::testing::Test {
 protected:
  template <typename T>
  void Add(const std::shared_ptr<T>& object) {
    handle_.store.Of<T>().Set(object);
  }

  testing::FakeHandle handle_;
  TestedPlugin plugin_ = CreateVolumeZone(handle_);
};

TEST_F(VolumeZoneTest, PreFilters) {
  Add(Claim("bound", "zonal"));
  Add(Volume("zonal", {{kZone, "a"}}));
  Add(Claim("anywhere", "free"));
  Add(Volume("free", {{kZone, "a____b"}, {"disk", "ssd"}}));
  Add(Claim("lost", "nowhere"));
  Add(Claim("no-class", ""));
  Add(Claim("empty-class", "", ""));
  Add(Claim("unknown-class", "", "unknown"));
  Add(Claim("waiting", "", "late"));
  Add(Claim("immediate", "", "early"));
  Add(Claim("modeless", "", "modeless"));
  auto beta = Claim("beta", "", "early");
  beta->metadata.annotations.Set("volume.beta.kubernetes.io/storage-class", "late");
  Add(beta);
  Add(Class("late", "WaitForFirstConsumer"));
  Add(Class("early", "Immediate"));
  Add(Class("modeless", std::nullopt));

  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::string want;
  } kCases[] = {
      {"no volumes", MakePod("p"), "Skip"},
      {"no claims", MakePod("p").Volume({"v", {api::VolumeKind::kGcePersistentDisk, "disk", "", "", {}, false}}),
       "Skip"},
      {"a volume with a zone", MakePod("p").Claim("bound"), "ok"},
      {"a volume whose zones cannot be read", MakePod("p").Claim("anywhere"), "Skip"},
      {"a claim to be bound later", MakePod("p").Claim("waiting"), "Skip"},
      {"the class of the annotation", MakePod("p").Claim("beta"), "Skip"},
      {"one of several", MakePod("p").Claim("waiting").Claim("bound"), "ok"},
      {"no name", MakePod("p").Claim(""), "UnschedulableAndUnresolvable: PersistentVolumeClaim had no name"},
      {"no such claim", MakePod("p").Claim("gone"),
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"gone\" not found"},
      {"a claim of another namespace", MakePod("p").Namespace("other").Claim("bound"),
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"bound\" not found"},
      {"no such volume", MakePod("p").Claim("lost"),
       "UnschedulableAndUnresolvable: persistentvolume \"nowhere\" not found"},
      {"unbound without class", MakePod("p").Claim("no-class"),
       "UnschedulableAndUnresolvable: PersistentVolumeClaim had no pv name and storageClass name"},
      {"unbound with the empty class", MakePod("p").Claim("empty-class"),
       "UnschedulableAndUnresolvable: PersistentVolumeClaim had no pv name and storageClass name"},
      {"no such class", MakePod("p").Claim("unknown-class"),
       "UnschedulableAndUnresolvable: storageclass.storage.k8s.io \"unknown\" not found"},
      {"a class without mode", MakePod("p").Claim("modeless"),
       "UnschedulableAndUnresolvable: VolumeBindingMode not set for StorageClass \"modeless\""},
      {"a class that binds at once", MakePod("p").Claim("immediate"),
       "UnschedulableAndUnresolvable: PersistentVolume had no name"},
      {"the first fault is told", MakePod("p").Claim("bound").Claim("lost").Claim("gone"),
       "UnschedulableAndUnresolvable: persistentvolume \"nowhere\" not found"},
  };
  for (const auto& c : kCases) {
    TestCluster cluster;
    EXPECT_EQ(TestCluster::Describe(plugin_.PreFilter(cluster.cycle(), *c.pod.Info()).status), c.want) << c.name;
  }
}

TEST_F(VolumeZoneTest, Filters) {
  const struct {
    const char* name;
    Labels volume;
    Labels node;
    std::string want;
  } kCases[] = {
      {"same zone", {{kZone, "a"}}, {{kZone, "a"}}, "ok"},
      {"another zone", {{kZone, "a"}}, {{kZone, "b"}}, kRefused},
      {"a node without such labels", {{kZone, "a"}}, {{"disk", "ssd"}}, "ok"},
      {"a node with the region alone", {{kZone, "a"}}, {{kRegion, "r"}}, kRefused},
      {"one of several zones", {{kZone, "a__b"}}, {{kZone, "b"}}, "ok"},
      {"none of several zones", {{kZone, "a__b"}}, {{kZone, "c"}}, kRefused},
      {"spaces around zones", {{kZone, " a __ b "}}, {{kZone, "b"}}, "ok"},
      {"zones that cannot be read do not count",
       {{kZone, "a__"}, {kRegion, "r"}},
       {{kZone, "c"}, {kRegion, "r"}},
       "ok"},
      {"zone and region", {{kZone, "a"}, {kRegion, "r"}}, {{kZone, "a"}, {kRegion, "s"}}, kRefused},
      {"beta on both", {{kBetaZone, "a"}}, {{kBetaZone, "a"}}, "ok"},
      {"beta on the volume", {{kBetaZone, "a"}, {kBetaRegion, "r"}}, {{kZone, "a"}, {kRegion, "r"}}, "ok"},
      {"beta on the volume, another zone", {{kBetaZone, "a"}}, {{kZone, "b"}}, kRefused},
      {"the node's beta label goes first", {{kBetaZone, "a"}}, {{kBetaZone, "b"}, {kZone, "a"}}, kRefused},
      {"beta on the node alone is not looked at", {{kZone, "a"}}, {{kBetaZone, "a"}}, kRefused},
  };
  Add(Claim("c", "v"));
  const auto pod = MakePod("p").Claim("c").Info();
  for (const auto& c : kCases) {
    Add(Volume("v", c.volume));
    TestCluster cluster;
    auto node = MakeNode("n");
    for (const auto& [key, value] : c.node) node.Label(key, value);
    cluster.Add(node);
    // A profile may leave PreFilter out.
    EXPECT_EQ(cluster.Filter(plugin_, *pod, "n"), c.want) << c.name << ", unprepared";
    const auto cycle = cluster.cycle();
    ASSERT_TRUE(plugin_.PreFilter(cycle, *pod).status.IsSuccess()) << c.name;
    EXPECT_EQ(cluster.Filter(plugin_, *pod, "n"), c.want) << c.name;
    framework::StatusTable statuses;
    framework::VerdictId verdict[] = {framework::kVerdictOk};
    plugin_.FilterRows(cycle, *pod, cycle.nodes.rows(), verdict, statuses);
    EXPECT_EQ(TestCluster::Describe(statuses.Get(verdict[0])), c.want) << c.name << ", by column";
  }
}

// Over random labels of nodes and volumes, prepared or not.
TEST_F(VolumeZoneTest, ColumnEqualsPlain) {
  Random random(1);
  const auto pick = [&](auto... choices) {
    const std::string_view all[] = {std::string_view(choices)...};
    return std::string(all[random.Below(sizeof...(choices))]);
  };
  const auto labels = [&](int count) {
    Labels map;
    for (; count > 0; --count) {
      map.Set(pick(kZone, kRegion, kBetaZone, kBetaRegion, "disk"), pick("a", "b", "c", "a__b", "b__c__d", "a__"));
    }
    return map;
  };
  int refused = 0;
  int passed = 0;
  for (int round = 0; round < 300; ++round) {
    TestCluster cluster;
    for (int n = 0; n < 8; ++n) {
      auto node = MakeNode("n" + std::to_string(n));
      for (const auto& [key, value] : labels(static_cast<int>(random.Below(4)))) node.Label(key, value);
      cluster.Add(node);
    }
    for (const char* name : {"v1", "v2"}) {
      Add(Volume(name, labels(static_cast<int>(random.Below(3)))));
      Add(Claim(std::string("claim-") + name, name));
    }
    const auto pod = MakePod("p").Claim("claim-v1").Claim("claim-v2").Info();
    const auto cycle = cluster.cycle();
    if (round % 4 != 0 && plugin_.PreFilter(cycle, *pod).status.IsSkip()) continue;
    framework::StatusTable plain_statuses, column_statuses;
    std::vector<framework::VerdictId> plain(8), column(8);
    plugin_.As<framework::FastFilter>().FastFilter::FilterRows(cycle, *pod, cycle.nodes.rows(), plain, plain_statuses);
    plugin_.FilterRows(cycle, *pod, cycle.nodes.rows(), column, column_statuses);
    ASSERT_EQ(plain, column) << "round " << round;
    for (const auto verdict : plain) (verdict == framework::kVerdictOk ? passed : refused) += 1;
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(passed, 100);
}

TEST_F(VolumeZoneTest, EventsThatMayHelp) {
  using namespace framework::action;
  using enum framework::EventResource;
  using framework::AnyObject;
  const auto pod = MakePod("p").Claim("own").Info();
  const auto in_zone = [](const char* zone) { return Volume("v", {{kZone, zone}}); };
  auto labelled = Volume("v", {{kZone, "a"}, {"disk", "ssd"}});
  auto elsewhere = Claim("own", "");
  elsewhere->metadata.namespace_name = "other";
  using Object = std::optional<AnyObject>;
  const struct {
    const char* name;
    framework::ClusterEvent event;
    Object before, after;
    QueueingHint want;
  } kCases[] = {
      {"a class that waits", {kStorageClass, kAdd}, {}, Class("c", "WaitForFirstConsumer"), QueueingHint::kQueue},
      {"a class that does not", {kStorageClass, kAdd}, {}, Class("c", "Immediate"), QueueingHint::kSkip},
      {"a class without mode", {kStorageClass, kAdd}, {}, Class("c", std::nullopt), QueueingHint::kSkip},
      {"own claim comes", {kPersistentVolumeClaim, kAdd}, {}, Claim("own", ""), QueueingHint::kQueue},
      {"own claim is bound",
       {kPersistentVolumeClaim, kUpdate},
       Claim("own", ""),
       Claim("own", "v"),
       QueueingHint::kQueue},
      {"another claim", {kPersistentVolumeClaim, kAdd}, {}, Claim("other", "v"), QueueingHint::kSkip},
      {"a claim of another namespace", {kPersistentVolumeClaim, kAdd}, {}, elsewhere, QueueingHint::kSkip},
      {"a volume comes", {kPersistentVolume, kAdd}, {}, in_zone("a"), QueueingHint::kQueue},
      {"a volume changes its zone", {kPersistentVolume, kUpdate}, in_zone("a"), in_zone("b"), QueueingHint::kQueue},
      {"the same zones in another order",
       {kPersistentVolume, kUpdate},
       in_zone("a__b"),
       in_zone("b__a"),
       QueueingHint::kSkip},
      {"a volume changes another label", {kPersistentVolume, kUpdate}, in_zone("a"), labelled, QueueingHint::kSkip},
      {"a node comes", {kNode, kAdd}, {}, {}, QueueingHint::kQueue},
      {"a node's labels", {kNode, kUpdateNodeLabel}, {}, {}, QueueingHint::kQueue},
      {"a node's resources", {kNode, kUpdateNodeAllocatable}, {}, {}, QueueingHint::kSkip},
  };
  for (const auto& c : kCases) {
    framework::EventObjects objects;
    objects.old_object = c.before ? &*c.before : nullptr;
    objects.new_object = c.after ? &*c.after : nullptr;
    EXPECT_EQ(HintFor(plugin_, c.event, *pod, objects), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::plugins
