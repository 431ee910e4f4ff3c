// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/kubelet_simulator.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/devcluster/kubelet/node_objects.h"
#include "berth/devcluster/kubelet/test_cluster.h"

namespace berth::kubelet {
namespace {

using namespace std::chrono_literals;
namespace json = codec::json;
using testing::At;
using testing::ConditionOf;
using testing::Fault;
using testing::Number;
using testing::TestCluster;
using testing::Text;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

std::string PodJson(const std::string& name, const std::string& node, const std::string& metadata = {},
                    const std::string& spec = {}) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + '"' + metadata +
         R"(},"spec":{"nodeName":")" + node + R"(","containers":[{"name":"c","image":"registry.example/web:1"}])" +
         spec + "}}";
}

class KubeletTest : public ::testing::Test {
 protected:
  void StartKubelets(KubeletOptions options = {}) {
    kubelets = std::make_unique<KubeletSimulator>(cluster.rest, options);
    kubelets->Start();
  }
  bool HasNodes(int count) {
    return cluster.Until([&] {
      return kubelets->Stats().nodes_ready == count && cluster.List(kLeases).size() == static_cast<std::size_t>(count);
    });
  }
  std::string Phase(const std::string& name) {
    return Text(cluster.Get(std::string(kPods) + '/' + name), "status.phase");
  }
  bool IsGone(const std::string& name) { return cluster.Call("GET", std::string(kPods) + '/' + name).status == 404; }
  bool Runs(const std::string& name) {
    return cluster.Until([&] { return Phase(name) == "Running"; });
  }

