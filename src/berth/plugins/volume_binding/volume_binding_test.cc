// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_binding.h"

#include <functional>

#include <gtest/gtest.h>

#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

using testing::In;
using testing::MakeNode;
using testing::MakePod;
using testing::Term;

const std::string kConflict = "UnschedulableAndUnresolvable: " + std::string(kReasonNodeConflict);
const std::string kNothingToBind = "UnschedulableAndUnresolvable: " + std::string(kReasonBindConflict);
const std::string kNoSpace = "UnschedulableAndUnresolvable: " + std::string(kReasonNotEnoughSpace);
const std::string kMissing = "UnschedulableAndUnresolvable: " + std::string(kReasonVolumeMissing);

testing::NodeBuilder Host(const std::string& name, const std::string& zone = "a") {
  return MakeNode(name).Label("kubernetes.io/hostname", name).Label("zone", zone);
}

testing::PodBuilder WithEphemeral(testing::PodBuilder pod, std::string volume) {
  return pod.Volume({std::move(volume), {api::VolumeKind::kEphemeral, "", "", "", {}, false}});
}

constexpr Time kMoment{std::chrono::seconds(1)};

TEST(VolumeBinding, PreFilter) {
  const auto claim_pod = MakePod("pod").Claim("data").Info();
  const auto ephemeral_pod = WithEphemeral(MakePod("pod"), "scratch").Info();
  const auto owned = [](api::PersistentVolumeClaim& c) {
    c.metadata.controller = {"v1", "Pod", "pod", "uid-default-pod"};
  };
  const struct {
    const char* name;
    framework::PodInfoPtr pod;
    std::function<void(VolumeCluster&)> set_up;
    std::string want;
  } cases[] = {
      {"no volumes", MakePod("pod").Info(), {}, "Skip"},
      {"volumes without claims",
       MakePod("pod").Volume({"v", {api::VolumeKind::kCsi, "h", "d", "", {}, false}}).Info(),
       {},
       "Skip"},
      {"missing claim", claim_pod, {}, "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" not found"},
      {"claim of another namespace", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.metadata.namespace_name = "other"; })); },
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" not found"},
      {"missing ephemeral claim",
       ephemeral_pod,
       {},
       "UnschedulableAndUnresolvable: waiting for ephemeral volume controller to create the persistentvolumeclaim "
       "\"pod-scratch\""},
      {"foreign ephemeral claim", ephemeral_pod, [](auto& c) { c.Set(MakeClaim("pod-scratch")); },
       "UnschedulableAndUnresolvable: PVC default/pod-scratch was not created for pod default/pod (pod is not owner)"},
      {"own ephemeral claim", ephemeral_pod, [&](auto& c) { c.Set(MakeClaim("pod-scratch").With(owned)); }, "ok"},
      {"lost claim", claim_pod,
       [](auto& c) { c.Set(Bound(MakeClaim("data"), "pv").With([](auto& o) { o.phase = "Lost"; })); },
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\""},
      {"claim being deleted", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.metadata.deletion_time = Time{}; })); },
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"data\" is being deleted"},
      {"immediate claim", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.storage_class_name = "now"; })); },
       "UnschedulableAndUnresolvable: pod has unbound immediate PersistentVolumeClaims"},
      {"claim without class", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.storage_class_name = std::nullopt; })); },
       "UnschedulableAndUnresolvable: pod has unbound immediate PersistentVolumeClaims"},
      {"claim of an unknown class", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.storage_class_name = "unknown"; })); },
       "UnschedulableAndUnresolvable: pod has unbound immediate PersistentVolumeClaims"},
      {"class without binding mode", claim_pod,
       [](auto& c) {
         c.Set(MakeClass("wait").With([](auto& o) { o.volume_binding_mode.reset(); }));
         c.Set(MakeClaim("data"));
       },
       "Error: VolumeBindingMode not set for StorageClass \"wait\""},
      {"delayed claim", claim_pod, [](auto& c) { c.Set(MakeClaim("data")); }, "ok"},
      {"delayed by the old annotation", claim_pod,
       [](auto& c) {
         c.Set(MakeClaim("data").Annotate("volume.beta.kubernetes.io/storage-class", "wait").With([](auto& o) {
           o.storage_class_name = "now";
         }));
       },
       "ok"},
      {"delayed claim that names its volume", claim_pod,
       [](auto& c) { c.Set(MakeClaim("data").With([](auto& o) { o.volume_name = "pv"; })); },
       "UnschedulableAndUnresolvable: pod has unbound immediate PersistentVolumeClaims"},
      {"bound claim", claim_pod, [](auto& c) { c.Set(Bound(MakeClaim("data"), "pv")); }, "ok"},
      {"the first claim in trouble is named",
       MakePod("pod").Claim("b").Claim("a").Info(),
       {},
       "UnschedulableAndUnresolvable: persistentvolumeclaim \"b\" not found"},
  };
  for (const auto& c : cases) {
    VolumeCluster cluster;
    if (c.set_up) c.set_up(cluster);
    EXPECT_EQ(cluster.PreFilter(*c.pod), c.want) << c.name;
  }
}

