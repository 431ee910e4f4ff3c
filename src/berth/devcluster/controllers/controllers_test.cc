// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/controllers.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/replica_set_controller.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/devcluster/kubelet/test_cluster.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/net/io_context.h"

namespace berth::controllers {
namespace {

using namespace std::chrono_literals;
using testing::At;
using testing::ConditionOf;
using testing::Fault;
using testing::Number;
using testing::TestCluster;
using testing::Text;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kSets = "/apis/apps/v1/namespaces/default/replicasets";
const std::string kWeb = kDeployments + "/web";

std::string DeploymentJson(int replicas, const std::string& image = "nginx:1", const std::string& spec = {}) {
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"replicas":)" +
         std::to_string(replicas) + spec +
         R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},)"
         R"("spec":{"containers":[{"name":"web","image":")" +
         image + R"("}]}}}})";
}
std::string ImagePatch(const std::string& image) {
  return R"({"spec":{"template":{"spec":{"containers":[{"name":"web","image":")" + image + R"("}]}}}})";
}

class ControllersTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }

  void Start() {
    kubelet::KubeletOptions options;
    options.start_latency = 100ms;
    options.shutdown_latency = 200ms;
    kubelets = std::make_unique<kubelet::KubeletSimulator>(cluster.rest, options);
    kubelets->Start();
    StartControllers();
    ASSERT_TRUE(cluster.Until([&] { return kubelets->Stats().nodes_ready == 5; }));
  }
  void StartControllers(std::uint64_t seed = 1) {
    controllers = std::make_unique<Controllers>(cluster.rest, cluster.events,
                                                ControllersOptions{.seed = seed, .hostname = "test"});
    controllers->Start();
  }
  void Create(const std::string& document, const std::string& path = kDeployments) {
    const auto answer = cluster.Call("POST", path, document);
    ASSERT_EQ(answer.status, 201) << Text(answer.body, "message");
  }
  void Patch(const std::string& path, const std::string& patch) {
    const auto answer = cluster.MergePatch(path, patch);
    ASSERT_EQ(answer.status, 200) << Text(answer.body, "message");
  }
  // What `kubectl rollout status` waits for.
  bool IsRolledOut() {
    const json::value web = cluster.Get(kWeb);
    const std::int64_t replicas = Number(web, "spec.replicas");
    return Number(web, "status.observedGeneration") >= Number(web, "metadata.generation") &&
           Number(web, "status.updatedReplicas") == replicas && Number(web, "status.replicas") == replicas &&
           Number(web, "status.availableReplicas") == replicas;
  }
  bool RollsOut(Duration max = 120s) {
    return cluster.Until([&] { return IsRolledOut(); }, max);
  }
  std::vector<json::value> LivePods() {
    auto pods = cluster.List(kPods);
    std::erase_if(pods, [](const json::value& pod) { return !Text(pod, "metadata.deletionTimestamp").empty(); });
    return pods;
  }
  std::int64_t ReadyPods() {
    const auto pods = LivePods();
    return std::count_if(pods.begin(), pods.end(),
                         [](const auto& pod) { return ConditionOf(pod, "Ready") == "True/"; });
  }
  bool Comes(std::size_t pods) {
    return cluster.Until([&] { return LivePods().size() == pods && cluster.List(kPods).size() == pods; });
  }
  std::multiset<std::string> EventReasons() {
    std::multiset<std::string> reasons;
    for (const json::value& event : cluster.List("/api/v1/namespaces/default/events"))
      reasons.insert(Text(event, "reason"));
    return reasons;
  }

  TestCluster cluster;
  std::unique_ptr<kubelet::KubeletSimulator> kubelets;
  std::unique_ptr<Controllers> controllers;
};

