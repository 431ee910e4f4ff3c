// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/simulation.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/answers/simulation_answer.h"
#include "berth/api/decode.h"
#include "berth/base/check.h"
#include "berth/framework/object_kinds.h"
#include "berth/testing/builders.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using answers::SimulationText, answers::ComparisonText, answers::ComparisonJson, answers::CountElsewhere;
using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;

std::shared_ptr<const api::Pod> Share(const PodBuilder& pod) { return std::make_shared<const api::Pod>(pod.Build()); }
NewPod New(const PodBuilder& pod) { return NewPod(Share(pod)); }

NodeBuilder SmallNode(const std::string& name, const std::string& zone) {
  return MakeNode(name).Label("topology.kubernetes.io/zone", zone).Allocatable("cpu", "2");
}

PodBuilder Replica(const std::string& name, const std::string& cpu) {
  return MakePod(name).Request("cpu", cpu).Controller("apps/v1", "ReplicaSet", "web");
}

Simulation Simulated(const ClusterState& state, const Additions& additions,
                     const std::vector<std::string>& removed = {}) {
  auto answer = Simulate({state, additions, removed}, OptionsOf());
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  return answer.ok() ? std::move(*answer) : Simulation();
}

// "name on node", "name: why".
std::vector<std::string> Said(const Simulation& answer) {
  std::vector<std::string> lines;
  for (const SimulatedPod& pod : answer.pods) {
    lines.push_back(std::string(ToString(pod.origin)) + ' ' + pod.name +
                    (pod.node.empty() ? ": " + pod.why : " on " + pod.node));
  }
  return lines;
}

TEST(SimulationTest, NewPodsGoWhereThereIsRoom) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Annotation("berth.dev/price", "0.50").Build(), SmallNode("n2", "b").Build()};
  state.pods = {Share(Replica("old", "1500m").Node("n1"))};
  Additions additions;
  additions.pods = {New(Replica("x", "1")), New(Replica("y", "1")), New(Replica("z", "1"))};
  const Simulation answer = Simulated(state, additions);
  EXPECT_EQ(Said(answer),
            (std::vector<std::string>{"new x on n2", "new y on n2",
                                      "new z: 0/2 nodes are available: 2 Insufficient cpu. no new claims to "
                                      "deallocate, preemption: 0/2 nodes are available: 2 No preemption "
                                      "victims found for incoming pod."}));
  EXPECT_EQ(answer.PendingCount(), 1U);
  EXPECT_EQ(answer.zones, (std::map<std::string, std::size_t>{{"b", 2}}));
  const ClusterUse before = answer.use_before;
  const ClusterUse after = answer.use_after;
  EXPECT_EQ(before.used_nodes, 1U);
  EXPECT_EQ(after.used_nodes, 2U);
  EXPECT_EQ(before.cpu_milli, 1500);
  EXPECT_EQ(after.cpu_milli, 3500);
  EXPECT_EQ(after.cpu_milli_of, 4000);
  EXPECT_EQ(after.used_price_micro, 500'000);
}

TEST(SimulationTest, PodsOfARemovedNodeComeBackOrAreLost) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Build(), SmallNode("n2", "b").Build()};
  state.pods = {Share(Replica("web", "1").Node("n1")), Share(MakePod("bare").Node("n1")),
                Share(MakePod("agent").Node("n1").Controller("apps/v1", "DaemonSet", "agent")),
                Share(MakePod("etcd").Node("n1").Annotation("kubernetes.io/config.mirror", "x")),
                Share(Replica("going", "1").Node("n1").Deleted(kNow))};
  const Simulation answer = Simulated(state, {}, {"n1"});
  EXPECT_EQ(Said(answer), std::vector<std::string>{"displaced web on n2"});
  EXPECT_EQ(answer.pods.front().was_on, "n1");
  std::vector<std::string> lost;
  for (const LostPod& pod : answer.lost) lost.push_back(pod.name + ": " + pod.why);
  std::sort(lost.begin(), lost.end());
  EXPECT_EQ(lost, (std::vector<std::string>{"agent: a pod of a DaemonSet", "bare: it has no controller",
                                            "etcd: a static pod"}));
  EXPECT_EQ(answer.notes,
            std::vector<std::string>{"pods of the cluster that are being deleted, and are taken for gone: 1"});
  EXPECT_EQ(answer.nodes_after.size(), 1U);
}