TEST(VolumeBinding, FilterWithoutPreFilterIsAnError) {
  VolumeCluster cluster({Host("n")});
  EXPECT_EQ(cluster.Filter(cluster.plugin(), *MakePod("pod").Claim("data").Info(), "n"), "Error: not found");
}

TEST(VolumeBinding, BoundClaims) {
  VolumeCluster cluster({Host("n1"), Host("n2")});
  cluster.Set(OnNodes(ClaimedBy(MakeVolume("pv1"), "local", "uid-local"), {"n1"}));
  cluster.Set(ClaimedBy(MakeVolume("pv2"), "shared", "uid-shared"));
  cluster.Set(Bound(MakeClaim("local"), "pv1"));
  cluster.Set(Bound(MakeClaim("shared"), "pv2"));
  cluster.Set(Bound(MakeClaim("lost"), "gone"));
  cluster.Set(MakeClaim("pending"));
  const auto local = MakePod("pod").Claim("local").Claim("shared").Info();
  EXPECT_EQ(cluster.Try(*local, "n1"), "ok");
  EXPECT_EQ(cluster.Try(*local, "n2"), kConflict);
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("lost").Info(), "n1"), kMissing);
  // The first bound claim in trouble is reported, and unbound ones beside it.
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("lost").Claim("local").Info(), "n2"), kMissing);
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("local").Claim("lost").Info(), "n2"), kConflict);
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("local").Claim("pending").Info(), "n2"),
            kConflict + ", " + std::string(kReasonBindConflict));
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("lost").Claim("pending").Info(), "n1"),
            kNothingToBind + ", " + std::string(kReasonVolumeMissing));
}

TEST(VolumeBinding, MigratedVolumesMatchTheDriversLabel) {
  VolumeCluster cluster(
      {Host("n1").Label("topology.kubernetes.io/zone", "a"), Host("n2").Label("topology.gke.io/zone", "a")});
  const auto gce = [](api::PersistentVolume& v) {
    v.spec.source.kind = api::VolumeKind::kGcePersistentDisk;
    v.spec.node_affinity = {{Term({In("topology.kubernetes.io/zone", {"a"})})}};
  };
  cluster.Set(MakeVolume("pv").With(gce));
  cluster.Set(Bound(MakeClaim("data"), "pv"));
  const auto pod = MakePod("pod").Claim("data").Info();
  EXPECT_EQ(cluster.Try(*pod, "n1"), "ok");
  EXPECT_EQ(cluster.Try(*pod, "n2"), kConflict);
  for (const char* node : {"n1", "n2"}) {
    cluster.Set(ObjectBuilder<api::CsiNode>(node).Annotate("storage.alpha.kubernetes.io/migrated-plugins",
                                                           "kubernetes.io/gce-pd"));
  }
  EXPECT_EQ(cluster.Try(*pod, "n1"), kConflict);
  EXPECT_EQ(cluster.Try(*pod, "n2"), "ok");
  cluster.Set(MakeVolume("pv").With([](auto& v) {
    v.spec.source.kind = api::VolumeKind::kGcePersistentDisk;
    v.metadata.labels.Set("topology.kubernetes.io/zone", "a__b");
  }));
  EXPECT_EQ(cluster.Try(*pod, "n1"),
            "Error: could not translate pv: failed to get region from zones: zone in unexpected format, expected: "
            "{locale}-{region}-{zone}, got: a");
  EXPECT_EQ(cluster.handle.counted->Value("scheduler_volume_scheduling_stage_error_total,operation=predicate"), 1);
}