TEST_F(ControllersTest, ADeploymentComesToLife) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  const json::value web = cluster.Get(kWeb);
  EXPECT_EQ(ConditionOf(web, "Available"), "True/MinimumReplicasAvailable");
  EXPECT_EQ(ConditionOf(web, "Progressing"), "True/NewReplicaSetAvailable");
  EXPECT_EQ(Text(web, "status.conditions.1.type"), "Progressing");  // what has changed last is the last
  EXPECT_EQ(Number(web, "metadata.generation"), 1);                 // the revision's annotation is no new generation
  EXPECT_EQ(Number(web, "status.readyReplicas"), 3);
  EXPECT_EQ(Number(web, "status.unavailableReplicas"), 0);
  EXPECT_EQ(At(web, "metadata.annotations").as_object().at("deployment.kubernetes.io/revision").as_string(), "1");

  const auto sets = cluster.List(kSets);
  ASSERT_EQ(sets.size(), 1u);
  const json::value& set = sets[0];
  const std::string name = Text(set, "metadata.name");
  const std::string hash = Text(set, "metadata.labels.pod-template-hash");
  EXPECT_EQ(name, "web-" + hash);
  EXPECT_EQ(Text(set, "spec.selector.matchLabels.pod-template-hash"), hash);
  EXPECT_EQ(Text(set, "spec.template.metadata.labels.pod-template-hash"), hash);
  EXPECT_EQ(At(set, "metadata.ownerReferences"), (json::value{{{"apiVersion", "apps/v1"},
                                                               {"kind", "Deployment"},
                                                               {"name", "web"},
                                                               {"uid", Text(web, "metadata.uid")},
                                                               {"controller", true},
                                                               {"blockOwnerDeletion", true}}}));
  EXPECT_EQ(At(set, "metadata.annotations").as_object().at("deployment.kubernetes.io/desired-replicas").as_string(),
            "3");
  EXPECT_EQ(Number(set, "status.availableReplicas"), 3);
  EXPECT_EQ(Number(set, "status.fullyLabeledReplicas"), 3);

  const auto pods = cluster.List(kPods);
  ASSERT_EQ(pods.size(), 3u);
  for (const json::value& pod : pods) {
    EXPECT_EQ(Text(pod, "metadata.generateName"), name + '-');
    EXPECT_TRUE(Text(pod, "metadata.name").starts_with(name + '-'));
    EXPECT_EQ(Text(pod, "metadata.name").size(), name.size() + 6);
    EXPECT_EQ(Text(pod, "metadata.labels.app"), "web");
    EXPECT_EQ(At(pod, "metadata.ownerReferences"), (json::value{{{"apiVersion", "apps/v1"},
                                                                 {"kind", "ReplicaSet"},
                                                                 {"name", name},
                                                                 {"uid", Text(set, "metadata.uid")},
                                                                 {"controller", true},
                                                                 {"blockOwnerDeletion", true}}}));
  }
  ASSERT_TRUE(cluster.Until([&] { return EventReasons().count("SuccessfulCreate") == 3; }));
  EXPECT_EQ(EventReasons().count("ScalingReplicaSet"), 1u);
  // At rest: nothing is written any more but leases.
  int writes = 0;
  cluster.transport.on_request = [&](const net::Request& request) {
    if (request.method != "GET" && request.target.find("/leases") == std::string::npos) {
      ++writes;
      ADD_FAILURE() << request.method << ' ' << request.target << ' ' << request.body;
    }
  };
  cluster.Pass(30s);
  EXPECT_EQ(writes, 0);
}

TEST_F(ControllersTest, ABudgetAllowsSomeEvictions) {
  const std::string budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  Create(DeploymentJson(3));
  Create(R"({"metadata":{"name":"guard"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}})",
         budgets);
  const auto allowed = [&] { return Number(cluster.Get(budgets + "/guard"), "status.disruptionsAllowed"); };
  ASSERT_TRUE(RollsOut());
  ASSERT_TRUE(cluster.Until([&] { return allowed() == 1; }));
  EXPECT_EQ(Number(cluster.Get(budgets + "/guard"), "status.expectedPods"), 3);
  EXPECT_EQ(ConditionOf(cluster.Get(budgets + "/guard"), "DisruptionAllowed"), "True/SufficientPods");

  const auto pods = LivePods();
  const auto evict = [&](const json::value& pod) {
    const std::string name = Text(pod, "metadata.name");
    return cluster.Call("POST", kPods + '/' + name + "/eviction", R"({"metadata":{"name":")" + name + R"("}})").status;
  };
  EXPECT_EQ(evict(pods[0]), 201);
  EXPECT_EQ(evict(pods[1]), 429);
  // Another pod takes its place.
  ASSERT_TRUE(cluster.Until([&] { return allowed() == 1; }));
  EXPECT_EQ(evict(pods[1]), 201);

  ASSERT_EQ(cluster.Call("DELETE", budgets + "/guard", "").status, 200);
  EXPECT_EQ(evict(pods[2]), 201);
}

