// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_plan.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "berth/buy/purchase_trial.h"
#include "berth/codec/json.h"
#include "berth/framework/object_kinds.h"
#include "berth/framework/objects.h"
#include "berth/testing/builders.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_templates.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::buy {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr std::string_view kTwoShapes = R"(
shapes:
- {name: small, cpu: 2, memory: 8Gi, pods: 20, price: 0.10, zones: [a, b]}
- {name: large, cpu: 8, memory: 32Gi, pods: 60, price: 0.36, zones: [a, b]}
)";

std::string Deployment(const std::string& name, int replicas, const std::string& cpu, const std::string& more = "") {
  return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
         "}\nspec:\n  replicas: " + std::to_string(replicas) + "\n  selector: {matchLabels: {app: " + name +
         "}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:\n" + more +
         "      containers:\n      - {name: c, image: i, resources: {requests: {cpu: " + cpu + ", memory: 100Mi}}}\n";
}

Expected<PurchasePlan> Plan(const whatif::ClusterState& state, const std::string& manifests, std::string_view catalogue,
                            const PurchaseOptions& options = {}, bool takes_pending = false) {
  auto cluster = whatif::OfflineCluster::Make(whatif::OptionsOf());
  BERTH_CHECK(cluster.ok());
  (*cluster)->Load(state);
  std::vector<whatif::ManifestFile> files;
  if (!manifests.empty()) files.push_back({"m.yaml", manifests});
  const auto read = whatif::ReadManifests(files, "default");
  BERTH_CHECK(read.ok(), read.error().message);
  const auto shapes = ReadCatalogue(catalogue);
  BERTH_CHECK(shapes.ok(), shapes.error().message);
  return PlanPurchase(**cluster, {state, *read, *shapes, takes_pending}, options);
}

PurchasePlan PlanOf(const whatif::ClusterState& state, const std::string& manifests, std::string_view catalogue,
                    const PurchaseOptions& options = {}, bool takes_pending = false) {
  auto plan = Plan(state, manifests, catalogue, options, takes_pending);
  BERTH_CHECK(plan.ok(), plan.error().message);
  return std::move(*plan);
}

std::set<std::string> ZonesOf(const PurchasePlan& plan) {
  std::set<std::string> zones;
  for (const NewNode& node : plan.nodes) zones.insert(node.zone);
  return zones;
}