// One claim of 5Gi, class "wait", and the volume it gets on the node n1.
TEST(VolumeBinding, MatchesVolumes) {
  using Claim = api::PersistentVolumeClaim;
  using Volume = api::PersistentVolume;
  const auto as_is = [](Claim&) {};
  const struct {
    const char* name;
    std::function<void(Claim&)> claim;
    std::vector<VolumeBuilder> volumes;
    std::string want;
  } cases[] = {
      {"no volume", as_is, {}, kNothingToBind},
      {"one that fits", as_is, {MakeVolume("a")}, "data=a"},
      {"the smallest that fits",
       as_is,
       {MakeVolume("a", "20Gi"), MakeVolume("b", "4Gi"), MakeVolume("c", "6Gi")},
       "data=c"},
      {"exactly as large", as_is, {MakeVolume("a", "5Gi")}, "data=a"},
      {"of equal ones the first by name", as_is, {MakeVolume("b"), MakeVolume("a")}, "data=a"},
      {"too small", as_is, {MakeVolume("a", "4Gi")}, kNothingToBind},
      {"a claim without request", [](Claim& c) { c.requests.clear(); }, {MakeVolume("a", "1")}, "data=a"},
      {"of another class",
       as_is,
       {MakeVolume("a").With([](Volume& v) { v.spec.storage_class_name = "make"; })},
       kNothingToBind},
      {"of the class by the old annotation",
       as_is,
       {MakeVolume("a").Annotate("volume.beta.kubernetes.io/storage-class", "wait").With([](Volume& v) {
         v.spec.storage_class_name = "make";
       })},
       "data=a"},
      {"of another mode",
       as_is,
       {MakeVolume("a").With([](Volume& v) { v.spec.volume_mode = "Block"; })},
       kNothingToBind},
      {"no mode is Filesystem", [](Claim& c) { c.volume_mode = "Filesystem"; }, {MakeVolume("a")}, "data=a"},
      {"missing access mode",
       [](Claim& c) { c.access_modes = {"ReadWriteOnce", "ReadOnlyMany"}; },
       {MakeVolume("a")},
       kNothingToBind},
      {"all access modes",
       [](Claim& c) { c.access_modes = {"ReadOnlyMany"}; },
       {MakeVolume("a").With([](Volume& v) { v.spec.access_modes = {"ReadWriteOnce", "ReadOnlyMany"}; })},
       "data=a"},
      {"another attributes class",
       [](Claim& c) { c.volume_attributes_class_name = "gold"; },
       {MakeVolume("a")},
       kNothingToBind},
      {"an attributes class that nobody asked for",
       as_is,
       {MakeVolume("a").With([](Volume& v) { v.spec.volume_attributes_class_name = "gold"; })},
       kNothingToBind},
      {"the same attributes class",
       [](Claim& c) { c.volume_attributes_class_name = "gold"; },
       {MakeVolume("a").With([](Volume& v) { v.spec.volume_attributes_class_name = "gold"; })},
       "data=a"},
      {"an empty attributes class is none",
       [](Claim& c) { c.volume_attributes_class_name = ""; },
       {MakeVolume("a")},
       "data=a"},
      {"selector",
       [](Claim& c) { c.selector = testing::Labels({{"kind", "fast"}}); },
       {MakeVolume("a", "6Gi"), MakeVolume("b", "7Gi").With([](Volume& v) { v.metadata.labels.Set("kind", "fast"); })},
       "data=b"},
      {"invalid selector",
       [](Claim& c) { c.selector = api::LabelSelector{{In("kind", {})}}; },
       {},
       "Error: error creating internal label selector for claim: default/data: "},
      {"not available", as_is, {MakeVolume("a").With([](Volume& v) { v.phase = "Released"; })}, kNothingToBind},
      {"being deleted",
       as_is,
       {MakeVolume("a").With([](Volume& v) { v.metadata.deletion_time = kMoment; })},
       kNothingToBind},
      {"on another node", as_is, {OnNodes(MakeVolume("a"), {"n2"})}, kNothingToBind},
      {"the smallest on this node",
       as_is,
       {OnNodes(MakeVolume("a", "6Gi"), {"n2"}), OnNodes(MakeVolume("b", "8Gi"), {"n2", "n1"}), MakeVolume("c", "9Gi")},
       "data=b"},
      {"claimed by another", as_is, {ClaimedBy(MakeVolume("a"), "other", "uid-other")}, kNothingToBind},
      {"claimed by an earlier claim of that name",
       as_is,
       {ClaimedBy(MakeVolume("a"), "data", "uid-before")},
       kNothingToBind},
      {"reserved for the claim, whatever its size and phase",
       as_is,
       {MakeVolume("a", "6Gi"), ClaimedBy(MakeVolume("b"), "data", "").With([](Volume& v) {
          v.phase = "Pending";
          v.spec.access_modes.clear();
        })},
       "data=b"},
      {"reserved by uid", as_is, {MakeVolume("a", "6Gi"), ClaimedBy(MakeVolume("b"), "data", "uid-data")}, "data=b"},
      {"reserved but too small", as_is, {MakeVolume("a"), ClaimedBy(MakeVolume("b", "1Gi"), "data", "")}, "data=a"},
      {"reserved but on another node",
       as_is,
       {MakeVolume("a"), OnNodes(ClaimedBy(MakeVolume("b"), "data", ""), {"n2"})},
       kNothingToBind},
  };
  for (const auto& c : cases) {
    VolumeCluster cluster({Host("n1"), Host("n2")});
    for (const VolumeBuilder& volume : c.volumes) cluster.Set(volume);
    cluster.Set(MakeClaim("data").With(c.claim));
    const std::string got = cluster.Decision(*MakePod("pod").Claim("data").Info(), "n1");
    EXPECT_TRUE(c.want.starts_with("Error") ? got.starts_with(c.want) : got == c.want)
        << c.name << "\n got: " << got << "\nwant: " << c.want;
  }
}