TEST_F(ControllersTest, NotAvailableBeforePodsRun) {
  kubelets->Stop();
  Create(DeploymentJson(3));
  ASSERT_TRUE(cluster.Until([&] { return Number(cluster.Get(kWeb), "status.replicas") == 3; }));
  const json::value web = cluster.Get(kWeb);
  EXPECT_EQ(ConditionOf(web, "Available"), "False/MinimumReplicasUnavailable");
  EXPECT_TRUE(ConditionOf(web, "Progressing").starts_with("True/")) << ConditionOf(web, "Progressing");
  EXPECT_EQ(Number(web, "status.unavailableReplicas"), 3);
}

TEST_F(ControllersTest, ScalesUpAndDown) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  Patch(kWeb + "/scale", R"({"spec":{"replicas":50}})");
  ASSERT_TRUE(RollsOut());
  EXPECT_EQ(cluster.List(kPods).size(), 50u);
  Patch(kWeb + "/scale", R"({"spec":{"replicas":2}})");
  ASSERT_TRUE(RollsOut());
  ASSERT_TRUE(Comes(2));
  EXPECT_EQ(controllers->Stats().pods_created, 50u);
  EXPECT_EQ(controllers->Stats().pods_deleted, 48u);
  Patch(kWeb, R"({"spec":{"replicas":0}})");
  ASSERT_TRUE(Comes(0));
  ASSERT_TRUE(RollsOut());
  EXPECT_EQ(ConditionOf(cluster.Get(kWeb), "Available"), "True/MinimumReplicasAvailable");
  EXPECT_EQ(controllers->Stats().failures, 0u);
}

TEST_F(ControllersTest, ReplacesADeletedAndAFinishedPod) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  const auto before = cluster.List(kPods);
  ASSERT_EQ(cluster.Call("DELETE", kPods + '/' + Text(before[0], "metadata.name")).status, 200);
  ASSERT_TRUE(cluster.Until([&] {
    return cluster.Call("GET", kPods + '/' + Text(before[0], "metadata.name")).status == 404 && ReadyPods() == 3;
  }));
  Patch(kPods + '/' + Text(before[1], "metadata.name") + "/status", R"({"status":{"phase":"Failed"}})");
  EXPECT_TRUE(cluster.Until([&] { return ReadyPods() >= 3 && cluster.List(kPods).size() == 4; }));
  EXPECT_EQ(controllers->Stats().pods_created, 5u);
}

TEST_F(ControllersTest, DeletingADeploymentRemovesAll) {
  for (const char* policy : {"", "?propagationPolicy=Background", "?propagationPolicy=Foreground"}) {
    SCOPED_TRACE(policy);
    Create(DeploymentJson(5));
    ASSERT_TRUE(RollsOut());
    ASSERT_EQ(cluster.Call("DELETE", kWeb + policy).status, 200);
    EXPECT_TRUE(cluster.Until([&] { return cluster.List(kSets).empty() && cluster.List(kPods).empty(); }));
  }
}

TEST_F(ControllersTest, DeletingANamespaceLeavesNothing) {
  Create(R"({"metadata":{"name":"team"}})", "/api/v1/namespaces");
  Create(DeploymentJson(5), "/apis/apps/v1/namespaces/team/deployments");
  ASSERT_TRUE(cluster.Until([&] { return cluster.List("/api/v1/namespaces/team/pods").size() == 5; }));
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/namespaces/team").status, 200);
  cluster.Pass(10s);
  EXPECT_TRUE(cluster.List("/api/v1/pods").empty());
  EXPECT_TRUE(cluster.List("/apis/apps/v1/replicasets").empty());
}

