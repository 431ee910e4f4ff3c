// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_affinity.h"

#include <gtest/gtest.h>

#include "berth/plugins/volume_binding/volume_testing.h"

namespace berth::plugins::volumes {
namespace {

using api::VolumeKind;
using testing::Exists;
using testing::In;
using testing::NotIn;
using testing::Term;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kZoneBeta = "failure-domain.beta.kubernetes.io/zone";

TEST(VolumeAffinity, Matches) {
  const struct {
    const char* name;
    NodeTerms terms;
    bool want;
  } cases[] = {
      {"no affinity", std::nullopt, true},
      {"no terms", NodeTerms(std::in_place), false},
      {"an empty term", NodeTerms{{Term({})}}, false},
      {"a label", NodeTerms{{Term({In("zone", {"a", "b"})})}}, true},
      {"another value", NodeTerms{{Term({In("zone", {"b"})})}}, false},
      {"one of two terms", NodeTerms{{Term({In("zone", {"b"})}), Term({Exists("zone")})}}, true},
      {"one of two requirements", NodeTerms{{Term({In("zone", {"a"}), In("rack", {"1"})})}}, false},
      {"an absent label", NodeTerms{{Term({NotIn("rack", {"1"})})}}, true},
      {"an invalid term", NodeTerms{{Term({In("zone", {})})}}, false},
      {"an invalid term beside a good one", NodeTerms{{Term({In("zone", {})}), Term({In("zone", {"a"})})}}, true},
      {"a field is not looked at", NodeTerms{{Term({In("zone", {"a"})}, {In("metadata.name", {"other"})})}}, true},
      {"nor one alone", NodeTerms{{Term({}, {In("metadata.name", {"other"})})}}, true},
      {"but it must be valid", NodeTerms{{Term({In("zone", {"a"})}, {In("metadata.name", {"x", "y"})})}}, false},
  };
  const api::StringMap labels{{"zone", "a"}};
  for (const auto& c : cases) EXPECT_EQ(VolumeAffinity(c.terms).Matches(labels), c.want) << c.name;
  EXPECT_TRUE(VolumeAffinity().MatchesAny());
  EXPECT_FALSE(VolumeAffinity(NodeTerms(std::in_place)).MatchesAny());
}

std::shared_ptr<const api::CsiNode> CsiNode(const std::string& migrated) {
  return ObjectBuilder<api::CsiNode>("n").Annotate("storage.alpha.kubernetes.io/migrated-plugins", migrated).Build();
}

TEST(Migration, FollowsTheNodesAnnotation) {
  EXPECT_EQ(MigratedPlugin(VolumeKind::kAwsElasticBlockStore), "kubernetes.io/aws-ebs");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kGcePersistentDisk), "kubernetes.io/gce-pd");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kAzureDisk), "kubernetes.io/azure-disk");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kCinder), "kubernetes.io/cinder");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kPortworx), "kubernetes.io/portworx-volume");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kVsphere), "");
  EXPECT_EQ(MigratedPlugin(VolumeKind::kCsi), "");
  EXPECT_TRUE(IsMigratedOn("kubernetes.io/cinder", CsiNode("kubernetes.io/gce-pd,kubernetes.io/cinder").get()));
  EXPECT_FALSE(IsMigratedOn("kubernetes.io/cinder", CsiNode("kubernetes.io/cinder-2").get()));
  EXPECT_FALSE(IsMigratedOn("kubernetes.io/cinder", CsiNode("").get()));
  EXPECT_FALSE(IsMigratedOn("kubernetes.io/cinder", nullptr));
  EXPECT_FALSE(IsMigratedOn("", CsiNode("").get()));
}

struct InTree {
  VolumeKind kind = VolumeKind::kGcePersistentDisk;
  std::string id = "disk";
  NodeTerms terms;
  api::StringMap labels;
  std::optional<std::string> disk_kind = {};
};

std::shared_ptr<const api::PersistentVolume> Make(const InTree& in) {
  return MakeVolume("pv")
      .With([&](api::PersistentVolume& v) {
        v.spec.source.kind = in.kind;
        v.spec.source.id = in.id;
        v.spec.source.disk_kind = in.disk_kind;
        v.spec.node_affinity = in.terms;
        v.metadata.labels = in.labels;
      })
      .Build();
}