TEST(PlanPurchase, BuysTheCheapestNodesThatTakeAllPods) {
  const PurchasePlan plan = PlanOf({}, Deployment("web", 8, "1"), kTwoShapes);
  // One large node for 0.36 or four small ones for 0.40.
  EXPECT_EQ(plan.price_micro, 360'000);
  ASSERT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.nodes.front().name, "large-new-1");
  EXPECT_EQ(plan.pods_on_new, 8U);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_EQ(plan.bound_micro, 360'000);
  ASSERT_TRUE(plan.second.has_value());
  EXPECT_EQ(plan.second->price_micro, 400'000);
  EXPECT_EQ(plan.second->shapes, "4 small");
  ASSERT_EQ(plan.nodes.front().pods.size(), 1U);
  EXPECT_EQ(plan.nodes.front().pods.front().first.name, "web");
}

TEST(PlanPurchase, FreeRoomCountsFirst) {
  const whatif::ClusterState state = whatif::StateOf({MakeNode("old").Allocatable("cpu", "4")}, {});
  const PurchasePlan plan = PlanOf(state, Deployment("web", 6, "1"), kTwoShapes);
  EXPECT_EQ(plan.price_micro, 100'000);
  EXPECT_EQ(plan.pods_on_existing + plan.pods_on_new, 6U);
  EXPECT_LE(*plan.bound_micro, plan.price_micro);
  EXPECT_TRUE(PlanOf(state, Deployment("web", 4, "1"), kTwoShapes).nodes.empty());
}

TEST(PlanPurchase, PendingPodsOfTheClusterAreAskedAboutOnRequest) {
  const whatif::ClusterState state =
      whatif::StateOf({}, {MakePod("waits").Request("cpu", "2").Controller("apps/v1", "ReplicaSet", "r")});
  EXPECT_EQ(PlanOf(state, "", kTwoShapes, {}, true).price_micro, 100'000);
  const PurchasePlan without = PlanOf(state, Deployment("web", 1, "1"), kTwoShapes);
  EXPECT_EQ(without.ignored_pending, 1U);
  EXPECT_EQ(without.pods.size(), 1U);
}

TEST(PlanPurchase, PodsThatNoShapeTakesAreNamedFirstAndTheRestIsPlanned) {
  const PurchasePlan plan = PlanOf({}, Deployment("web", 2, "1") + Deployment("huge", 3, "64"), kTwoShapes);
  EXPECT_EQ(plan.price_micro, 100'000);
  ASSERT_EQ(plan.left.size(), 1U);
  EXPECT_EQ(plan.left.front().workload.name, "huge");
  EXPECT_EQ(plan.left.front().count, 3U);
  EXPECT_TRUE(plan.left.front().fits_no_shape);
  EXPECT_EQ(plan.left.front().why, "no shape takes it: 2 shapes: Insufficient cpu");
  EXPECT_EQ(plan.bound_micro, 100'000);
}

TEST(PlanPurchase, TaintsAndLabelsOfShapesCount) {
  constexpr std::string_view kTainted = R"(
shapes:
- {name: cheap, cpu: 4, memory: 8Gi, price: 0.01, taints: [{key: gpu, effect: NoSchedule}]}
- {name: plain, cpu: 4, memory: 8Gi, price: 0.20}
- {name: ssd, cpu: 4, memory: 8Gi, price: 0.50, labels: {disk: ssd}}
)";
  EXPECT_EQ(PlanOf({}, Deployment("web", 1, "1"), kTainted).price_micro, 200'000);
  EXPECT_EQ(PlanOf({}, Deployment("web", 1, "1", "      nodeSelector: {disk: ssd}\n"), kTainted).price_micro, 500'000);
  EXPECT_EQ(PlanOf({}, Deployment("web", 1, "1", "      tolerations: [{key: gpu, operator: Exists}]\n"), kTainted)
                .price_micro,
            10'000);
}

TEST(PlanPurchase, DaemonSetsTakeTheirRoomOnEachNewNode) {
  // Each node has 500m for the agent, so that a small one takes one pod and a large one seven.
  const std::string agent = R"(---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 3, "1") + agent, kTwoShapes);
  EXPECT_EQ(plan.price_micro, 300'000);
  for (const NewNode& node : plan.nodes) EXPECT_EQ(node.daemon_pods, 1U);
}

TEST(PlanPurchase, HardSpreadingOverZonesIsKept) {
  const std::string spread = R"(      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 8, "1", spread), kTwoShapes);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_EQ(ZonesOf(plan), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(plan.price_micro, 400'000);  // two small ones in each zone
}

TEST(PlanPurchase, PodsThatExcludeEachOtherGetANodeEach) {
  const std::string apart = R"(      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: web}}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 3, "1", apart), kTwoShapes);
  EXPECT_EQ(plan.nodes.size(), 3U);
  EXPECT_EQ(plan.price_micro, 300'000);
  EXPECT_EQ(plan.LeftCount(), 0U);
}

TEST(PlanPurchase, WorkloadsThatExcludeEachOtherGetNodesOfTheirOwnAndTheBoundKnows) {
  const std::string apart = R"(      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}
)";
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  const PurchasePlan plan =
      PlanOf({}, Deployment("web", 3, "1", apart) + Deployment("api", 2, "500m", apart), kTwoShapes, options);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_EQ(plan.price_micro, 500'000);
  EXPECT_EQ(plan.bound_micro, 500'000);
  for (const NewNode& node : plan.nodes) EXPECT_EQ(node.pods.size(), 1U);
}

TEST(PlanPurchase, PodsAreToldNodesInZonesThatStayInStep) {
  // Pods of two sizes with one label spread over zones together, beside others that have the label and not the rule.
  const auto labelled = [](const std::string& name, int replicas, const std::string& cpu, bool is_bound) {
    std::string text = Deployment(name, replicas, cpu,
                                  is_bound ? R"(      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {tier: front}}
)"
                                           : "");
    for (std::size_t at = 0; (at = text.find("{app: ", at)) != std::string::npos; ++at)
      text.insert(at + 1, "tier: front, ");
    return text;
  };
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  const PurchasePlan plan =
      PlanOf({}, labelled("free", 7, "500m", false) + labelled("web", 9, "1", true) + labelled("api", 5, "250m", true),
             kTwoShapes, options);
  EXPECT_EQ(plan.LeftCount(), 0U);
  std::map<std::string, std::string> zone_of;
  for (const NewNode& node : plan.nodes) zone_of[node.name] = node.zone;
  std::map<std::string, int> pods;
  for (const PlannedPod& pod : plan.pods) ++pods[zone_of[pod.node]];
  EXPECT_LE(std::abs(pods["a"] - pods["b"]), 1);
}

TEST(PlanPurchase, PodsThatSpreadByTheLabelsOfOthersGetNodesInAZoneThatTakesThem) {
  const std::string in_a = "      nodeSelector: {topology.kubernetes.io/zone: a}\n";
  const std::string spread =
      "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {app: others}}}]\n";
  constexpr std::string_view kDearInB = R"(
shapes:
- {name: cheap, cpu: 2, memory: 8Gi, pods: 20, price: 0.10, zones: [a]}
- {name: dear, cpu: 2, memory: 8Gi, pods: 20, price: 0.30, zones: [b]}
)";
  const auto zone = [](std::string_view name, const std::string& in) {
    return MakeNode(std::string(name)).Allocatable("cpu", "100m").Label("topology.kubernetes.io/zone", in);
  };
  std::vector<testing::PodBuilder> running;
  for (const char* name : {"x", "y", "z"}) running.push_back(MakePod(name).Label("app", "others").Node("old-a"));
  const std::string pods = Deployment("spread", 2, "1", spread);
  for (const Placement placement : {Placement::kScheduler, Placement::kNominated}) {
    PurchaseOptions options;
    options.placement = placement;
    // The others are bought for, too, or there already.
    const PurchasePlan both =
        PlanOf(whatif::StateOf({zone("old-b", "b")}, {}), Deployment("others", 3, "1", in_a) + pods, kDearInB, options);
    EXPECT_EQ(both.LeftCount(), 0U);
    EXPECT_EQ(both.price_micro, 500'000);
    const PurchasePlan beside =
        PlanOf(whatif::StateOf({zone("old-a", "a"), zone("old-b", "b")}, running), pods, kDearInB, options);
    EXPECT_EQ(beside.LeftCount(), 0U);
    EXPECT_EQ(beside.price_micro, 300'000);
  }
}

TEST(PlanPurchase, NodesThatHelpNoPodAreGivenBackByTheProof) {
  const std::string racks =
      "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, "
      "labelSelector: "
      "{matchLabels: {app: racked}}}]\n";
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  const PurchasePlan plan =
      PlanOf({}, Deployment("web", 1, "1") + Deployment("racked", 2, "1", racks), kTwoShapes, options);
  // No node has the label. What the packing has for these pods is all that is bought in vain.
  EXPECT_EQ(plan.LeftCount(), 2U);
  EXPECT_LE(plan.nodes.size(), 2U);
}

TEST(PlanPurchase, ManyPodsWithoutRulesAreProvedByPatterns) {
  // More than the core may be asked about one by one: each node's pods are proved once for all nodes that are alike.
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  options.placements_max = 1'000;
  const PurchasePlan plan =
      PlanOf({}, Deployment("small", 3'000, "200m") + Deployment("wide", 60, "1500m"), kTwoShapes, options);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_EQ(plan.pods_on_new, 3'060U);
  EXPECT_FALSE(plan.is_cut_short);
  ASSERT_TRUE(plan.bound_micro.has_value());
  EXPECT_LE(plan.price_micro, *plan.bound_micro + 360'000);
  std::map<std::string, std::int64_t> milli;
  for (const PlannedPod& pod : plan.pods) milli[pod.node] += pod.workload.name == "wide" ? 1'500 : 200;
  for (const NewNode& node : plan.nodes) {
    EXPECT_EQ(milli[node.name], node.cpu_milli) << node.name;
    EXPECT_LE(node.cpu_milli, node.cpu_milli_of) << node.name;
  }
}

TEST(PlanPurchase, PodsThatWantToBeTogetherAreInOneZone) {
  const std::string together = R"(      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: topology.kubernetes.io/zone
            labelSelector: {matchLabels: {app: web}}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 12, "1", together), kTwoShapes);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_EQ(ZonesOf(plan).size(), 1U);
  EXPECT_EQ(plan.price_micro, 560'000);
}

// The large node costs least in zone a, which has a single one; all of them cost less in zone b.
TEST(PlanPurchase, PodsThatWantToBeTogetherAreInTheZoneThatIsCheapestForAll) {
  const std::string together = R"(      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 20, "1", together), R"(
shapes:
- {name: large, cpu: 8, memory: 64Gi, pods: 60, price: 21, zones: [a], max: 1}
- {name: large, cpu: 8, memory: 64Gi, pods: 60, price: 22, zones: [b]}
- {name: small, cpu: 4, memory: 32Gi, pods: 60, price: 12, zones: [a, b]}
)");
  EXPECT_EQ(plan.price_micro, 56'000'000) << "two large nodes and a small one";
  EXPECT_EQ(ZonesOf(plan), std::set<std::string>({"b"}));
  EXPECT_EQ(plan.LeftCount(), 0U);
}

TEST(PlanPurchase, ZonesAreThoseThatAreAskedFor) {
  PurchaseOptions options;
  options.zones = {"b"};
  EXPECT_EQ(ZonesOf(PlanOf({}, Deployment("web", 8, "1"), kTwoShapes, options)), (std::set<std::string>{"b"}));
  options.zones = {"c"};
  EXPECT_EQ(Plan({}, Deployment("web", 8, "1"), kTwoShapes, options).error().message,
            "the catalogue has no shape in zone \"c\"; the nearest is a");
}

TEST(PlanPurchase, NodesOfOnePriceAreSpreadOverZones) {
  constexpr std::string_view kSmall = "shapes: [{name: small, cpu: 2, memory: 8Gi, price: 0.1, zones: [a, b]}]";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 8, "1"), kSmall);
  std::map<std::string, int> zones;
  for (const NewNode& node : plan.nodes) ++zones[node.zone];
  EXPECT_EQ(zones, (std::map<std::string, int>{{"a", 2}, {"b", 2}}));
}

TEST(PlanPurchase, NoMoreNodesThanAreAllowed) {
  PurchaseOptions options;
  options.nodes_max = 1;
  const PurchasePlan plan = PlanOf({}, Deployment("web", 12, "1"), kTwoShapes, options);
  EXPECT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.LeftCount(), 4U);
  EXPECT_FALSE(plan.left.front().fits_no_shape);
  EXPECT_FALSE(plan.bound_micro.has_value());
}

TEST(PlanPurchase, ShapesOfWhichThereAreFewAreNotBoughtTwice) {
  constexpr std::string_view kFew = R"(
shapes:
- {name: bargain, cpu: 4, memory: 8Gi, price: 0.01, max: 1, zones: [a, b]}
- {name: usual, cpu: 4, memory: 8Gi, price: 0.20}
)";
  const PurchasePlan plan = PlanOf({}, Deployment("web", 8, "1"), kFew);
  EXPECT_EQ(plan.price_micro, 210'000);
}

TEST(PlanPurchase, SpotNodesHaveTheirShareOfTheCpu) {
  constexpr std::string_view kSpotAndNot = R"(
shapes:
- {name: m, cpu: 4, memory: 16Gi, price: 0.20, capacityType: on-demand}
- {name: m, cpu: 4, memory: 16Gi, price: 0.06, capacityType: spot}
)";
  PurchaseOptions options;
  EXPECT_EQ(PlanOf({}, Deployment("web", 16, "1"), kSpotAndNot, options).price_micro, 240'000);
  options.spot_share = 0.5;
  EXPECT_EQ(PlanOf({}, Deployment("web", 16, "1"), kSpotAndNot, options).price_micro, 520'000);
  options.spot_share = 0;
  EXPECT_EQ(PlanOf({}, Deployment("web", 16, "1"), kSpotAndNot, options).price_micro, 800'000);
}

TEST(PlanPurchase, OneNodeHasNoMoreOfAWorkloadThanMayBeInterrupted) {
  PurchaseOptions options;
  options.disruption_share = 0.25;
  const PurchasePlan plan = PlanOf({}, Deployment("web", 8, "1"), kTwoShapes, options);
  EXPECT_EQ(plan.LeftCount(), 0U);
  for (const NewNode& node : plan.nodes) EXPECT_LE(node.pods.front().second, 2U);
  EXPECT_EQ(plan.price_micro, 400'000);
}

TEST(PlanPurchase, PodsThatAreToldTheirNodesFillThemMoreClosely) {
  // Three large pods come after six small ones. The scheduler spreads the small ones over all nodes.
  constexpr std::string_view kOne = "shapes: [{name: four, cpu: 4, memory: 64Gi, price: 1}]";
  const std::string pods = Deployment("small", 6, "1") + Deployment("wide", 3, "3");
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  const PurchasePlan nominated = PlanOf({}, pods, kOne, options);
  EXPECT_EQ(nominated.price_micro, 4'000'000);
  EXPECT_EQ(nominated.LeftCount(), 0U);
  EXPECT_EQ(nominated.bound_micro, 4'000'000);
  const PurchasePlan plan = PlanOf({}, pods, kOne);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_GT(plan.price_micro, nominated.price_micro);
  ASSERT_TRUE(plan.nominated.has_value());
  EXPECT_EQ(plan.nominated->price_micro, 4'000'000);
}

TEST(PlanPurchase, NodesWhosePodsFitElsewhereMayGo) {
  const auto node = [](const std::string& name) {
    return MakeNode(name).Allocatable("cpu", "4").Annotation("berth.dev/price", "0.50");
  };
  const whatif::ClusterState state = whatif::StateOf({node("n1"), node("n2"), node("n3")},
                                                     {whatif::RunningPod("web", "web-1", "n1").Request("cpu", "1"),
                                                      whatif::RunningPod("web", "web-2", "n2").Request("cpu", "1"),
                                                      whatif::RunningPod("web", "web-3", "n3").Request("cpu", "1")});
  PurchaseOptions options;
  options.replaces = true;
  const PurchasePlan plan = PlanOf(state, "", kTwoShapes, options, true);
  // Two pods on one small node for 0.10 and one on another: all three go.
  EXPECT_EQ(plan.replaced.size(), 3U);
  EXPECT_EQ(plan.replaced_price_micro, 1'500'000);
  EXPECT_EQ(plan.price_micro, 200'000);
  for (const ReplacedNode& replaced : plan.replaced) {
    for (const auto& [pod, to] : replaced.moves)
      EXPECT_TRUE(std::ranges::any_of(plan.nodes, [&](const NewNode& each) { return each.name == to; })) << pod << to;
  }
}

TEST(PlanPurchase, ABareOrProtectedPodKeepsItsNode) {
  whatif::ClusterState state = whatif::StateOf(
      {MakeNode("n1").Annotation("berth.dev/price", "5"), MakeNode("n2").Annotation("berth.dev/price", "5")},
      {MakePod("bare").Node("n1").Request("cpu", "100m"),
       whatif::RunningPod("db", "db-1", "n2").Request("cpu", "100m")},
      {whatif::Budget("db", "db", 0)});
  PurchaseOptions options;
  options.replaces = true;
  const PurchasePlan plan = PlanOf(state, "", kTwoShapes, options, true);
  EXPECT_TRUE(plan.replaced.empty());
  EXPECT_TRUE(std::ranges::find(plan.notes, "a node stays: pod default/bare has no controller") != plan.notes.end());
  EXPECT_TRUE(std::ranges::find(plan.notes, "a node stays: a PodDisruptionBudget keeps pod default/db-1") !=
              plan.notes.end());
}

TEST(PlanPurchase, AMillionReplicasAreRefusedInOneLine) {
  const auto plan = Plan({}, Deployment("web", 1'000'000, "1"), kTwoShapes);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
}

TEST(PlanPurchase, AnInterruptedSearchSaysSo) {
  PurchaseOptions options;
  options.is_interrupted = [] { return true; };
  const PurchasePlan plan = PlanOf({}, Deployment("web", 30, "1"), kTwoShapes, options);
  EXPECT_TRUE(plan.is_interrupted);
}

TEST(PlanPurchase, PodsThatAQuotaRefusesAreNamedAndTheRestIsPlanned) {
  whatif::ClusterState state;
  state.admission.push_back({"ResourceQuota", "default", "cpu",
                             codec::json::parse(R"({"metadata":{"name":"cpu"},"status":{
      "hard":{"requests.cpu":"10"},"used":{"requests.cpu":"4"}}})")
                                 .as_object()});
  const PurchasePlan plan = PlanOf(state, Deployment("web", 8, "1") + Deployment("api", 1, "1"), kTwoShapes);
  ASSERT_EQ(plan.refused.size(), 2U);
  EXPECT_EQ(plan.refused[0].workload.name, "web");
  EXPECT_EQ(plan.refused[0].count, 2U);
  EXPECT_EQ(plan.refused[0].why,
            "exceeded quota: cpu, requested: requests.cpu=1, used: requests.cpu=10, limited: requests.cpu=10");
  EXPECT_EQ(plan.refused[1].workload.name, "api");
  EXPECT_EQ(plan.RefusedCount(), 3U);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_FALSE(plan.IsComplete());
  EXPECT_EQ(plan.pods.size(), 6U);
  EXPECT_EQ(plan.price_micro, 300'000);
}

framework::AnyObject ObjectOf(framework::ObjectKind kind, const std::string& text) {
  auto object = whatif::DecodeAny(kind, codec::json::parse(text).as_object());
  BERTH_CHECK(object.ok(), object.error().message);
  return std::move(*object);
}

TEST(PlanPurchase, ClaimsThatAreMadeOfATemplateAreThePodsOwn) {
  // A node with two devices, which nobody may use any more; new nodes are like it.
  whatif::ClusterState state = whatif::StateOf({MakeNode("gpus").Allocatable("cpu", "8").Unschedulable()}, {});
  state.objects.push_back(ObjectOf(framework::ObjectKind::kDeviceClass, R"({"metadata":{"name":"gpu"},"spec":{}})"));
  state.objects.push_back(ObjectOf(
      framework::ObjectKind::kResourceSlice,
      R"({"metadata":{"name":"gpus"},"spec":{"driver":"d","nodeName":"gpus","pool":{"name":"gpus","generation":1,
          "resourceSliceCount":1},"devices":[{"name":"d0"},{"name":"d1"}]}})"));
  const std::string manifests = R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
)" + Deployment("train", 5, "1", "      resourceClaims: [{name: device, resourceClaimTemplateName: one}]\n");
  constexpr std::string_view kLike = "shapes: [{name: gpu, cpu: 8, memory: 32Gi, price: 1, like: gpus}]";
  for (const Placement placement : {Placement::kScheduler, Placement::kNominated}) {
    PurchaseOptions options;
    options.placement = placement;
    const PurchasePlan plan = PlanOf(state, manifests, kLike, options);
    EXPECT_EQ(plan.LeftCount(), 0U) << (plan.left.empty() ? "" : plan.left.front().why);
    EXPECT_EQ(plan.nodes.size(), 3U) << "two devices each";
    EXPECT_EQ(plan.pods_on_new, 5U);
  }
}

TEST(PlanPurchase, PlansForMixedPodsHoldHoweverTiesFall) {
  // Small pods come first. Where equal nodes are filled in another order, a large one may find no room.
  const std::string pods =
      Deployment("small", 7, "750m") + Deployment("middle", 5, "1500m") + Deployment("wide", 3, "3");
  const PurchasePlan plan = PlanOf({}, pods, kTwoShapes);
  EXPECT_EQ(plan.LeftCount(), 0U);
  EXPECT_TRUE(std::ranges::none_of(plan.notes,
                                   [](const std::string& note) { return note.starts_with("the scheduler takes"); }));
}

TEST(PlanPurchase, AZoneIsNotOpenedForOnePodWhereOthersAreSpreadOverAllZones) {
  const auto rule = [](const std::string& kind, const std::string& app) {
    const std::string term =
        "topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: " + app + "}}";
    if (kind == "spread")
      return "      topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, " + term + "}]\n";
    return "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{" + term + "}]}}\n";
  };
  const whatif::ClusterState state =
      whatif::StateOf({MakeNode("old").Allocatable("cpu", "3").Label("topology.kubernetes.io/zone", "a")}, {});
  const std::string pods = Deployment("few", 3, "1250m", rule("spread", "few")) +
                           Deployment("apart", 10, "1500m", rule("apart", "apart")) +
                           Deployment("even", 11, "1250m", rule("spread", "even"));
  constexpr std::string_view kTinyInC = R"(
shapes:
- {name: large, cpu: 8, memory: 56Gi, pods: 30, price: 0.3618, zones: [a, b]}
- {name: tiny, cpu: 2, memory: 6Gi, pods: 30, price: 0.1188, zones: [a, b, c], max: 1}
)";
  PurchaseOptions options;
  options.placement = Placement::kNominated;
  const PurchasePlan plan = PlanOf(state, pods, kTinyInC, options);
  // With a node in c one more of those that want a zone each would have a place, and of the others two of 14.
  EXPECT_LE(plan.LeftCount(), 10U);
  EXPECT_EQ(ZonesOf(plan), (std::set<std::string>{"a", "b"}));
}

TEST(PurchaseTrial, TakesTheFirstOrTheLastOfEqualNodesByNameWhereItIsTold) {
  auto cluster = whatif::OfflineCluster::Make(whatif::OptionsOf());
  ASSERT_TRUE(cluster.ok());
  whatif::ClusterState state;
  for (const char* name : {"d", "a", "e", "b", "c"}) state.nodes.push_back(MakeNode(name).Build());
  (*cluster)->Load(state);
  const auto overlay = (*cluster)->MakeOverlay();
  const NodeCatalogue nothing_to_buy;
  const std::vector<Offer> offers;
  const std::vector<framework::AnyObject> objects;
  const PurchaseOptions options;
  const std::vector<whatif::NewPod> pods = {
      {std::make_shared<const api::Pod>(MakePod("p").Request("cpu", "1").Build()), "p"}};
  const PurchaseDemand demand(*overlay, nothing_to_buy, offers, objects, pods, {}, options);
  PurchaseTrial trial(*overlay, nothing_to_buy, offers, objects, demand);
  const auto node = [&](std::uint64_t ties) { return overlay->nodes().Info(trial.Run({}, ties).rows.front()).name(); };
  EXPECT_EQ(node(kFirstOfEqualNodes), "a");
  EXPECT_EQ(node(kLastOfEqualNodes), "e");
  std::set<std::string> drawn;
  for (std::uint64_t ties = 0; ties < 64; ++ties) drawn.insert(node(ties));
  EXPECT_EQ(drawn.size(), 5U);
}

TEST(PlanPurchase, ShapesThatAreLikeANodeHaveItsDevices) {
  const auto plan =
      Plan({}, Deployment("web", 1, "1"), "shapes: [{name: a, cpu: 4, memory: 1Gi, price: 1, like: nobody}]");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message, "shapes[0].like: there is no node \"nobody\"");
}

}  // namespace
}  // namespace berth::buy