TEST_F(ControllersTest, EachNamespaceHasItsServiceAccount) {
  const auto account = [](const std::string& space) {
    return "/api/v1/namespaces/" + space + "/serviceaccounts/default";
  };
  const auto exists = [&](const std::string& space) { return cluster.Call("GET", account(space)).status == 200; };
  EXPECT_TRUE(cluster.Until([&] { return exists("default") && exists("kube-system"); }));
  Create(R"({"metadata":{"name":"team"}})", "/api/v1/namespaces");
  ASSERT_TRUE(cluster.Until([&] { return exists("team"); }));
  ASSERT_EQ(cluster.Call("DELETE", account("team")).status, 200);
  EXPECT_TRUE(cluster.Until([&] { return exists("team"); })) << "it comes back";
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/namespaces/team").status, 200);
  cluster.Pass(10s);
  EXPECT_FALSE(exists("team"));
  EXPECT_EQ(controllers->Stats().failures, 0u);
}

TEST_F(ControllersTest, OrphansAreAdopted) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  const auto sets = cluster.List(kSets);
  const auto pods = cluster.List(kPods);
  ASSERT_EQ(cluster.Call("DELETE", kWeb + "?propagationPolicy=Orphan").status, 200);
  cluster.Pass(10s);
  ASSERT_EQ(cluster.List(kSets).size(), 1u);
  ASSERT_EQ(ReadyPods(), 3);
  ASSERT_EQ(cluster.Call("DELETE", kSets + '/' + Text(sets[0], "metadata.name") + "?propagationPolicy=Orphan").status,
            200);
  cluster.Pass(10s);
  ASSERT_EQ(ReadyPods(), 3);

  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  std::set<std::string> uids_before;
  std::set<std::string> uids_after;
  for (const auto& pod : pods) uids_before.insert(Text(pod, "metadata.uid"));
  for (const auto& pod : cluster.List(kPods)) uids_after.insert(Text(pod, "metadata.uid"));
  EXPECT_EQ(uids_after, uids_before);
}

TEST_F(ControllersTest, APodThatLosesItsLabelIsLetGo) {
  Create(DeploymentJson(2));
  ASSERT_TRUE(RollsOut());
  const std::string name = Text(cluster.List(kPods)[0], "metadata.name");
  Patch(kPods + '/' + name, R"({"metadata":{"labels":{"app":"debug"}}})");
  ASSERT_TRUE(cluster.Until([&] { return ReadyPods() == 3; }));
  EXPECT_TRUE(At(cluster.Get(kPods + '/' + name), "metadata.ownerReferences.0").is_null());
}

TEST_F(ControllersTest, RollingUpdateKeepsItsBounds) {
  Create(DeploymentJson(6, "nginx:1", R"(,"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":1}})"));
  ASSERT_TRUE(RollsOut());
  cluster.on_step = [&] {
    EXPECT_LE(LivePods().size(), 8u);
    EXPECT_GE(ReadyPods(), 5);
  };
  Patch(kWeb, ImagePatch("nginx:2"));
  ASSERT_TRUE(RollsOut());
  ASSERT_TRUE(Comes(6));
  for (const json::value& pod : cluster.List(kPods)) EXPECT_EQ(Text(pod, "spec.containers.0.image"), "nginx:2");
  const auto revision = [&](const json::value& object) {
    return std::string(
        At(object, "metadata.annotations").as_object().at("deployment.kubernetes.io/revision").as_string());
  };
  EXPECT_EQ(revision(cluster.Get(kWeb)), "2");
  EXPECT_EQ(cluster.List(kSets).size(), 2u);
  EXPECT_EQ(ConditionOf(cluster.Get(kWeb), "Progressing"), "True/NewReplicaSetAvailable");

  // Back to the first template: the same ReplicaSet, a new revision.
  Patch(kWeb, ImagePatch("nginx:1"));
  ASSERT_TRUE(RollsOut());
  ASSERT_TRUE(cluster.Until([&] { return revision(cluster.Get(kWeb)) == "3"; }));
  EXPECT_EQ(cluster.List(kSets).size(), 2u);
}