TEST(VolumeBinding, SeveralClaims) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(MakeVolume("a", "6Gi"));
  cluster.Set(MakeVolume("b", "8Gi"));
  cluster.Set(MakeClaim("large", "7Gi"));
  cluster.Set(MakeClaim("small", "5Gi"));
  cluster.Set(MakeClaim("made").With([](auto& c) { c.storage_class_name = "make"; }));
  cluster.Set(MakeClaim("third", "5Gi"));
  // The smallest claim chooses first, so that the large one finds its volume.
  EXPECT_EQ(cluster.Decision(*MakePod("pod").Claim("large").Claim("small").Info(), "n1"), "small=a large=b");
  EXPECT_EQ(cluster.Decision(*MakePod("pod").Claim("large").Claim("made").Claim("small").Info(), "n1"),
            "small=a large=b made=new");
  EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("large").Claim("small").Claim("third").Info(), "n1"), kNothingToBind);
  // A claim that the pod names twice takes two volumes, as upstream.
  EXPECT_EQ(cluster.Decision(*MakePod("pod").Claim("small").Claim("small").Info(), "n1"), "small=a small=b");
}

TEST(VolumeBinding, Provisioning) {
  VolumeCluster cluster({Host("n1", "a"), Host("n2", "b"), MakeNode("bare")});
  cluster.Set(MakeClaim("data").With([](auto& c) { c.storage_class_name = "make"; }));
  const auto pod = MakePod("pod").Claim("data").Info();
  const auto topologies = [&](std::vector<std::vector<api::TopologySelectorRequirement>> terms) {
    cluster.Set(MakeClass("make").With([&](auto& c) { c.allowed_topologies = std::move(terms); }));
  };
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=new");
  topologies({{{"zone", {"b", "c"}}}});
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNothingToBind);
  EXPECT_EQ(cluster.Try(*pod, "n2"), "ok");
  EXPECT_EQ(cluster.Try(*pod, "bare"), kNothingToBind);
  topologies({{{"zone", {"b"}}, {"kubernetes.io/hostname", {"n1"}}}, {{"zone", {"a"}}}});
  EXPECT_EQ(cluster.Try(*pod, "n1"), "ok");
  EXPECT_EQ(cluster.Try(*pod, "n2"), kNothingToBind);
  topologies({{}, {{"zone", {}}}});  // neither selects anything
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNothingToBind);
  cluster.Set(MakeClass("make", "WaitForFirstConsumer", ""));
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNothingToBind);
}

