// SPDX-License-Identifier: Apache-2.0
// Beside the embedded API server, through its public paths: what a client sees of it.
#include "berth/devcluster/controllers/garbage_collector.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/devcluster/controllers/controllers.h"
#include "berth/devcluster/kubelet/test_cluster.h"

namespace berth::controllers {
namespace {

using namespace std::chrono_literals;
using testing::At;
using testing::Number;
using testing::TestCluster;
using testing::Text;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kSecrets = "/api/v1/namespaces/default/secrets";
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kBoats = "/apis/example.io/v1/namespaces/default/boats";

const char* const kBoatDefinition =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.example.io"},)"
    R"("spec":{"group":"example.io","scope":"Namespaced","names":{"plural":"boats","singular":"boat","kind":"Boat"},)"
    R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
    R"("x-kubernetes-preserve-unknown-fields":true}}}]}})";

struct Owner {
  std::string kind;
  std::string name;
  std::string uid;
  bool blocks = false;
};

class GarbageCollectorTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void Start() {
    controllers = std::make_unique<Controllers>(cluster.rest, cluster.events, ControllersOptions{.hostname = "test"});
    controllers->Start();
    cluster.Pass(1s);
  }

  static std::string References(const std::vector<Owner>& owners) {
    json::array references;
    for (const Owner& owner : owners) {
      json::object reference{{"apiVersion", owner.kind == "Boat" ? "example.io/v1" : "v1"},
                             {"kind", owner.kind},
                             {"name", owner.name},
                             {"uid", owner.uid}};
      if (owner.blocks) reference["blockOwnerDeletion"] = true;
      references.push_back(std::move(reference));
    }
    return codec::WriteJson(references);
  }
  // Its uid.
  std::string Make(const std::string& path, const std::string& name, const std::vector<Owner>& owners = {},
                   const std::string& more = {}) {
    const std::string type = path == kBoats ? R"("apiVersion":"example.io/v1","kind":"Boat",)" : "";
    const auto answer = cluster.Call("POST", path,
                                     "{" + type + R"("metadata":{"name":")" + name + R"(","ownerReferences":)" +
                                         References(owners) + "}" + more + "}");
    EXPECT_EQ(answer.status, 201) << Text(answer.body, "message");
    return Text(answer.body, "metadata.uid");
  }
  testing::TestAnswer Delete(const std::string& path, const std::string& policy = "Background") {
    return cluster.Call("DELETE", path + "?propagationPolicy=" + policy);
  }
  bool Exists(const std::string& path) { return cluster.Call("GET", path).status == 200; }
  bool Goes(const std::string& path) {
    return cluster.Until([&] { return !Exists(path); }, 20s);
  }
  bool Stays(const std::string& path) {
    cluster.Pass(10s);
    return Exists(path);
  }

  TestCluster cluster;
  std::unique_ptr<Controllers> controllers;
};

TEST_F(GarbageCollectorTest, ADependentOfAnyKindGoesWithItsLastOwner) {
  ASSERT_EQ(cluster.Call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kBoatDefinition).status,
            201);
  const std::string boat = Make(kBoats, "boat");
  Make(kMaps, "sails", {{"Boat", "boat", boat}});
  Make(kPods, "crew", {{"Boat", "boat", boat}}, R"(,"spec":{"containers":[{"name":"c","image":"i"}]})");
  const std::string tender = Make(kBoats, "tender", {{"Boat", "boat", boat}});
  Make(kSecrets, "key", {{"Boat", "tender", tender}});
  ASSERT_TRUE(Stays(kBoats + "/tender"));
  ASSERT_TRUE(Exists(kMaps + "/sails"));

  ASSERT_EQ(Delete(kBoats + "/boat").status, 200);
  EXPECT_FALSE(Exists(kBoats + "/boat")) << "in the background the owner goes first";
  for (const std::string& each : {kMaps + "/sails", kPods + "/crew", kBoats + "/tender", kSecrets + "/key"}) {
    EXPECT_TRUE(Goes(each)) << each;
  }
  EXPECT_EQ(controllers->Stats().objects_collected, 4u);
  EXPECT_EQ(controllers->Stats().failures, 0u);
}