TEST_F(ControllersTest, KeepsAsManyOldSetsAsItsLimit) {
  Create(DeploymentJson(1, "nginx:0", R"(,"revisionHistoryLimit":2)"));
  ASSERT_TRUE(RollsOut());
  for (int i = 1; i <= 5; ++i) {
    Patch(kWeb, ImagePatch("nginx:" + std::to_string(i)));
    ASSERT_TRUE(RollsOut());
  }
  EXPECT_TRUE(cluster.Until([&] { return cluster.List(kSets).size() == 3; }));
}

TEST_F(ControllersTest, RecreateNeverMixes) {
  Create(DeploymentJson(4, "nginx:1", R"(,"strategy":{"type":"Recreate"})"));
  ASSERT_TRUE(RollsOut());
  cluster.on_step = [&] {
    std::set<std::string> images;
    for (const json::value& pod : cluster.List(kPods)) images.insert(Text(pod, "spec.containers.0.image"));
    EXPECT_LE(images.size(), 1u);
  };
  Patch(kWeb, ImagePatch("nginx:2"));
  ASSERT_TRUE(RollsOut());
  ASSERT_TRUE(Comes(4));
  EXPECT_EQ(Text(cluster.List(kPods)[0], "spec.containers.0.image"), "nginx:2");
}

TEST_F(ControllersTest, PausedDeploymentsFollowTheirNumberOnly) {
  Create(DeploymentJson(2));
  ASSERT_TRUE(RollsOut());
  Patch(kWeb, R"({"spec":{"paused":true}})");
  Patch(kWeb, ImagePatch("nginx:2"));
  Patch(kWeb, R"({"spec":{"replicas":4}})");
  ASSERT_TRUE(Comes(4));
  cluster.Pass(5s);
  for (const json::value& pod : cluster.List(kPods)) EXPECT_EQ(Text(pod, "spec.containers.0.image"), "nginx:1");
  EXPECT_EQ(ConditionOf(cluster.Get(kWeb), "Progressing"), "Unknown/DeploymentPaused");
  Patch(kWeb, R"({"spec":{"paused":null}})");
  ASSERT_TRUE(RollsOut());
  for (const json::value& pod : LivePods()) EXPECT_EQ(Text(pod, "spec.containers.0.image"), "nginx:2");
}

TEST_F(ControllersTest, SaysWhenARolloutTakesTooLong) {
  cluster.schedules = false;
  Create(DeploymentJson(2, "nginx:1", R"(,"progressDeadlineSeconds":20)"));
  cluster.Pass(15s);
  EXPECT_TRUE(ConditionOf(cluster.Get(kWeb), "Progressing").starts_with("True/"));
  ASSERT_TRUE(
      cluster.Until([&] { return ConditionOf(cluster.Get(kWeb), "Progressing") == "False/ProgressDeadlineExceeded"; }));
  cluster.schedules = true;
  ASSERT_TRUE(RollsOut());
  EXPECT_EQ(ConditionOf(cluster.Get(kWeb), "Progressing"), "True/NewReplicaSetAvailable");
}

TEST_F(ControllersTest, AvailableAfterMinReadySeconds) {
  Create(DeploymentJson(2, "nginx:1", R"(,"minReadySeconds":10)"));
  ASSERT_TRUE(cluster.Until([&] { return Number(cluster.Get(kWeb), "status.readyReplicas") == 2; }));
  cluster.Pass(8s);
  EXPECT_EQ(Number(cluster.Get(kWeb), "status.availableReplicas"), 0);
  EXPECT_TRUE(cluster.Until([&] { return Number(cluster.Get(kWeb), "status.availableReplicas") == 2; }, 5s));
}