  TestCluster cluster;
  std::unique_ptr<KubeletSimulator> kubelets;
};

TEST(KubeletOptions, Refuses) {
  struct Case {
    const char* name;
    void (*change)(KubeletOptions&);
    const char* want;  // a part of the message; empty: accepted
  };
  const Case cases[] = {
      {"as they come", [](KubeletOptions&) {}, ""},
      {"no nodes", [](KubeletOptions& o) { o.nodes = 0; }, ""},
      {"too many nodes", [](KubeletOptions& o) { o.nodes = kNodesMax + 1; }, "number of simulated nodes"},
      {"fewer than none", [](KubeletOptions& o) { o.nodes = -1; }, "number of simulated nodes"},
      {"a prefix with an underscore", [](KubeletOptions& o) { o.node_prefix = "n_"; }, "prefix"},
      {"a quantity that is none", [](KubeletOptions& o) { o.memory = "32Gigs"; }, "memory"},
      {"no zones", [](KubeletOptions& o) { o.zones = 0; }, "zones"},
      {"a region that is no label value", [](KubeletOptions& o) { o.region = "a b"; }, "region"},
      {"no heartbeat", [](KubeletOptions& o) { o.heartbeat = Duration::zero(); }, "times"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    KubeletOptions options;
    each.change(options);
    const auto checked = CheckKubeletOptions(options);
    EXPECT_EQ(checked.ok(), std::string(each.want).empty());
    if (checked.ok()) continue;
    EXPECT_NE(checked.error().message.find(each.want), std::string::npos) << checked.error().message;
  }
}

TEST(NodeObjects, NumbersNamesAndAddresses) {
  KubeletOptions options;
  options.nodes = 300;
  const auto shapes = ShapesOf(options);
  ASSERT_EQ(shapes.size(), 300u);
  EXPECT_EQ(shapes[299].name, "node-300");
  EXPECT_EQ(shapes[299].zone, "zone-3");
  std::set<std::string> addresses;
  for (int number : {1, 254, 255, 256, 257, 39'999, 49'152, 49'153, 65'536, kNodesMax}) {
    EXPECT_TRUE(addresses.insert(NodeAddress(number)).second) << number;
    EXPECT_TRUE(addresses.insert(PodAddress(number, 1)).second) << number;
    EXPECT_EQ(PodOfAddress(number, PodAddress(number, 254)), 254);
    EXPECT_EQ(PodOfAddress(number, PodAddress(number, 255)), 0);
    EXPECT_EQ(PodOfAddress(number, NodeAddress(number)), 0);
  }
  EXPECT_EQ(NodeAddress(1), "172.16.0.1");
  EXPECT_EQ(PodAddress(1, 7), "10.64.0.7");
  EXPECT_EQ(PodAddress(49'152, 7), "10.255.255.7");
  EXPECT_EQ(PodAddress(kNodesMax, 7), "255.66.63.7");
}

TEST_F(KubeletTest, MakesReadyNodesWithLeases) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  const auto nodes = cluster.List("/api/v1/nodes");
  ASSERT_EQ(nodes.size(), 5u);
  for (int number = 1; number <= 5; ++number) {
    const json::value& node = nodes[static_cast<std::size_t>(number) - 1];
    const std::string name = "node-" + std::to_string(number);
    EXPECT_EQ(Text(node, "metadata.name"), name);
    EXPECT_EQ(ConditionOf(node, "Ready"), "True/KubeletReady");
    EXPECT_EQ(ConditionOf(node, "MemoryPressure"), "False/KubeletHasSufficientMemory");
    for (const char* amounts : {"status.allocatable", "status.capacity"}) {
      EXPECT_EQ(Text(node, std::string(amounts) + ".cpu"), "4");
      EXPECT_EQ(Text(node, std::string(amounts) + ".memory"), "32Gi");
      EXPECT_EQ(Text(node, std::string(amounts) + ".pods"), "110");
    }
    EXPECT_EQ(Text(node, "status.nodeInfo.kubeletVersion"), "v1.36.0");
    EXPECT_EQ(Text(node, "status.addresses.0.address"), NodeAddress(number));
    const json::value labels = At(node, "metadata.labels");
    EXPECT_EQ(labels.get_object().at("kubernetes.io/hostname").as_string(), json::string_view(name));
    EXPECT_EQ(labels.get_object().at("topology.kubernetes.io/zone").as_string(),
              json::string_view("zone-" + std::to_string((number - 1) % 3 + 1)));
    EXPECT_EQ(labels.get_object().at("topology.kubernetes.io/region").as_string(), "region-1");
    const json::value lease = cluster.Get(std::string(kLeases) + '/' + name);
    EXPECT_EQ(Text(lease, "spec.holderIdentity"), name);
    EXPECT_EQ(Number(lease, "spec.leaseDurationSeconds"), 40);
    EXPECT_EQ(Text(lease, "metadata.ownerReferences.0.uid"), Text(node, "metadata.uid"));
  }
}

TEST_F(KubeletTest, MakesNodesOfTheirShapes) {
  KubeletOptions options;
  NodeShape shape;
  shape.name = "gpu";
  shape.cpu = "64";
  shape.resources["nvidia.com/gpu"] = "8";
  shape.zone = "z";
  shape.annotations["berth.dev/price"] = "2.5";
  shape.taints.push_back({"gpu", "", "NoSchedule"});
  options.shapes = {shape};
  StartKubelets(options);
  ASSERT_TRUE(HasNodes(1));
  const json::value node = cluster.Get("/api/v1/nodes/gpu");
  const json::value allocatable = At(node, "status.allocatable");
  EXPECT_EQ(allocatable.at("cpu"), "64");
  EXPECT_EQ(allocatable.at("nvidia.com/gpu"), "8");
  EXPECT_EQ(At(node, "metadata.labels").at("topology.kubernetes.io/zone"), "z");
  EXPECT_EQ(At(node, "metadata.annotations").at("berth.dev/price"), "2.5");
  EXPECT_EQ(Text(node, "spec.taints.0.effect"), "NoSchedule");
}

TEST_F(KubeletTest, AdoptsNodesThatOthersMake) {
  KubeletOptions options;
  options.nodes = 1;
  options.adopts_nodes = true;
  // A pod that is bound before the simulator has seen its node runs as well.
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("early", "own")).status, 201);
  StartKubelets(options);
  ASSERT_TRUE(HasNodes(1));
  const char* node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"own"}%s})";
  const auto make = [&](const std::string& more) {
    std::string document = node;
    document.replace(document.find("%s"), 2, more);
    ASSERT_EQ(cluster.Call("POST", "/api/v1/nodes", document).status, 201);
  };
  make("");
  ASSERT_TRUE(HasNodes(2));
  const json::value bare = cluster.Get("/api/v1/nodes/own");
  EXPECT_EQ(ConditionOf(bare, "Ready"), "True/KubeletReady");
  EXPECT_EQ(Text(bare, "status.allocatable.cpu"), "4");
  EXPECT_EQ(At(bare, "metadata.labels").at("kubernetes.io/hostname"), "own");
  EXPECT_TRUE(Runs("early"));
  // Made again, with amounts of its own: they stay.
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/nodes/own").status, 200);
  ASSERT_TRUE(cluster.Until([&] { return kubelets->Stats().nodes_ready == 1; }));
  make(R"(,"status":{"capacity":{"cpu":"2","memory":"1Gi","pods":"3"}})");
  ASSERT_TRUE(
      cluster.Until([&] { return ConditionOf(cluster.Get("/api/v1/nodes/own"), "Ready") == "True/KubeletReady"; }));
  const json::value own = cluster.Get("/api/v1/nodes/own");
  EXPECT_EQ(Text(own, "status.capacity.cpu"), "2");
  EXPECT_EQ(Text(own, "status.allocatable.pods"), "3");
}