TEST(VolumeBinding, SelectedNode) {
  VolumeCluster cluster({Host("n1"), Host("n2")});
  cluster.Set(MakeVolume("pv"));
  cluster.Set(
      MakeClaim("data").Annotate(kSelectedNodeAnnotation, "n1").With([](auto& c) { c.storage_class_name = "make"; }));
  const auto pod = MakePod("pod").Claim("data").Info();
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=new");
  EXPECT_EQ(cluster.Try(*pod, "n2"), kNothingToBind);
  // No volume is looked for.
  cluster.Set(MakeClaim("data").Annotate(kSelectedNodeAnnotation, "n1"));
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNothingToBind);
}

TEST(VolumeBinding, Capacity) {
  const auto driver = [](std::optional<bool> publishes) {
    return ObjectBuilder<api::CsiDriver>("csi.example.com").With([&](auto& d) { d.storage_capacity = publishes; });
  };
  const auto capacity = [](std::string name, std::optional<std::string> size, std::optional<std::string> largest) {
    return ObjectBuilder<api::CsiStorageCapacity>(std::move(name)).With([&](auto& c) {
      c.metadata.namespace_name = "kube-system";
      c.storage_class_name = "make";
      c.node_topology = testing::Labels({{"zone", "a"}});
      if (size) c.capacity = api::Quantity::Parse(*size).value();
      if (largest) c.maximum_volume_size = api::Quantity::Parse(*largest).value();
    });
  };
  const auto changed = [](auto builder, auto change) { return builder.With(change); };
  const struct {
    const char* name;
    std::function<void(VolumeCluster&)> set_up;
    std::string want;
  } cases[] = {
      {"no driver", [&](auto&) {}, "ok"},
      {"a driver that does not say", [&](auto& c) { c.Set(driver(std::nullopt)); }, "ok"},
      {"a driver that does not publish", [&](auto& c) { c.Set(driver(false)); }, "ok"},
      {"nothing published", [&](auto& c) { c.Set(driver(true)); }, kNoSpace},
      {"enough",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", "5Gi", {}));
       },
       "ok"},
      {"too little",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", "4Gi", {}));
       },
       kNoSpace},
      {"one of two",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", "4Gi", {}));
         c.Set(capacity("d", "6Gi", {}));
       },
       "ok"},
      {"the largest volume counts",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", "50Gi", "4Gi"));
       },
       kNoSpace},
      {"and alone",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", "1Gi", "5Gi"));
       },
       "ok"},
      {"neither said",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(capacity("c", {}, {}));
       },
       kNoSpace},
      {"of another class",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(changed(capacity("c", "50Gi", {}), [](auto& o) { o.storage_class_name = "wait"; }));
       },
       kNoSpace},
      {"elsewhere",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(changed(capacity("c", "50Gi", {}), [](auto& o) { o.node_topology = testing::Labels({{"zone", "b"}}); }));
       },
       kNoSpace},
      {"everywhere",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(changed(capacity("c", "50Gi", {}), [](auto& o) { o.node_topology = api::LabelSelector(); }));
       },
       "ok"},
      {"nowhere",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(changed(capacity("c", "50Gi", {}), [](auto& o) { o.node_topology.reset(); }));
       },
       kNoSpace},
      {"an invalid selector",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(changed(capacity("c", "50Gi", {}),
                       [](auto& o) { o.node_topology = api::LabelSelector{{In("zone", {})}}; }));
       },
       kNoSpace},
      {"a claim without request",
       [&](auto& c) {
         c.Set(driver(true));
         c.Set(MakeClaim("data").With([](auto& o) {
           o.storage_class_name = "make";
           o.requests.clear();
         }));
       },
       "ok"},
  };
  for (const auto& c : cases) {
    VolumeCluster cluster({Host("n1")});
    cluster.Set(MakeClaim("data").With([](auto& o) { o.storage_class_name = "make"; }));
    c.set_up(cluster);
    EXPECT_EQ(cluster.Try(*MakePod("pod").Claim("data").Info(), "n1"), c.want) << c.name;
  }
}