TEST_F(ControllersTest, AStaleWatchMakesNoPodTwice) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  // From here on the watches show nothing. Pods go and come, and the ReplicaSet is looked at again and again.
  const auto pods = cluster.List(kPods);
  ASSERT_EQ(cluster.Call("DELETE", kPods + '/' + Text(pods[0], "metadata.name") + "?gracePeriodSeconds=0").status, 200);
  cluster.loop.Run();
  cluster.transport.holds_streams = true;
  cluster.loop.Advance(30s);
  EXPECT_EQ(controllers->Stats().pods_created, 4u);
  cluster.transport.ReleaseStreams();
  ASSERT_TRUE(RollsOut());
  EXPECT_EQ(controllers->Stats().pods_created, 4u);
}

TEST_F(ControllersTest, ARestartCountsWhatIsThere) {
  Create(DeploymentJson(5));
  ASSERT_TRUE(RollsOut());
  controllers.reset();
  const auto pods = cluster.List(kPods);
  ASSERT_EQ(cluster.Call("DELETE", kPods + '/' + Text(pods[0], "metadata.name")).status, 200);
  cluster.Pass(5s);
  EXPECT_EQ(cluster.List(kPods).size(), 4u);
  StartControllers(2);
  ASSERT_TRUE(cluster.Until([&] { return ReadyPods() == 5; }));
  EXPECT_EQ(controllers->Stats().pods_created, 1u);
}

TEST_F(ControllersTest, CollectsWhatItsOwnerLeftWhileNobodyWatched) {
  Create(DeploymentJson(3));
  ASSERT_TRUE(RollsOut());
  controllers.reset();
  ASSERT_EQ(cluster.Call("DELETE", kWeb).status, 200);
  const std::string orphan =
      R"({"metadata":{"name":"kept","ownerReferences":[{"apiVersion":"example.io/v1","kind":"Other",)"
      R"("name":"x","uid":"u","controller":true}]},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  Create(orphan, kPods);
  StartControllers();
  ASSERT_TRUE(cluster.Until([&] { return cluster.List(kSets).empty() && cluster.List(kPods).size() == 1; }));
  EXPECT_EQ(Text(cluster.List(kPods)[0], "metadata.name"), "kept") << "of an owner that is not ours to judge";
}

TEST_F(ControllersTest, PodsOfANodeThatIsGoneAreReplaced) {
  Create(DeploymentJson(5));
  ASSERT_TRUE(RollsOut());
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/nodes/node-2").status, 200);
  cluster.Pass(30s);
  const auto on_node = [&] {
    const auto pods = cluster.List(kPods);
    return std::count_if(pods.begin(), pods.end(),
                         [](const auto& pod) { return Text(pod, "spec.nodeName") == "node-2"; });
  };
  EXPECT_EQ(on_node(), 1) << "the node might come back";
  ASSERT_TRUE(cluster.Until([&] { return on_node() == 0 && ReadyPods() == 5; }));
  EXPECT_EQ(controllers->Stats().objects_collected, 2u) << "the pod, and the lease, whose owner the node was";
}

TEST_F(ControllersTest, ARefusedPodIsReportedAndNotTriedInALoop) {
  int tries = 0;
  cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
    if (request.method != "POST" || request.target != kPods) return std::nullopt;
    ++tries;
    return Fault{.status = 403, .reason = "Forbidden"};
  };
  Create(DeploymentJson(3));
  cluster.Pass(60s);
  EXPECT_GE(tries, 10);
  EXPECT_LE(tries, 120);
  const auto sets = cluster.List(kSets);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(ConditionOf(sets[0], "ReplicaFailure"), "True/FailedCreate");
  EXPECT_GE(EventReasons().count("FailedCreate"), 1u);
  cluster.transport.fault = nullptr;
  ASSERT_TRUE(RollsOut());
  EXPECT_TRUE(cluster.Until([&] { return ConditionOf(cluster.List(kSets)[0], "ReplicaFailure").empty(); }));
}