TEST_F(KubeletTest, LeavesOthersNodesAloneUnlessAsked) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(
      cluster.Call("POST", "/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"other"}})").status,
      201);
  cluster.Pass(5s);
  EXPECT_EQ(ConditionOf(cluster.Get("/api/v1/nodes/other"), "Ready"), "");
}

TEST_F(KubeletTest, AJobsPodEndsByItself) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  const char* owner =
      R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u","controller":true}])";
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("job", "node-1", owner)).status, 201);
  const std::string slow = std::string(owner) + R"(,"annotations":{"berth.dev/run-seconds":"60"})";
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("slow", "node-1", slow)).status, 201);
  ASSERT_TRUE(Runs("job"));
  EXPECT_TRUE(cluster.Until([&] { return Phase("job") == "Succeeded"; }, 10s));
  EXPECT_EQ(Phase("slow"), "Running");
}

TEST_F(KubeletTest, RenewsLeases) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  const std::string before = Text(cluster.Get(std::string(kLeases) + "/node-3"), "spec.renewTime");
  cluster.Pass(11s);
  EXPECT_GT(Text(cluster.Get(std::string(kLeases) + "/node-3"), "spec.renewTime"), before);
}

TEST_F(KubeletTest, BoundsTheRateOfRenewals) {
  std::map<std::int64_t, int> per_second;
  cluster.transport.on_request = [&](const net::Request& request) {
    if (request.method == "PATCH" && request.target.find("/leases/") != std::string::npos) {
      ++per_second[std::chrono::duration_cast<std::chrono::seconds>(cluster.loop.Now().time_since_epoch()).count()];
    }
  };
  KubeletOptions options;
  options.nodes = 100;
  options.renewals_per_second_max = 5;
  StartKubelets(options);
  for (int i = 0; i < 90; ++i) cluster.loop.Advance(1s);
  for (const auto& [second, count] : per_second) EXPECT_LE(count, 6) << second;
  EXPECT_EQ(kubelets->Stats().nodes_ready, 100);
  EXPECT_GE(kubelets->Stats().renewals, 100u * 4);
  EXPECT_EQ(Number(cluster.Get(std::string(kLeases) + "/node-100"), "spec.leaseDurationSeconds"), 80);
}

