// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/csi_migration.h"

#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

using api::VolumeKind;

TEST(CsiMigration, Plugins) {
  const struct {
    VolumeKind kind;
    const char* plugin;
    const char* driver;
    bool is_on;
  } cases[] = {
      {VolumeKind::kGcePersistentDisk, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true},
      {VolumeKind::kAwsElasticBlockStore, "kubernetes.io/aws-ebs", "ebs.csi.aws.com", true},
      {VolumeKind::kCinder, "kubernetes.io/cinder", "cinder.csi.openstack.org", true},
      {VolumeKind::kAzureDisk, "kubernetes.io/azure-disk", "disk.csi.azure.com", true},
      {VolumeKind::kPortworx, "kubernetes.io/portworx-volume", "pxd.portworx.com", true},
      {VolumeKind::kAzureFile, "kubernetes.io/azure-file", "file.csi.azure.com", false},
      {VolumeKind::kVsphere, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", false},
      {VolumeKind::kIscsi, "", "", false},
      {VolumeKind::kCsi, "", "", false},
  };
  for (const auto& test : cases) {
    const std::string_view plugin = InTreePluginOf(test.kind);
    EXPECT_EQ(plugin, test.plugin);
    EXPECT_EQ(CsiDriverFor(plugin), test.driver);
    EXPECT_EQ(IsMigrationOn(plugin), test.is_on);
  }
}

TEST(CsiMigration, Handles) {
  const struct {
    const char* name;
    api::VolumeSource source;
    const char* want;  // "!": an error
  } cases[] = {
      {"EBS by id", {VolumeKind::kAwsElasticBlockStore, "vol-1", "", "", {}}, "vol-1"},
      {"EBS by anything else", {VolumeKind::kAwsElasticBlockStore, "x y", "", "", {}}, "x y"},
      {"EBS by URL", {VolumeKind::kAwsElasticBlockStore, "aws://us-east-1a/vol-12", "", "", {}}, "vol-12"},
      {"EBS without a zone", {VolumeKind::kAwsElasticBlockStore, "aws:///vol-12/", "", "", {}}, "vol-12"},
      {"EBS with the rest of a URL", {VolumeKind::kAwsElasticBlockStore, "aws://z/vol-%41?q#f", "", "", {}}, "vol-A"},
      {"EBS by URL without id", {VolumeKind::kAwsElasticBlockStore, "aws://z", "", "", {}}, "!"},
      {"EBS by URL with another id", {VolumeKind::kAwsElasticBlockStore, "aws://z/a/vol-1", "", "", {}}, "!"},
      {"EBS by a broken URL", {VolumeKind::kAwsElasticBlockStore, "aws://z/vol-%4", "", "", {}}, "!"},
      {"EBS by a URL with a strange port", {VolumeKind::kAwsElasticBlockStore, "aws://z:a/vol-1", "", "", {}}, "!"},
      {"GCE PD", {VolumeKind::kGcePersistentDisk, "d", "", "", {}}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"},
      {"Azure disk", {VolumeKind::kAzureDisk, "/uri", "", "", {}}, "/uri"},
      {"Azure managed disk", {VolumeKind::kAzureDisk, "/uri", "", "", {}, false, "mAnaged"}, "/uri"},
      {"Azure shared disk", {VolumeKind::kAzureDisk, "/uri", "", "", {}, false, "Shared"}, "!"},
      {"Azure disk of an empty kind", {VolumeKind::kAzureDisk, "/uri", "", "", {}, false, ""}, "!"},
      {"Cinder", {VolumeKind::kCinder, "c", "", "", {}}, "c"},
      {"Portworx", {VolumeKind::kPortworx, "p", "", "", {}}, "p"},
  };
  for (const auto& test : cases) {
    const auto handle = TranslatedHandle(test.source);
    EXPECT_EQ(handle.ok() ? *handle : "!", test.want) << test.name;
  }
}

TEST(CsiMigration, SaysWhatIsWrongAsUpstream) {
  const auto error = [](VolumeKind kind, const char* id) {
    return TranslatedHandle(api::VolumeSource{kind, id, "", "", {}, false, "Shared"}).error().message;
  };
  EXPECT_EQ(error(VolumeKind::kAzureDisk, "d"), "kind(Shared) is not supported in csi migration");
  const std::string ebs = "failed to translate Kubernetes ID to EBS Volume ID ";
  const struct {
    const char* id;
    std::string want;
  } cases[] = {
      {"aws://z/disk", "Invalid format for AWS volume (aws://z/disk)"},
      {"aws://z/vol-%4#f", "Invalid disk name (aws://z/vol-%4#f): parse \"aws://z/vol-%4\": invalid URL escape \"%4\""},
      {"aws://z:a/vol-1",
       "Invalid disk name (aws://z:a/vol-1): parse \"aws://z:a/vol-1\": invalid port \":a\" after host"},
      {"aws://z z/vol-1",
       "Invalid disk name (aws://z z/vol-1): parse \"aws://z z/vol-1\": invalid character \" \" in host name"},
      {"aws://z/vol-\n",
       "Invalid disk name (aws://z/vol-\n): parse \"aws://z/vol-\\n\": net/url: invalid control character in URL"},
  };
  for (const auto& test : cases) EXPECT_EQ(error(VolumeKind::kAwsElasticBlockStore, test.id), ebs + test.want);
}

TEST(CsiMigration, HandlesOfPersistentDisksSayWhere) {
  constexpr const char* kOld = "failure-domain.beta.kubernetes.io/zone";
  constexpr const char* kNew = "topology.kubernetes.io/zone";
  const struct {
    api::StringMap labels;
    const char* want;
  } cases[] = {
      {{}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"},
      {{{kNew, "us-east1-a"}}, "projects/UNSPECIFIED/zones/us-east1-a/disks/d"},
      {{{kNew, "us-east1-a"}, {kOld, "us-east1-b"}}, "projects/UNSPECIFIED/zones/us-east1-b/disks/d"},
      {{{kNew, "us-east1-a"}, {kOld, ""}}, "projects/UNSPECIFIED/zones/us-east1-a/disks/d"},
      {{{kNew, "us-east1-a__us-east1-b"}}, "projects/UNSPECIFIED/regions/us-east1/disks/d"},
      {{{kNew, "us-east1-a__us-west1-b"}}, "!"},
      {{{kNew, "a__b"}}, "!"},
  };
  for (const auto& test : cases) {
    api::PersistentVolume volume;
    volume.metadata.labels = test.labels;
    volume.spec.source = {VolumeKind::kGcePersistentDisk, "d", "", "", {}};
    const auto handle = TranslatedHandle(volume);
    EXPECT_EQ(handle.ok() ? *handle : "!", test.want);
  }
}

}  // namespace
}  // namespace berth::plugins