TEST(VolumeBinding, FollowsTheStore) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(MakeClaim("data"));
  const auto pod = MakePod("pod").Claim("data").Info();
  EXPECT_EQ(cluster.Decision(*pod, "n1"), kNothingToBind);
  cluster.Set(MakeVolume("a", "8Gi"));
  cluster.Set(MakeVolume("b", "9Gi"));
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=a");
  cluster.Set(MakeVolume("a", "20Gi").Version("2"));
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=b");
  cluster.Set(ClaimedBy(MakeVolume("b", "9Gi").Version("2"), "other", "uid"));
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=a");
  cluster.Set(MakeVolume("a", "20Gi").Version("3").With([](auto& v) { v.spec.storage_class_name = "make"; }));
  EXPECT_EQ(cluster.Decision(*pod, "n1"), kNothingToBind);
  cluster.Set(MakeVolume("b", "9Gi").Version("3"));
  EXPECT_EQ(cluster.Decision(*pod, "n1"), "data=b");
  cluster.Remove<api::PersistentVolume>("b");
  EXPECT_EQ(cluster.Decision(*pod, "n1"), kNothingToBind);
}

TEST(VolumeBinding, FollowsCapacities) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(MakeClaim("data").With([](auto& c) { c.storage_class_name = "make"; }));
  cluster.Set(ObjectBuilder<api::CsiDriver>("csi.example.com").With([](auto& d) { d.storage_capacity = true; }));
  const auto publish = [&](std::int64_t bytes, std::string storage_class) {
    cluster.Set(ObjectBuilder<api::CsiStorageCapacity>("c").With([&](auto& c) {
      c.storage_class_name = std::move(storage_class);
      c.node_topology = api::LabelSelector();
      c.capacity = api::Quantity::FromValue(bytes);
    }));
  };
  const auto pod = MakePod("pod").Claim("data").Info();
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  publish(5 * kGi, "make");
  EXPECT_EQ(cluster.Try(*pod, "n1"), "ok");
  publish(4 * kGi, "make");
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNoSpace);
  publish(5 * kGi, "wait");
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNoSpace);
  publish(5 * kGi, "make");
  EXPECT_EQ(cluster.Try(*pod, "n1"), "ok");
  cluster.Remove<api::CsiStorageCapacity>("c");
  EXPECT_EQ(cluster.Try(*pod, "n1"), kNoSpace);
}

TEST(VolumeBinding, KnowsObjectsThatWereThereBefore) {
  testing::FakeHandle handle;
  handle.store.Set(MakeVolume("a").Build());
  handle.store.Set(ObjectBuilder<api::CsiStorageCapacity>("c")
                       .With([](auto& c) {
                         c.storage_class_name = "make";
                         c.node_topology = api::LabelSelector();
                         c.capacity = api::Quantity::FromValue(1);
                       })
                       .Build());
  const TestedPlugin plugin = CreateVolumeBinding(config::VolumeBindingArgs(), handle);
  const auto& state = plugin.As<VolumeBindingState>();
  EXPECT_NE(state.sources().index->Find("wait"), nullptr);
  EXPECT_NE(state.sources().capacities->Find("make"), nullptr);
}

TEST(VolumeBinding, MayBeGoneBeforeTheStore) {
  testing::FakeHandle handle;
  CreateVolumeBinding(config::VolumeBindingArgs(), handle).reset();
  handle.store.Set(MakeVolume("a").Build());
}

TEST(VolumeBinding, ReserveAssumesForLaterPods) {
  VolumeCluster cluster({Host("n1"), Host("n2")});
  cluster.Set(OnNodes(MakeVolume("pv"), {"n1"}));
  cluster.Set(MakeClaim("data"));
  cluster.Set(MakeClaim("other"));
  cluster.Set(MakeClaim("made").With([](auto& c) { c.storage_class_name = "make"; }));
  const auto first = MakePod("first").Claim("data").Claim("made").Info();
  EXPECT_EQ(cluster.Place(*first, "n1"), "ok");
  EXPECT_EQ(TestCluster::Describe(cluster.plugin().PreBindPreFlight(*first)), "ok");
  // Taken for one claim, and the node chosen for the other.
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("other").Info(), "n1"), kNothingToBind);
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("data").Info(), "n1"), "data=pv");
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("made").Info(), "n1"), "made=new");
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("made").Info(), "n2"), kNothingToBind);

  cluster.plugin().Unreserve(*first, "n1");
  cluster.plugin().Unreserve(*first, "n1");
  EXPECT_EQ(cluster.plugin_state().reservation_count(), 0u);
  EXPECT_EQ(TestCluster::Describe(cluster.plugin().PreBindPreFlight(*first)), "Skip");
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("other").Info(), "n1"), "other=pv");
  EXPECT_EQ(cluster.Decision(*MakePod("second").Claim("made").Info(), "n2"), "made=new");
}