TEST_F(KubeletTest, MakesTheNamespaceOfLeases) {
  apiserver::ApiServerOptions options;
  options.namespaces = {"default"};
  TestCluster bare(options);
  KubeletSimulator simulator(bare.rest, {});
  simulator.Start();
  EXPECT_TRUE(bare.Until([&] { return bare.List(kLeases).size() == 5; }));
}

TEST_F(KubeletTest, ReportsANodeReadyAgainAndLeavesADeletedOneAlone) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  // As the node controller does when it has not heard from a node for long.
  ASSERT_EQ(cluster
                .Call("PATCH", "/api/v1/nodes/node-2/status",
                      R"({"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}})",
                      "application/strategic-merge-patch+json")
                .status,
            200);
  EXPECT_TRUE(
      cluster.Until([&] { return ConditionOf(cluster.Get("/api/v1/nodes/node-2"), "Ready") == "True/KubeletReady"; }));
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/nodes/node-3").status, 200);
  cluster.Pass(30s);
  EXPECT_EQ(cluster.Call("GET", "/api/v1/nodes/node-3").status, 404);
  EXPECT_EQ(kubelets->Stats().nodes_ready, 4);
}

TEST_F(KubeletTest, RunsPods) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  for (const char* name : {"a", "b"}) ASSERT_EQ(cluster.Call("POST", kPods, PodJson(name, "node-2")).status, 201);
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("host", "node-2", "", R"(,"hostNetwork":true)")).status, 201);
  ASSERT_EQ(
      cluster
          .Call(
              "POST", kPods,
              PodJson(
                  "init", "node-2", "",
                  R"(,"initContainers":[{"name":"first","image":"i"},{"name":"side","image":"i","restartPolicy":"Always"}])"))
          .status,
      201);
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("foreign", "elsewhere")).status, 201);
  cluster.loop.Advance(200ms);
  EXPECT_EQ(Phase("a"), "Pending") << "before its start latency";
  for (const char* name : {"a", "b", "host", "init"}) ASSERT_TRUE(Runs(name)) << name;

  const json::value pod = cluster.Get(std::string(kPods) + "/a");
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}) {
    EXPECT_EQ(ConditionOf(pod, type), "True/") << type;
  }
  EXPECT_EQ(Text(pod, "status.qosClass"), "BestEffort");
  EXPECT_EQ(Text(pod, "status.hostIP"), NodeAddress(2));
  EXPECT_EQ(Text(pod, "status.hostIPs.0.ip"), NodeAddress(2));
  EXPECT_EQ(Text(pod, "status.podIPs.0.ip"), Text(pod, "status.podIP"));
  EXPECT_FALSE(Text(pod, "status.startTime").empty());
  const json::value container = At(pod, "status.containerStatuses.0");
  EXPECT_EQ(Text(container, "name"), "c");
  EXPECT_EQ(Text(container, "image"), "registry.example/web:1");
  EXPECT_EQ(Text(container, "ready"), "true");
  EXPECT_EQ(Text(container, "started"), "true");
  EXPECT_EQ(Text(container, "restartCount"), "0");
  EXPECT_FALSE(Text(container, "imageID").empty());
  EXPECT_FALSE(Text(container, "containerID").empty());
  EXPECT_FALSE(Text(container, "state.running.startedAt").empty());

  std::set<std::string> addresses;
  for (const char* name : {"a", "b", "init"}) {
    const std::string address = Text(cluster.Get(std::string(kPods) + '/' + name), "status.podIP");
    EXPECT_TRUE(PodOfAddress(2, address) > 0 && addresses.insert(address).second) << name << ' ' << address;
  }
  EXPECT_EQ(Text(cluster.Get(std::string(kPods) + "/host"), "status.podIP"), NodeAddress(2));
  const json::value init = cluster.Get(std::string(kPods) + "/init");
  EXPECT_EQ(Text(init, "status.initContainerStatuses.0.state.terminated.reason"), "Completed");
  EXPECT_FALSE(Text(init, "status.initContainerStatuses.1.state.running.startedAt").empty());
  EXPECT_EQ(Phase("foreign"), "Pending") << "a node that is not ours";
  EXPECT_EQ(kubelets->Stats().pods_started, 4u);
}