TEST_F(GarbageCollectorTest, AnOwnerThatHasNeverBeenIsGone) {
  Make(kMaps, "never", {{"ConfigMap", "nobody", "u-1"}});
  EXPECT_TRUE(Goes(kMaps + "/never"));
}

TEST_F(GarbageCollectorTest, AnOwnersUidCounts) {
  const std::string owner = Make(kMaps, "owner");
  Make(kMaps, "of-the-present-one", {{"ConfigMap", "owner", owner}});
  Make(kMaps, "of-one-before", {{"ConfigMap", "owner", "u-before"}});
  EXPECT_TRUE(Goes(kMaps + "/of-one-before"));
  EXPECT_TRUE(Stays(kMaps + "/of-the-present-one"));
  // The right uid under another name or kind is nobody, too.
  Make(kMaps, "wrong-name", {{"ConfigMap", "other", owner}});
  Make(kMaps, "wrong-kind", {{"Secret", "owner", owner}});
  EXPECT_TRUE(Goes(kMaps + "/wrong-name"));
  EXPECT_TRUE(Goes(kMaps + "/wrong-kind"));
}

TEST_F(GarbageCollectorTest, AnOwnerInAnotherNamespaceIsNone) {
  const std::string owner = Make(kMaps, "owner");
  Make("/api/v1/namespaces/kube-system/configmaps", "far", {{"ConfigMap", "owner", owner}});
  EXPECT_TRUE(Goes("/api/v1/namespaces/kube-system/configmaps/far"));
  // One of no namespace is everybody's; the reverse is left alone.
  const std::string node = Make("/api/v1/nodes", "n-1");
  Make(kMaps, "of-node", {{"Node", "n-1", node}});
  Make("/api/v1/nodes", "n-2", {{"ConfigMap", "owner", owner}});
  EXPECT_TRUE(Stays(kMaps + "/of-node"));
  EXPECT_TRUE(Exists("/api/v1/nodes/n-2"));
  ASSERT_EQ(Delete("/api/v1/nodes/n-1").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/of-node"));
}

TEST_F(GarbageCollectorTest, OneOwnerThatIsLeftKeepsIt) {
  const std::string a = Make(kMaps, "a");
  const std::string b = Make(kMaps, "b");
  Make(kMaps, "child", {{"ConfigMap", "a", a}, {"ConfigMap", "b", b}});
  ASSERT_EQ(Delete(kMaps + "/a").status, 200);
  ASSERT_TRUE(Stays(kMaps + "/child"));
  EXPECT_EQ(At(cluster.Get(kMaps + "/child"), "metadata.ownerReferences").as_array().size(), 1u)
      << "the reference to who is gone goes";
  EXPECT_EQ(Text(cluster.Get(kMaps + "/child"), "metadata.ownerReferences.0.uid"), b);
  ASSERT_EQ(Delete(kMaps + "/b").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/child"));
}

TEST_F(GarbageCollectorTest, InTheForegroundBlockingDependentsGoFirst) {
  const std::string owner = Make(kMaps, "owner");
  const std::string child = Make(kMaps, "child", {{"ConfigMap", "owner", owner, true}});
  Make(kSecrets, "grandchild", {{"ConfigMap", "child", child, true}});
  // It waits for somebody else, and the others for it.
  ASSERT_EQ(cluster.MergePatch(kSecrets + "/grandchild", R"({"metadata":{"finalizers":["example.io/wait"]}})").status,
            200);
  const auto answer = Delete(kMaps + "/owner", "Foreground");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(Text(answer.body, "kind"), "ConfigMap") << "what is not gone yet is shown";
  EXPECT_EQ(Text(answer.body, "metadata.finalizers"), R"(["foregroundDeletion"])");
  EXPECT_NE(Text(answer.body, "metadata.deletionTimestamp"), "");
  EXPECT_EQ(Text(answer.body, "metadata.deletionGracePeriodSeconds"), "0");

  ASSERT_TRUE(cluster.Until(
      [&] { return !Text(cluster.Get(kSecrets + "/grandchild"), "metadata.deletionTimestamp").empty(); }));
  EXPECT_EQ(Text(cluster.Get(kMaps + "/child"), "metadata.finalizers"), R"(["foregroundDeletion"])");
  ASSERT_TRUE(Stays(kMaps + "/owner"));
  ASSERT_EQ(cluster.MergePatch(kSecrets + "/grandchild", R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/owner"));
  EXPECT_FALSE(Exists(kMaps + "/child"));
  EXPECT_FALSE(Exists(kSecrets + "/grandchild"));
}

TEST_F(GarbageCollectorTest, WhoDoesNotBlockIsNotWaitedFor) {
  const std::string owner = Make(kMaps, "owner");
  Make(kMaps, "child", {{"ConfigMap", "owner", owner, false}});
  ASSERT_EQ(cluster.MergePatch(kMaps + "/child", R"({"metadata":{"finalizers":["example.io/wait"]}})").status, 200);
  ASSERT_EQ(Delete(kMaps + "/owner", "Foreground").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/owner"));
  EXPECT_NE(Text(cluster.Get(kMaps + "/child"), "metadata.deletionTimestamp"), "");
}

TEST_F(GarbageCollectorTest, ABlockingDependentWithAnotherOwnerIsLetGo) {
  const std::string owner = Make(kMaps, "owner");
  const std::string other = Make(kMaps, "other");
  Make(kMaps, "child", {{"ConfigMap", "owner", owner, true}, {"ConfigMap", "other", other}});
  ASSERT_EQ(Delete(kMaps + "/owner", "Foreground").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/owner"));
  EXPECT_EQ(Text(cluster.Get(kMaps + "/child"), "metadata.ownerReferences.0.uid"), other);
}

TEST_F(GarbageCollectorTest, OwnersThatWaitForEachOtherGo) {
  const std::string a = Make(kMaps, "a");
  const std::string b = Make(kMaps, "b", {{"ConfigMap", "a", a, true}});
  ASSERT_EQ(cluster
                .MergePatch(kMaps + "/a",
                            R"({"metadata":{"ownerReferences":)" + References({{"ConfigMap", "b", b, true}}) + "}}")
                .status,
            200);
  ASSERT_EQ(Delete(kMaps + "/a", "Foreground").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/a"));
  EXPECT_TRUE(Goes(kMaps + "/b"));
}

TEST_F(GarbageCollectorTest, OrphansStayWithoutTheReference) {
  const std::string owner = Make(kMaps, "owner");
  const std::string other = Make(kMaps, "other");
  Make(kMaps, "child", {{"ConfigMap", "owner", owner, true}, {"ConfigMap", "other", other}});
  Make(kMaps, "only-child", {{"ConfigMap", "owner", owner, true}});
  const auto answer = Delete(kMaps + "/owner", "Orphan");
  EXPECT_EQ(Text(answer.body, "metadata.finalizers"), R"(["orphan"])");
  EXPECT_TRUE(Goes(kMaps + "/owner"));
  ASSERT_TRUE(Stays(kMaps + "/child"));
  EXPECT_EQ(Text(cluster.Get(kMaps + "/child"), "metadata.ownerReferences.0.uid"), other);
  ASSERT_TRUE(Exists(kMaps + "/only-child"));
  EXPECT_TRUE(At(cluster.Get(kMaps + "/only-child"), "metadata.ownerReferences").is_null());
}

// As upstream: a deletion of a Job that says nothing leaves its pods, with a warning.
TEST_F(GarbageCollectorTest, AJobOrphansItsPodsWithoutAPropagationPolicy) {
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  const std::string job =
      R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
  for (const bool has_policy : {false, true}) {
    ASSERT_EQ(cluster.Call("POST", jobs, job).status, 201);
    const auto owned = [&] {
      const auto pods = cluster.List(kPods);
      return std::count_if(pods.begin(), pods.end(),
                           [](const json::value& pod) { return !At(pod, "metadata.ownerReferences.0").is_null(); });
    };
    ASSERT_TRUE(cluster.Until([&] { return owned() == 1; }));
    ASSERT_EQ(cluster.Call("DELETE", jobs + "/j" + (has_policy ? "?propagationPolicy=Background" : "")).status, 200);
    EXPECT_TRUE(Goes(jobs + "/j"));
    EXPECT_TRUE(cluster.Until([&] { return owned() == 0; }));
    EXPECT_EQ(cluster.List(kPods).size(), 1u) << "the pod of the first Job stays";
  }
}

TEST_F(GarbageCollectorTest, ALaterDeletionChangesThePolicy) {
  const std::string owner = Make(kMaps, "owner");
  Make(kMaps, "child", {{"ConfigMap", "owner", owner, true}});
  ASSERT_EQ(cluster.MergePatch(kMaps + "/child", R"({"metadata":{"finalizers":["example.io/wait"]}})").status, 200);
  ASSERT_EQ(Delete(kMaps + "/owner", "Foreground").status, 200);
  ASSERT_TRUE(Stays(kMaps + "/owner"));
  ASSERT_EQ(Delete(kMaps + "/owner", "Background").status, 200);
  EXPECT_FALSE(Exists(kMaps + "/owner"));
}

TEST_F(GarbageCollectorTest, WhatHappenedWhileNobodyWatchedIsFound) {
  const std::string owner = Make(kMaps, "owner");
  const std::string waiting = Make(kMaps, "waiting");
  const std::string orphaning = Make(kMaps, "orphaning");
  Make(kMaps, "child", {{"ConfigMap", "owner", owner}});
  Make(kMaps, "of-waiting", {{"ConfigMap", "waiting", waiting, true}});
  Make(kMaps, "of-orphaning", {{"ConfigMap", "orphaning", orphaning}});
  controllers.reset();
  ASSERT_EQ(Delete(kMaps + "/owner").status, 200);
  ASSERT_EQ(Delete(kMaps + "/waiting", "Foreground").status, 200);
  ASSERT_EQ(Delete(kMaps + "/orphaning", "Orphan").status, 200);
  ASSERT_TRUE(Stays(kMaps + "/child"));
  Start();
  EXPECT_TRUE(Goes(kMaps + "/child"));
  EXPECT_TRUE(Goes(kMaps + "/waiting"));
  EXPECT_FALSE(Exists(kMaps + "/of-waiting"));
  EXPECT_TRUE(Goes(kMaps + "/orphaning"));
  EXPECT_TRUE(Stays(kMaps + "/of-orphaning"));
}

TEST_F(GarbageCollectorTest, AKindThatIsNotServedIsNotJudged) {
  Make(kMaps, "child", {{"Boat", "boat", "u-1"}});
  ASSERT_TRUE(Stays(kMaps + "/child"));
  ASSERT_EQ(cluster.Call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kBoatDefinition).status,
            201);
  EXPECT_TRUE(Goes(kMaps + "/child")) << "now it is known that there is no such boat";
}

TEST_F(GarbageCollectorTest, AKindThatGoesTakesItsDependentsAlong) {
  ASSERT_EQ(cluster.Call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kBoatDefinition).status,
            201);
  const std::string boat = Make(kBoats, "boat");
  Make(kMaps, "sails", {{"Boat", "boat", boat}});
  ASSERT_TRUE(Stays(kMaps + "/sails"));
  ASSERT_EQ(Delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.io").status, 200);
  EXPECT_TRUE(Goes(kMaps + "/sails"));
}

// Twice as many dependents cost twice as many requests, in the background as in the foreground.
TEST_F(GarbageCollectorTest, CostsAsManyRequestsAsThereAreDependents) {
  const auto cost = [&](int dependents, const char* policy) {
    const std::string owner = Make(kMaps, "owner");
    for (int i = 0; i < dependents; ++i) {
      Make(kMaps, "child-" + std::to_string(i), {{"ConfigMap", "owner", owner, true}});
    }
    cluster.Pass(2s);
    int requests = 0;
    cluster.transport.on_request = [&](const net::Request& request) {
      if (request.target.find("/configmaps/") != std::string::npos) ++requests;
    };
    EXPECT_EQ(Delete(kMaps + "/owner", policy).status, 200);
    EXPECT_TRUE(cluster.Until([&] { return cluster.List(kMaps).empty(); }, 120s));
    cluster.transport.on_request = nullptr;
    return requests;
  };
  for (const char* policy : {"Background", "Foreground"}) {
    EXPECT_LE(cost(50, policy), 52) << policy;
    EXPECT_LE(cost(400, policy), 402) << policy;
  }
}

}  // namespace
}  // namespace berth::controllers