// As a pod group's trial does: the second member shares the claim, all is taken back, and the same is assumed again.
TEST(VolumeBinding, WhatWasPreparedOutlivesAnAssumptionThatIsTakenBack) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(OnNodes(MakeVolume("pv"), {"n1"}));
  cluster.Set(MakeClaim("data"));
  const auto first = MakePod("first").Claim("data").Info();
  const auto second = MakePod("second").Claim("data").Info();
  EXPECT_EQ(cluster.Place(*first, "n1"), "ok");
  const Sources& sources = cluster.plugin_state().sources();
  const std::weak_ptr<const api::PersistentVolume> assumed = sources.volumes->Get("pv");
  EXPECT_EQ(cluster.Place(*second, "n1"), "ok");
  cluster.plugin().Unreserve(*second, "n1");
  cluster.plugin().Unreserve(*first, "n1");
  EXPECT_FALSE(assumed.expired());
  EXPECT_EQ(TestCluster::Describe(cluster.plugin().Reserve(cluster.cycle(), *second, "n1")), "ok");
}

TEST(VolumeBinding, ReserveHasNothingToDo) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(MakeVolume("pv"));
  cluster.Set(Bound(MakeClaim("data"), "pv"));
  for (const auto& pod : {MakePod("none").Info(), MakePod("bound").Claim("data").Info()}) {
    cluster.PreFilter(*pod);
    EXPECT_EQ(TestCluster::Describe(cluster.plugin().Reserve(cluster.cycle(), *pod, "n1")), "ok");
    EXPECT_EQ(TestCluster::Describe(cluster.plugin().PreBindPreFlight(*pod)), "Skip");
    EXPECT_TRUE(cluster.plugin().PreBind(*pod).is_done());
  }
  EXPECT_EQ(cluster.plugin_state().reservation_count(), 0u);
  const auto unprepared = MakePod("pod").Claim("data").Info();
  cluster.Forget();
  EXPECT_EQ(TestCluster::Describe(cluster.plugin().Reserve(cluster.cycle(), *unprepared, "n1")), "Error: not found");
}

TEST(VolumeBinding, ReserveLeavesNothingBehindWhenItFails) {
  VolumeCluster cluster({Host("n1")});
  cluster.Set(MakeVolume("pv"));
  cluster.Set(MakeClaim("data"));
  cluster.Set(MakeClaim("made").With([](auto& c) { c.storage_class_name = "make"; }));
  const auto pod = MakePod("pod").Claim("data").Claim("made").Info();
  ASSERT_EQ(cluster.Try(*pod, "n1"), "ok");
  const auto* state = cluster.state().Read<PodVolumes>("VolumeBinding");
  const Sources& sources = cluster.plugin_state().sources();
  const NodeDecision decision = DecideNode(sources, *state, cluster.Node("n1").node());
  cluster.Set(MakeClaim("made").Version("2"));
  Reservation reservation;
  reservation.node = cluster.Node("n1").node_ptr();
  EXPECT_EQ(TestCluster::Describe(Assume(sources, *state, decision, reservation)),
            "Error: \"default/made\" is out of sync (stored: 2, assume: 1)");
  EXPECT_EQ(sources.volumes->assumed_count(), 0u);
  EXPECT_EQ(sources.claims->assumed_count(), 0u);
  EXPECT_EQ(TestCluster::Describe(cluster.plugin().Reserve(cluster.cycle(), *pod, "n1")),
            "Error: \"default/made\" is out of sync (stored: 2, assume: 1)");
  EXPECT_EQ(cluster.handle.counted->Value("scheduler_volume_scheduling_stage_error_total,operation=assume"), 1);
}

TEST(VolumeBinding, ScoresNothing) {
  VolumeCluster cluster({Host("n1")});
  const auto pod = MakePod("pod").Claim("data").Info();
  EXPECT_TRUE(cluster.plugin().PreScoreSkips(cluster.cycle(), *pod));
  EXPECT_TRUE(cluster.plugin().PreScore(cluster.cycle(), *pod, {}).IsSkip());
  EXPECT_EQ(cluster.Score(cluster.plugin(), *pod, "n1"), 0);
}