// Answers are refused, lost before and lost after their effect; watches break. In the end everything is as asked for,
// and at no time does a ReplicaSet have more pods than it was ever asked for.
TEST_F(ControllersTest, OutlivesFaults) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
      if (request.method == "GET") return std::nullopt;
      switch (random.Below(12)) {
        case 0: return Fault{.status = 500, .takes_effect = false};
        case 1: return Fault{.status = 500, .takes_effect = true};
        case 2: return Fault{.status = 0, .takes_effect = true};
        case 3: return Fault{.status = 409, .takes_effect = false, .reason = "Conflict"};
        default: return std::nullopt;
      }
    };
    Create(DeploymentJson(8, "nginx:1", R"(,"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":2}})"));
    cluster.on_step = [&] {
      std::map<std::string, int> counts;
      for (const json::value& pod : LivePods()) ++counts[Text(pod, "spec.containers.0.image")];
      for (const auto& [image, count] : counts) EXPECT_LE(count, 8) << image;
      if (random.Below(200) == 0) cluster.transport.BreakStreams();
    };
    ASSERT_TRUE(RollsOut(300s));
    Patch(kWeb, ImagePatch("nginx:2"));
    ASSERT_TRUE(RollsOut(300s));
    for (const json::value& pod : LivePods()) EXPECT_EQ(Text(pod, "spec.containers.0.image"), "nginx:2");
    EXPECT_EQ(cluster.List(kSets).size(), 2u);
    ASSERT_EQ(cluster.Call("DELETE", kWeb).status, 200);
    ASSERT_TRUE(cluster.Until([&] { return cluster.List(kSets).empty() && cluster.List(kPods).empty(); }, 300s));
    cluster.on_step = nullptr;
    if (HasFailure()) return;
  }
}

TEST(ControllersSeed, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    TestCluster own;
    std::string order;
    own.transport.on_request = [&](const net::Request& request) {
      order += request.method + request.target + request.body + '\n';
    };
    kubelet::KubeletSimulator kubelets(own.rest, {});
    Controllers controllers(own.rest, own.events, {.seed = seed, .hostname = "test"});
    kubelets.Start();
    controllers.Start();
    own.Call("POST", kDeployments, DeploymentJson(10));
    (void)own.Until([&] { return Number(own.Get(kWeb), "status.availableReplicas") == 10; });
    own.MergePatch(kWeb, ImagePatch("nginx:2"));
    own.Call("DELETE", "/api/v1/nodes/node-2");
    own.Pass(60s);
    own.Call("DELETE", kWeb);
    (void)own.Until([&] { return own.List(kPods).empty(); });
    return order;
  };
  EXPECT_TRUE(run(7) == run(7));
  EXPECT_FALSE(run(7) == run(8));
}