std::shared_ptr<const api::Pod> WithClaim(PodBuilder pod, const std::string& claim) {
  return Share(pod.ResourceClaim({.name = "devices", .claim_name = claim, .template_name = {}}));
}

framework::AnyObject Decoded(framework::ObjectKind kind, std::string_view name, const std::string& text) {
  const auto element = api::ParseObject(name, text);
  BERTH_CHECK(element.ok(), text);
  return framework::DecodeObject(kind, *element).value();
}

framework::AnyObject Slice(const std::string& node) {
  return Decoded(framework::ObjectKind::kResourceSlice, "ResourceSlice",
                 R"({"metadata":{"name":")" + node + R"("},"spec":{"driver":"d","nodeName":")" + node +
                     R"(","pool":{"name":")" + node +
                     R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0"}]}})");
}

// A claim for one device, with the status `rest` if there is one.
framework::AnyObject Claim(const std::string& name, const std::string& rest = "") {
  return Decoded(framework::ObjectKind::kResourceClaim, "ResourceClaim",
                 R"({"metadata":{"name":")" + name + R"(","namespace":"default","resourceVersion":"7","uid":")" + name +
                     R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
                     R"("allocationMode":"ExactCount","count":1}}]}})" +
                     rest + "}");
}

// Two nodes, and a class of devices.
ClusterState StateForDevices() {
  ClusterState state;
  for (const std::string node : {"n1", "n2"})
    state.nodes.push_back(SmallNode(node, node).Allocatable("cpu", node == "n1" ? "2" : "4").Build());
  state.objects.push_back(Decoded(framework::ObjectKind::kDeviceClass, "DeviceClass",
                                  R"({"metadata":{"name":"gpu","uid":"c"},"spec":{}})"));
  return state;
}

// As the cluster's controller does it: the devices of a claim that nobody holds any more are free.
TEST(SimulationTest, ClaimsOfPodsThatAreGoneAreReleased) {
  ClusterState state = StateForDevices();
  const std::string holder = MakePod("holder-0").Build().metadata.uid;
  state.objects.insert(
      state.objects.end(),
      {Slice("n1"), Slice("n2"),
       Claim("shared",
             R"(,"status":{"reservedFor":[{"resource":"pods","name":"holder-0","uid":")" + holder +
                 R"("}],"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"n1","device":"d0"}]},)"
                 R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
                 R"("values":["n1"]}]}]}}})")});
  state.pods = {WithClaim(MakePod("holder-0").Node("n1"), "shared"), WithClaim(Replica("waits", "2"), "shared"),
                Share(Replica("fills", "1").Node("n1"))};
  ASSERT_EQ(Said(Simulated(state, {})).front().rfind("pending waits: 0/2 nodes", 0), 0U) << "its devices are on n1";
  const Simulation answer = Simulated(state, {}, {"n1"});
  std::vector<std::string> said = Said(answer);
  std::sort(said.begin(), said.end());
  EXPECT_EQ(said, (std::vector<std::string>{"displaced fills on n2", "pending waits on n2"}));
  ASSERT_EQ(answer.lost.size(), 1U);
  EXPECT_EQ(answer.lost.front().name, "holder-0");

  state.pods.front() = WithClaim(MakePod("holder-0").Node("n1").Deleted(kNow), "shared");
  EXPECT_EQ(Said(Simulated(state, {})), std::vector<std::string>{"pending waits on n2"}) << "that pod ends";
}

TEST(SimulationTest, APodThatMakesRoomLooksForAnotherPlace) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Build(), SmallNode("n2", "b").Allocatable("cpu", "1").Build()};
  state.pods = {Share(Replica("low", "1").Node("n1"))};
  Additions additions;
  additions.pods = {New(Replica("high", "2").Priority(100))};
  const Simulation answer = Simulated(state, additions);
  EXPECT_EQ(Said(answer), (std::vector<std::string>{"new high on n1", "evicted low on n2"}));
  ASSERT_EQ(answer.evictions.size(), 1U);
  EXPECT_EQ(answer.evictions.front(),
            (SimulatedEviction{{"ReplicaSet", "default", "web"}, "low", "n1", "default/high"}));
}