TEST_F(KubeletTest, KeepsTheConditionOfABoundPod) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(cluster.Call("POST", kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  ASSERT_TRUE(Runs("p"));
  EXPECT_EQ(ConditionOf(cluster.Get(std::string(kPods) + "/p"), "PodScheduled"), "True/");
}

TEST_F(KubeletTest, PodsSucceedAfterTheirTime) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(
      cluster.Call("POST", kPods, PodJson("job", "node-1", R"(,"annotations":{"berth.dev/run-seconds":"20"})")).status,
      201);
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("odd", "node-1", R"(,"annotations":{"berth.dev/run-seconds":"soon"})"))
                .status,
            201);
  ASSERT_TRUE(Runs("job"));
  cluster.Pass(18s);
  EXPECT_EQ(Phase("job"), "Running");
  ASSERT_TRUE(cluster.Until([&] { return Phase("job") == "Succeeded"; }, 3s));
  const json::value pod = cluster.Get(std::string(kPods) + "/job");
  EXPECT_EQ(ConditionOf(pod, "Ready"), "False/PodCompleted");
  EXPECT_EQ(Text(pod, "status.containerStatuses.0.state.terminated.exitCode"), "0");
  EXPECT_EQ(Phase("odd"), "Running");
  EXPECT_EQ(kubelets->Stats().pods_finished, 1u);
}

TEST_F(KubeletTest, FinishesDeletions) {
  struct Case {
    const char* name;
    bool takes_full_grace;
    int grace;
    Duration still_there;
    Duration gone;
  };
  const Case cases[] = {
      {"after the shutdown latency", false, 30, 800ms, 1500ms},
      {"a full grace period", true, 5, 4500ms, 6s},
      {"a grace period that is shorter than the latency", true, 1, 800ms, 1500ms},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    TestCluster own;
    KubeletOptions options;
    options.takes_full_grace = each.takes_full_grace;
    KubeletSimulator simulator(own.rest, options);
    simulator.Start();
    ASSERT_TRUE(own.Until([&] { return simulator.Stats().nodes_ready == 5; }));
    ASSERT_EQ(own.Call("POST", kPods,
                       PodJson("p", "node-1", "", R"(,"terminationGracePeriodSeconds":)" + std::to_string(each.grace)))
                  .status,
              201);
    ASSERT_TRUE(own.Until([&] { return simulator.Stats().pods_started == 1; }));
    ASSERT_EQ(own.Call("DELETE", std::string(kPods) + "/p").status, 200);
    own.loop.Advance(each.still_there);
    EXPECT_EQ(own.Call("GET", std::string(kPods) + "/p").status, 200);
    own.loop.Advance(each.gone - each.still_there);
    EXPECT_EQ(own.Call("GET", std::string(kPods) + "/p").status, 404);
    EXPECT_EQ(simulator.Stats().pods_removed, 1u);
    EXPECT_EQ(simulator.Stats().pods, 0u);
  }
}