TEST(Migration, TranslatesZones) {
  const std::string key = "topology.gke.io/zone";
  const NodeTerms ab = {{Term({In(key, {"a", "b"})})}};
  const struct {
    const char* name;
    InTree volume;
    NodeTerms want;
  } cases[] = {
      {"no zone", {}, std::nullopt},
      {"in the affinity",
       {.terms = {{Term({In(kZone, {"a"}), In("rack", {"1"})})}}},
       {{Term({In(key, {"a"}), In("rack", {"1"})})}}},
      {"the old label in the affinity",
       {.terms = {{Term({In(kZoneBeta, {"a"}), In("failure-domain.beta.kubernetes.io/region", {"r"})})}}},
       {{Term({In(key, {"a"}), In("topology.kubernetes.io/region", {"r"})})}}},
      {"in a label of the volume", {.labels = {{kZone, "x-y-a"}}}, {{Term({In(key, {"x-y-a"})})}}},
      {"in the old label of the volume", {.labels = {{kZoneBeta, "x-y-a"}}}, {{Term({In(key, {"x-y-a"})})}}},
      {"several in a label, added to each term",
       {.terms = {{Term({In("rack", {"1"})}), Term({In("rack", {"2"})})}}, .labels = {{kZone, "x-y-b__x-y-a"}}},
       {{Term({In("rack", {"1"}), In(key, {"x-y-a", "x-y-b"})}),
         Term({In("rack", {"2"}), In(key, {"x-y-a", "x-y-b"})})}}},
      {"the affinity comes before the label", {.terms = ab, .labels = {}}, ab},
      {"a zone without values",
       {.terms = {{Term({Exists(kZone)})}}, .labels = {{kZone, "x-y-a"}}},
       {{Term({Exists(kZone), In(key, {"x-y-a"})})}}},
      {"an empty label", {.labels = {{kZone, " "}}}, std::nullopt},
      {"another driver's label",
       {.kind = VolumeKind::kCinder, .terms = {{Term({In(kZone, {"a"})})}}},
       {{Term({In("topology.cinder.csi.openstack.org/zone", {"a"})})}}},
      {"a bare EBS id",
       {.kind = VolumeKind::kAwsElasticBlockStore, .id = "vol-1", .terms = {{Term({In(kZone, {"a"})})}}},
       {{Term({In("topology.ebs.csi.aws.com/zone", {"a"})})}}},
      {"an EBS id with zone",
       {.kind = VolumeKind::kAwsElasticBlockStore, .id = "aws://us-east-1a/vol-1"},
       std::nullopt},
      {"a managed disk", {.kind = VolumeKind::kAzureDisk, .disk_kind = "Managed"}, std::nullopt},
      {"no topology of its own",
       {.kind = VolumeKind::kAzureDisk, .terms = {{Term({In(kZone, {"a"})})}}},
       {{Term({In(kZone, {"a"})})}}},
  };
  for (const auto& c : cases) {
    const auto got = TranslateAffinity(*Make(c.volume));
    ASSERT_TRUE(got.ok()) << c.name << ": " << got.error().message;
    EXPECT_EQ(*got, c.want) << c.name;
  }
}

TEST(Migration, Refuses) {
  const struct {
    InTree volume;
    const char* want;
  } cases[] = {
      {{.labels = {{kZone, "a__b"}}},
       "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a"},
      {{.labels = {{kZone, "x-z-a__x-y-a"}}},
       "failed to get region from zones: multiple or no regions gotten from zones, got: map[x-y:{} x-z:{}]"},
      {{.kind = VolumeKind::kAwsElasticBlockStore, .id = "aws://a/b/vol-1"},
       "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/b/vol-1)"},
      {{.kind = VolumeKind::kAzureDisk, .disk_kind = "Dedicated"}, "kind(Dedicated) is not supported in csi migration"},
      {{.kind = VolumeKind::kAwsElasticBlockStore, .id = "aws://vol-1"},
       "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://vol-1)"},
  };
  for (const auto& c : cases) {
    const auto got = TranslateAffinity(*Make(c.volume));
    ASSERT_FALSE(got.ok()) << c.want;
    EXPECT_EQ(got.error().message, c.want);
  }
}

TEST(Migration, DecidesByNode) {
  const NodeDependentAffinity affinity(*Make({.terms = {{Term({In(kZone, {"a"})})}}}));
  const api::StringMap in_tree{{kZone, "a"}};
  const api::StringMap csi{{"topology.gke.io/zone", "a"}};
  const auto migrated = CsiNode("kubernetes.io/gce-pd");
  EXPECT_TRUE(affinity.Matches(in_tree, nullptr).value());
  EXPECT_FALSE(affinity.Matches(csi, nullptr).value());
  EXPECT_FALSE(affinity.Matches(in_tree, migrated.get()).value());
  EXPECT_TRUE(affinity.Matches(csi, migrated.get()).value());

  const NodeDependentAffinity broken(*Make({.labels = {{kZone, "a__b"}}}));
  EXPECT_TRUE(broken.Matches(in_tree, nullptr).value());
  EXPECT_TRUE(
      broken.Matches(in_tree, migrated.get()).error().message.starts_with("could not translate pv: failed to "));
}

}  // namespace
}  // namespace berth::plugins::volumes