TEST(SimulationTest, PendingPodsOfTheClusterAreListedApart) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Build()};
  state.pods = {Share(Replica("waits", "3")), Share(MakePod("other").SchedulerName("mine"))};
  Additions additions;
  additions.nodes = {SmallNode("n2", "a").Allocatable("cpu", "8").Build()};
  const Simulation answer = Simulated(state, additions);
  EXPECT_EQ(Said(answer), std::vector<std::string>{"pending waits on n2"});
  EXPECT_EQ(answer.notes, std::vector<std::string>{
                              "pending pods of the cluster for whose scheduler the configuration has no profile: 1"});
  EXPECT_EQ(Simulated(state, {}).PendingCount(), 0U) << "it was pending before";
  EXPECT_EQ(Simulated(state, {}).WaitingCount(), 1U);
}

TEST(SimulationTest, APendingPodOfARemovedNodeIsCountedOnce) {
  // All of them go to n1 while it is there.
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Allocatable("cpu", "4").Build(), SmallNode("n2", "b").Build()};
  state.pods = {Share(Replica("web", "1500m")),
                Share(MakePod("bare").Request("cpu", "1500m").NodeSelector("topology.kubernetes.io/zone", "a")),
                Share(MakePod("agent")
                          .NodeSelector("topology.kubernetes.io/zone", "a")
                          .Controller("apps/v1", "DaemonSet", "agent")),
                Share(Replica("other", "500m").NodeSelector("topology.kubernetes.io/zone", "b"))};
  const Simulation answer = Simulated(state, {}, {"n1"});
  EXPECT_EQ(
      Said(answer),
      (std::vector<std::string>{
          "pending web on n2",
          "pending bare: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new "
          "claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
          "pending other on n2"}));
  for (const SimulatedPod& pod : answer.pods) EXPECT_EQ(pod.was_on, "") << pod.name;
  ASSERT_EQ(answer.lost.size(), 1U);
  EXPECT_EQ(answer.lost.front().name, "agent");
  EXPECT_EQ(answer.PendingCount(), 0U);
}

TEST(SimulationTest, AVolumeOfAClassThatWaitsIsProvisionedWhereThePodGoes) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Build(), SmallNode("n2", "b").Allocatable("cpu", "4").Build()};
  api::StorageClass storage_class;
  storage_class.metadata.name = "wait";
  storage_class.provisioner = "csi.example";
  storage_class.volume_binding_mode = "WaitForFirstConsumer";
  state.objects.emplace_back(std::make_shared<const api::StorageClass>(storage_class));
  for (const char* name : {"n1", "n2"}) {
    api::CsiNode csi;
    csi.metadata.name = name;
    csi.drivers.push_back({"csi.example", name, {"topology.kubernetes.io/zone"}, std::nullopt});
    state.objects.emplace_back(std::make_shared<const api::CsiNode>(csi));
  }
  api::PersistentVolumeClaim claim;
  claim.metadata.name = "data";
  claim.metadata.namespace_name = "default";
  claim.metadata.uid = "uid-data";
  claim.metadata.resource_version = "77";
  claim.storage_class_name = "wait";
  claim.requests = testing::Resources({{"storage", "1Gi"}});
  Additions additions;
  additions.objects.emplace_back(std::make_shared<const api::PersistentVolumeClaim>(claim));
  // The second follows the volume into its zone, where there is more room elsewhere.
  additions.pods = {New(Replica("first", "1").NodeSelector("topology.kubernetes.io/zone", "a").Claim("data")),
                    New(Replica("second", "1").Claim("data"))};
  EXPECT_EQ(Said(Simulated(state, additions)), (std::vector<std::string>{"new first on n1", "new second on n1"}));
}

TEST(SimulationTest, AClaimOfAClassThatDoesNotWaitIsBoundAtOnce) {
  ClusterState state;
  state.nodes = {SmallNode("n1", "a").Build()};
  api::StorageClass storage_class;
  storage_class.metadata.name = "now";
  storage_class.provisioner = "csi.example";
  api::PersistentVolumeClaim claim;
  claim.metadata.name = "data";
  claim.metadata.namespace_name = "default";
  claim.metadata.uid = "uid-data";
  claim.storage_class_name = "now";
  Additions additions;
  additions.objects = {std::make_shared<const api::StorageClass>(storage_class),
                       std::make_shared<const api::PersistentVolumeClaim>(claim)};
  additions.pods = {New(Replica("first", "1").Claim("data"))};
  EXPECT_EQ(Said(Simulated(state, additions)), std::vector<std::string>{"new first on n1"});
}