TEST(VolumeBinding, ScoresByWhatStorageHasRoomFor) {
  const auto score = [](const std::vector<std::pair<std::string, std::string>>& claims,  // class and size
                        std::optional<std::vector<config::UtilizationShapePoint>> shape = {}) {
    config::VolumeBindingArgs args;
    args.shape = std::move(shape);
    VolumeCluster cluster({MakeNode("n").Label("kubernetes.io/hostname", "n")}, args, ScoringStorage());
    cluster.Set(ObjectBuilder<api::CsiDriver>("csi.example.com").With([](auto& d) { d.storage_capacity = true; }));
    cluster.Set(MakeClass("other"));
    cluster.Set(MakeClass("unchecked", "WaitForFirstConsumer", "plain.example.com"));
    const auto capacity = [&](std::string name, const char* room, const char* largest) {
      cluster.Set(ObjectBuilder<api::CsiStorageCapacity>(name).With([&](api::CsiStorageCapacity& c) {
        c.storage_class_name = std::move(name);
        c.node_topology.emplace();
        if (room != nullptr) c.capacity = api::Quantity::Parse(room).value();
        if (largest != nullptr) c.maximum_volume_size = api::Quantity::Parse(largest).value();
      }));
    };
    capacity("make", "100Gi", nullptr);
    capacity("other", nullptr, "50Gi");
    cluster.Set(MakeVolume("v", "20Gi"));
    auto pod = MakePod("p");
    for (std::size_t i = 0; i < claims.size(); ++i) {
      cluster.Set(MakeClaim("c" + std::to_string(i), claims[i].second).With([&](auto& claim) {
        claim.storage_class_name = claims[i].first;
      }));
      pod.Claim("c" + std::to_string(i));
    }
    const auto info = pod.Info();
    EXPECT_EQ(cluster.Try(*info, "n"), "ok");
    EXPECT_TRUE(cluster.plugin().PreScore(cluster.cycle(), *info, {}).IsSuccess());
    framework::Status status;
    return cluster.plugin().Score(cluster.cycle(), *info, 0, cluster.Node("n"), status);
  };
  const std::vector<config::UtilizationShapePoint> packing{{0, 0}, {50, 2}, {100, 10}};
  EXPECT_EQ(score({{"make", "10Gi"}}), 90);
  EXPECT_EQ(score({{"make", "100Gi"}}), 0);
  EXPECT_EQ(score({{"make", "10Gi"}, {"make", "15Gi"}}), 75) << "the claims of a class share its capacity";
  EXPECT_EQ(score({{"make", "60Gi"}, {"make", "60Gi"}}), 0) << "more than there is";
  EXPECT_EQ(score({{"other", "10Gi"}}), 0) << "only the largest volume is known";
  EXPECT_EQ(score({{"make", "25Gi"}, {"other", "10Gi"}}), 38) << "the mean of 75 and 0, rounded";
  EXPECT_EQ(score({{"unchecked", "10Gi"}}), 0) << "nothing is known";
  EXPECT_EQ(score({{"make", "25Gi"}, {"unchecked", "10Gi"}}), 75) << "what is unknown is left out";
  EXPECT_EQ(score({{"wait", "5Gi"}}), 75) << "a volume that is there, of 20Gi";
  EXPECT_EQ(score({{"wait", "5Gi"}, {"make", "90Gi"}}), 75) << "beside one, what is to be made does not count";
  EXPECT_EQ(score({{"make", "25Gi"}}, packing), 10);
  EXPECT_EQ(score({{"make", "75Gi"}}, packing), 60);
}

TEST(VolumeBinding, APodWithoutClaimsToBindScoresNothing) {
  VolumeCluster cluster({MakeNode("n")}, {}, ScoringStorage());
  cluster.Set(Bound(MakeClaim("bound"), "v"));
  cluster.Set(MakeVolume("v"));
  for (const auto& pod : {MakePod("p").Info(), MakePod("p").Claim("bound").Info()}) {
    static_cast<void>(cluster.PreFilter(*pod));
    EXPECT_TRUE(cluster.plugin().PreScoreSkips(cluster.cycle(), *pod));
    EXPECT_TRUE(cluster.plugin().PreScore(cluster.cycle(), *pod, {}).IsSuccess())
        << "it is among the scores all the same";
    framework::Status status;
    EXPECT_EQ(cluster.plugin().Score(cluster.cycle(), *pod, 0, cluster.Node("n"), status), 0);
  }
}

}  // namespace
}  // namespace berth::plugins::volumes