TEST_F(KubeletTest, AReplacedPodIsNotRemovedForItsPredecessor) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("p", "node-1")).status, 201);
  ASSERT_TRUE(Runs("p"));
  // Its deletion is seen, then someone else finishes it and makes a new one before the kubelet's own request goes out.
  ASSERT_EQ(cluster.Call("DELETE", std::string(kPods) + "/p").status, 200);
  cluster.loop.Advance(500ms);
  cluster.transport.holds_streams = true;
  ASSERT_EQ(cluster.Call("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0").status, 200);
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("p", "node-1")).status, 201);
  cluster.loop.Advance(2s);
  EXPECT_FALSE(IsGone("p"));
  cluster.transport.ReleaseStreams();
  EXPECT_TRUE(Runs("p"));
  cluster.Pass(5s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(KubeletTest, ASecondSimulatorTakesOver) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("old", "node-1")).status, 201);
  ASSERT_TRUE(Runs("old"));
  const json::value old_pod = cluster.Get(std::string(kPods) + "/old");
  const std::string uid = Text(cluster.Get("/api/v1/nodes/node-1"), "metadata.uid");
  kubelets.reset();
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("new", "node-1")).status, 201);
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("doomed", "node-1")).status, 201);
  ASSERT_EQ(cluster.Call("DELETE", std::string(kPods) + "/doomed").status, 200);
  cluster.Pass(20s);
  EXPECT_EQ(Phase("new"), "Pending") << "nobody is there to start it";

  KubeletOptions options;
  options.nodes = 6;
  StartKubelets(options);
  ASSERT_TRUE(HasNodes(6));
  EXPECT_TRUE(Runs("new"));
  EXPECT_TRUE(cluster.Until([&] { return IsGone("doomed"); }));
  EXPECT_EQ(Text(cluster.Get("/api/v1/nodes/node-1"), "metadata.uid"), uid);
  const json::value same_pod = cluster.Get(std::string(kPods) + "/old");
  EXPECT_EQ(Text(same_pod, "metadata.resourceVersion"), Text(old_pod, "metadata.resourceVersion"));
  EXPECT_NE(Text(cluster.Get(std::string(kPods) + "/new"), "status.podIP"), Text(old_pod, "status.podIP"));
}

TEST_F(KubeletTest, OutlivesFaultsAndLostWatches) {
  Random random(1);
  cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
    if (request.method == "GET") return std::nullopt;
    switch (random.Below(6)) {
      case 1: return Fault{.status = 500, .takes_effect = false};
      case 2: return Fault{.status = 0, .takes_effect = true};
      case 3: return Fault{.status = 409, .takes_effect = false, .reason = "Conflict"};
      default: return std::nullopt;
    }
  };
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_EQ(cluster.Call("POST", kPods, PodJson("p" + number, "node-" + std::to_string(i % 5 + 1))).status, 201);
    if (i == 10) cluster.transport.BreakStreams();
  }
  const auto all_run = [&] {
    const auto pods = cluster.List(kPods);
    return std::all_of(pods.begin(), pods.end(),
                       [](const json::value& pod) { return Text(pod, "status.phase") == "Running"; });
  };
  EXPECT_TRUE(cluster.Until(all_run));
  ASSERT_EQ(cluster.Call("DELETE", kPods).status, 200);
  EXPECT_TRUE(cluster.Until([&] { return cluster.List(kPods).empty(); }));
  EXPECT_GT(kubelets->Stats().failures, 0u);
}

TEST_F(KubeletTest, DoesNothingMoreOnceStopped) {
  StartKubelets();
  ASSERT_TRUE(HasNodes(5));
  ASSERT_EQ(cluster.Call("POST", kPods, PodJson("p", "node-1")).status, 201);
  cluster.loop.Advance(10ms);
  kubelets->Stop();
  int requests = 0;
  cluster.transport.on_request = [&](const net::Request&) { ++requests; };
  cluster.Pass(30s);
  EXPECT_EQ(requests, 0);
  EXPECT_EQ(Phase("p"), "Pending");
}

TEST(KubeletSimulator, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    TestCluster own;
    std::string order;
    own.transport.on_request = [&](const net::Request& request) { order += request.method + request.target + '\n'; };
    KubeletOptions options;
    options.seed = seed;
    KubeletSimulator simulator(own.rest, options);
    simulator.Start();
    (void)own.Until([&] { return simulator.Stats().nodes_ready == 5; });
    for (int i = 0; i < 10; ++i) own.Call("POST", kPods, PodJson("p" + std::to_string(i), "node-1"));
    (void)own.Until([&] { return simulator.Stats().pods_started == 10; });
    return order;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

}  // namespace
}  // namespace berth::kubelet