TEST(SimulationTest, ANodeThatIsNotThere) {
  ClusterState state;
  state.nodes = {SmallNode("worker-1", "a").Build()};
  const std::vector<std::string> removed = {"worker-2"};
  const auto answer = Simulate({state, {}, removed}, OptionsOf());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "there is no node \"worker-2\"; the nearest name is \"worker-1\"");
}

// Enough pods for groups, for a report of each kind.
Simulation Many(const std::string& favourite) {
  Simulation answer;
  for (int i = 0; i < 12; ++i) {
    const std::string node = i < 2 ? favourite : "n" + std::to_string(i % 5);
    answer.pods.push_back(
        {PodOrigin::kNew, {"Deployment", "shop", "web"}, "web-" + std::to_string(i), node, "a", "", ""});
    ++answer.zones["a"];
    answer.nodes_after[node].pods += 1;
    answer.nodes_after[node].is_used = true;
    answer.nodes_after[node].zone = "a";
  }
  answer.nodes_before["n0"] = {};
  answer.use_before = Sum(answer.nodes_before);
  answer.use_after = Sum(answer.nodes_after);
  answer.pods.push_back(
      {PodOrigin::kNew, {"Job", "shop", "x"}, "x-1", "", "", std::string(60, 'w') + ' ' + std::string(60, 'z'), ""});
  answer.notes = {"something"};
  return answer;
}

TEST(SimulationReportTest, GroupsByWorkload) {
  EXPECT_EQ(SimulationText(Many("n9"), {}), R"(WORKLOAD              ORIGIN   PODS   PENDING   NODES
Deployment shop/web   new        12         0   6 nodes, 2 each
Job shop/x            new         1         1   <none>

1 pod of Job shop/x stays pending:
  )" + std::string(60, 'w') + "\n  " + std::string(60, 'z') +
                                                R"(

CLUSTER            BEFORE   AFTER
nodes                   1       6
nodes in use            0       6
pods on nodes           0      12
CPU requested           -       -
memory requested        -       -

  zones: a 12

note: something
)");
}

TEST(SimulationReportTest, WideHasEachPodAndEachNodeThatChanges) {
  const std::string text = SimulationText(Many("n9"), {.is_wide = true, .has_color = false, .width = 0});
  EXPECT_NE(text.find("shop/web-11   new      n1       a\n"), std::string::npos) << text;
  EXPECT_NE(text.find("n9     a      - -> 2"), std::string::npos) << text;
}

TEST(SimulationReportTest, NoLineIsWiderThanAsked) {
  Simulation answer = Many(std::string(80, 'n'));
  answer.pods.back().workload.name = std::string(90, 'j');
  const std::string text = SimulationText(answer, {});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find("pending:") == std::string::npos) {
      EXPECT_LE(line.size(), 110U) << line;
    }
    at = end + 1;
  }
}

TEST(SimulationReportTest, PlacementsThatDifferAreCountedByWorkload) {
  const Simulation a = Many("n9");
  Simulation b = Many("n9");
  EXPECT_EQ(CountElsewhere(a, b), 0U);
  std::swap(b.pods[0].node, b.pods[3].node);
  EXPECT_EQ(CountElsewhere(a, b), 0U) << "pods of one workload are equal";
  EXPECT_NE(ComparisonText({"one", a}, {"other", b}, {}).find("No placement differs."), std::string::npos);
  b.pods[0].node = "n8";
  EXPECT_EQ(CountElsewhere(a, b), 1U);
  const std::string text = ComparisonText({"one", a}, {"other", b}, {});
  EXPECT_NE(text.find("Deployment shop/web     12           1   6 nodes, 2 each"), std::string::npos) << text;
  const auto json = ComparisonJson({"one", a}, {"other", b}, {});
  EXPECT_EQ(json.at("elsewhere"), 1);
  EXPECT_EQ(json.at("simulations").at(1).at("pods").at(0).at("node"), "n8");
  EXPECT_EQ(json.at("simulations").at(0).at("pending"), 1);
}

}  // namespace
}  // namespace berth::whatif
