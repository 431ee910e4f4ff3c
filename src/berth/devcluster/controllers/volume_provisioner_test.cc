// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/volume_provisioner.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "berth/devcluster/controllers/controllers.h"
#include "berth/devcluster/kubelet/test_cluster.h"

namespace berth::controllers {
namespace {

using testing::Fault;
using testing::TestCluster;
using testing::Text;

const std::string kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
const std::string kVolumes = "/api/v1/persistentvolumes";

class VolumeProvisionerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers = std::make_unique<Controllers>(cluster.rest, cluster.events, ControllersOptions{.hostname = "test"});
    controllers->Start();
  }
  void Create(const std::string& path, const std::string& document) {
    const auto answer = cluster.Call("POST", path, document);
    ASSERT_EQ(answer.status, 201) << Text(answer.body, "message");
  }
  void CreateClass(const std::string& more, const std::string& provisioner = kProvisioner) {
    Create("/apis/storage.k8s.io/v1/storageclasses",
           R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"standard","annotations":)"
           R"({"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":")" +
               provisioner + '"' + more + "}");
  }
  void CreateClaim() {
    Create(kClaims, R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},
                        "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"3Gi"}}}})");
  }
  std::string Phase() { return Text(cluster.Get(kClaims + "/data"), "status.phase"); }
  bool IsBound() {
    return cluster.Until([&] { return Phase() == "Bound"; });
  }

  TestCluster cluster;
  std::unique_ptr<Controllers> controllers;
};

TEST_F(VolumeProvisionerTest, BindsAClaimToAVolumeOfItsOwn) {
  CreateClass("");
  CreateClaim();
  ASSERT_TRUE(IsBound());
  const json::value claim = cluster.Get(kClaims + "/data");
  const auto volumes = cluster.List(kVolumes);
  ASSERT_EQ(volumes.size(), 1u);
  EXPECT_EQ(Text(claim, "spec.storageClassName"), "standard") << "the default one";
  EXPECT_EQ(Text(claim, "spec.volumeName"), Text(volumes[0], "metadata.name"));
  EXPECT_EQ(Text(claim, "status.capacity.storage"), "3Gi");
  EXPECT_EQ(Text(volumes[0], "status.phase"), "Bound");
  EXPECT_EQ(Text(volumes[0], "spec.claimRef.uid"), Text(claim, "metadata.uid"));
  ASSERT_EQ(cluster.Call("DELETE", kClaims + "/data").status, 200);
  EXPECT_TRUE(cluster.Until([&] { return cluster.List(kVolumes).empty(); })) << "the volume goes with it";
}

TEST_F(VolumeProvisionerTest, WaitsForTheSchedulersNode) {
  CreateClass(R"(,"volumeBindingMode":"WaitForFirstConsumer","reclaimPolicy":"Retain")");
  CreateClaim();
  cluster.Pass(std::chrono::seconds(5));
  EXPECT_EQ(Phase(), "Pending");
  ASSERT_EQ(
      cluster
          .MergePatch(kClaims + "/data", R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}})")
          .status,
      200);
  ASSERT_TRUE(IsBound());
  ASSERT_EQ(cluster.Call("DELETE", kClaims + "/data").status, 200);
  EXPECT_TRUE(cluster.Until([&] {
    const auto volumes = cluster.List(kVolumes);
    return volumes.size() == 1 && Text(volumes[0], "status.phase") == "Released";
  }));
}

// Beside a kube-controller-manager.
TEST_F(VolumeProvisionerTest, MayBeAllThatRuns) {
  controllers = std::make_unique<Controllers>(cluster.rest, cluster.events,
                                              ControllersOptions{.hostname = "test", .provisions_only = true});
  controllers->Start();
  CreateClass("");
  CreateClaim();
  Create("/apis/apps/v1/namespaces/default/replicasets",
         R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":{"replicas":1,
             "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
             "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_TRUE(IsBound());
  cluster.Pass(std::chrono::seconds(5));
  EXPECT_TRUE(cluster.List("/api/v1/namespaces/default/pods").empty());
}

TEST_F(VolumeProvisionerTest, LeavesOtherProvisionersClaimsAlone) {
  CreateClass("", "example.org/other");
  CreateClaim();
  cluster.Pass(std::chrono::seconds(5));
  EXPECT_EQ(Phase(), "Pending");
  EXPECT_TRUE(cluster.List(kVolumes).empty());
}

// Of the first writes every other one fails, or its answer is lost: there is one volume in the end.
TEST_F(VolumeProvisionerTest, TriesAgain) {
  int count = 0;
  cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
    if (request.method == "GET" || ++count > 12 || count % 2 == 0) return std::nullopt;
    return count % 4 == 1 ? Fault{.status = 500} : Fault{.status = 0, .takes_effect = true};
  };
  CreateClass("");
  CreateClaim();
  ASSERT_TRUE(IsBound());
  EXPECT_EQ(cluster.List(kVolumes).size(), 1u);
}

}  // namespace
}  // namespace berth::controllers