// The same over a real event loop, as the program runs it; a scheduler of a few lines beside it.
TEST(ControllersOnALoop, BringUpADeploymentAndStop) {
  const SystemClock clock;
  net::IoContext server_io;
  apiserver::ApiServerOptions options;
  options.io = &server_io;
  const apiserver::ApiServer server(objects::ResourceTypes(), clock, options);
  net::IoContext io;
  client::IoEventLoop loop(io, clock);
  const auto transport = server.InProcessTransport(io);
  client::RestClient rest(loop, *transport, nullptr, 1);
  client::RestClient events(loop, *transport, nullptr, 2);

  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t available = -1;
  client::Informer<WorkloadView>::Options watched;
  watched.name = watched.path = "/apis/apps/v1/deployments";
  watched.decode = DecodeWorkloadView;
  const auto tell = [&](const std::shared_ptr<const WorkloadView>& web) {
    const std::lock_guard lock(mutex);
    available = web->StatusCount("availableReplicas");
    changed.notify_all();
  };
  client::Informer<WorkloadView> deployments(
      rest, watched, {.on_add = tell, .on_update = [&](const auto&, const auto& web) { tell(web); }});
  client::ApiWriter writer(rest);
  int bound = 0;
  client::Informer<PodView>::Options pods_watched;
  pods_watched.name = pods_watched.path = "/api/v1/pods";
  pods_watched.decode = DecodePodView;
  client::Informer<PodView> pods(rest, pods_watched, {.on_add = [&](const std::shared_ptr<const PodView>& pod) {
                                   writer.Bind({pod->namespace_name, pod->name, pod->uid},
                                               "node-" + std::to_string(bound++ % 5 + 1), [](const Expected<void>&) {});
                                 }});

  kubelet::KubeletOptions kubelet_options;
  kubelet_options.start_latency = 5ms;
  kubelet::KubeletSimulator kubelets(rest, kubelet_options);
  Controllers controllers(rest, events, {.seed = 1, .hostname = "test"});
  deployments.Start();
  pods.Start();
  kubelets.Start();
  controllers.Start();
  net::Request request;
  request.method = "POST";
  request.target = kDeployments;
  request.body = DeploymentJson(40);
  ASSERT_TRUE(rest.DoSync(request).ok());
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 60s, [&] { return available == 40; })) << available;
  }
  EXPECT_EQ(controllers.Stats().pods_created, 40u);
  EXPECT_EQ(kubelets.Stats().pods_started, 40u);
  // In the middle of work.
  request.method = "PATCH";
  request.target = kWeb;
  request.headers = {{"Content-Type", "application/merge-patch+json"}};
  request.body = ImagePatch("nginx:2");
  ASSERT_TRUE(rest.DoSync(request).ok());
  controllers.Stop();
  kubelets.Stop();
  deployments.Stop();
  pods.Stop();
  io.Stop();
}

TEST(SortForRemoval, FollowsUpstreamsOrder) {
  const Time now = Time(std::chrono::hours(1));
  const auto pod = [now](std::string name, std::string node, std::string phase, bool is_ready, int age_seconds) {
    auto view = std::make_shared<PodView>();
    view->name = view->uid = std::move(name);
    view->node_name = std::move(node);
    view->phase = std::move(phase);
    view->is_ready = is_ready;
    view->creation_time = now - std::chrono::seconds(age_seconds);
    if (is_ready) view->ready_since = view->creation_time;
    return view;
  };
  auto cheap = pod("cheap", "n1", "Running", true, 90);
  cheap->deletion_cost = -5;
  auto restarted = pod("restarted", "n3", "Running", true, 80);
  restarted->restarts = 3;
  std::vector<std::shared_ptr<const PodView>> pods = {
      pod("old", "n2", "Running", true, 100),
      pod("young", "n2", "Running", true, 10),
      restarted,
      pod("same-age", "n3", "Running", true, 80),
      pod("unready", "n1", "Running", false, 50),
      pod("pending", "n1", "Pending", false, 50),
      pod("unbound", "", "Pending", false, 500),
      cheap,
  };
  SortForRemoval(pods);
  std::vector<std::string> names;
  for (const auto& each : pods) names.push_back(each->name);
  EXPECT_EQ(names, (std::vector<std::string>{"unbound", "pending", "unready", "cheap", "young", "restarted", "same-age",
                                             "old"}));
}

TEST(TemplateHash, DependsOnContentAlone) {
  const auto object = [](const char* text) { return codec::ParseJson(text)->as_object(); };
  const auto a = object(R"({"metadata":{"labels":{"a":"1"},"creationTimestamp":null},"spec":{"x":1,"y":[1,2]}})");
  const auto b = object(R"({"spec":{"y":[1,2],"x":1},"metadata":{"labels":{"pod-template-hash":"zzz","a":"1"}}})");
  const auto c = object(R"({"spec":{"y":[2,1],"x":1},"metadata":{"labels":{"a":"1"}}})");
  EXPECT_TRUE(SameTemplate(a, b));
  EXPECT_EQ(TemplateHash(a, 0), TemplateHash(b, 0));
  EXPECT_FALSE(SameTemplate(a, c));
  EXPECT_NE(TemplateHash(a, 0), TemplateHash(c, 0));
  EXPECT_NE(TemplateHash(a, 0), TemplateHash(a, 1));
}

}  // namespace
}  // namespace berth::controllers
