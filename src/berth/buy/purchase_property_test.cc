// SPDX-License-Identifier: Apache-2.0
// Random demands and catalogues: each plan is made real on another copy of the cluster and scheduled by the whole core,
// which must place every pod that the plan places; the lower bound is never above the price.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/buy/node_offers.h"
#include "berth/buy/purchase_plan.h"
#include "berth/testing/builders.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::buy {
namespace {

using testing::MakeNode;

struct Question {
  whatif::ClusterState state;
  std::string manifests;
  std::string catalogue;
};

std::string RuleOf(Random& random, const std::string& name) {
  const std::string selector = "labelSelector: {matchLabels: {app: " + name + "}}";
  switch (random.Below(8)) {
    case 0:
      return "      topologySpreadConstraints:\n      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
             "whenUnsatisfiable: DoNotSchedule, " +
             selector + "}\n";
    case 1:
      return "      topologySpreadConstraints:\n      - {maxSkew: 2, topologyKey: kubernetes.io/hostname, "
             "whenUnsatisfiable: DoNotSchedule, " +
             selector + "}\n";
    case 2:
      return "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
             "kubernetes.io/hostname, " +
             selector + "}]}}\n";
    case 3:
      return "      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
             "topology.kubernetes.io/zone, " +
             selector + "}]}}\n";
    case 4: return "      nodeSelector: {disk: ssd}\n";
    case 5: return "      tolerations: [{key: dedicated, operator: Exists}]\n";
    default: return "";
  }
}

Question QuestionOf(std::uint64_t seed) {
  Random random(seed);
  Question question;
  std::vector<testing::NodeBuilder> nodes;
  for (std::size_t i = 0; i < random.Below(4); ++i) {
    nodes.push_back(MakeNode("old-" + std::to_string(i))
                        .Label("topology.kubernetes.io/zone", random.Below(2) == 0 ? "a" : "b")
                        .Allocatable("cpu", std::to_string(1 + random.Below(6))));
  }
  question.state = whatif::StateOf(nodes, {});
  for (std::size_t i = 0; i < 1 + random.Below(5); ++i) {
    const std::string name = "app-" + std::to_string(i);
    question.manifests +=
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
        "}\nspec:\n  replicas: " + std::to_string(1 + random.Below(12)) + "\n  selector: {matchLabels: {app: " + name +
        "}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:\n" + RuleOf(random, name) +
        "      containers:\n      - {name: c, image: i, resources: {requests: {cpu: " +
        std::to_string(250 * (1 + random.Below(12))) + "m, memory: " + std::to_string(256 * (1 + random.Below(16))) +
        "Mi}}}\n";
  }
  question.catalogue = "shapes:\n";
  for (std::size_t i = 0; i < 2 + random.Below(6); ++i) {
    const std::uint64_t cpu = std::uint64_t{2} << random.Below(4);
    question.catalogue += "- {name: s" + std::to_string(i) + ", cpu: " + std::to_string(cpu) +
                          ", memory: " + std::to_string(cpu * (2 + random.Below(6))) + "Gi, pods: 30, price: 0." +
                          std::to_string(100 + cpu * 30 + random.Below(50)) +
                          (random.Below(2) == 0 ? ", zones: [a, b]" : ", zones: [a, b, c]") +
                          (random.Below(3) == 0 ? ", labels: {disk: ssd}" : "") +
                          (random.Below(5) == 0 ? ", taints: [{key: dedicated, value: x, effect: NoSchedule}]" : "") +
                          (random.Below(6) == 0 ? ", max: 1" : "") + "}\n";
  }
  return question;
}

void Check(std::uint64_t seed, Placement placement) {
  const std::string at = "seed " + std::to_string(seed);
  const Question question = QuestionOf(seed);
  const auto manifests = whatif::ReadManifests({{"m.yaml", question.manifests}}, "default");
  ASSERT_TRUE(manifests.ok()) << at << manifests.error().message;
  const auto catalogue = ReadCatalogue(question.catalogue);
  ASSERT_TRUE(catalogue.ok()) << at << catalogue.error().message << question.catalogue;
  const auto cluster = whatif::ClusterOf(question.state);
  PurchaseOptions options;
  options.placement = placement;
  options.placements_max = 20'000;
  options.packing_steps_max = 500'000;
  const auto plan = PlanPurchase(*cluster, {question.state, *manifests, *catalogue, false}, options);
  ASSERT_TRUE(plan.ok()) << at << plan.error().message;
  EXPECT_LE(plan->bound_micro.value_or(0), plan->price_micro) << at;
  std::set<std::string> names;
  for (const NewNode& node : plan->nodes) EXPECT_TRUE(names.insert(node.name).second) << at;

  // The same from the beginning, by the core with its queue and its binding cycles.
  const auto real = whatif::ClusterOf(question.state);
  const auto asked = MakeOffers(*catalogue, {}, *manifests, question.state, whatif::kNow);
  ASSERT_TRUE(asked.ok()) << at;
  for (const NewNode& node : plan->nodes) {
    const auto offer = std::ranges::find_if(
        asked->offers, [&](const Offer& each) { return each.shape == node.shape && each.zone == node.zone; });
    ASSERT_NE(offer, asked->offers.end()) << at;
    real->SetNode(NodeNamed(*offer, node.name));
  }
  real->Add(asked->additions.objects);
  std::map<std::string, const PlannedPod*> planned;
  for (const PlannedPod& pod : plan->pods) planned[pod.key] = &pod;
  for (const whatif::NewPod& pod : asked->additions.pods) {
    api::Pod fresh = *pod.Make();
    if (placement == Placement::kNominated) fresh.status.nominated_node_name = planned.at(whatif::KeyOf(fresh))->node;
    real->SetPod(std::move(fresh));
  }
  real->Run();
  std::size_t pending = 0;
  for (const whatif::NewPod& pod : asked->additions.pods) pending += real->NodeOf(pod.Uid()).empty() ? 1 : 0;
  EXPECT_EQ(pending, plan->LeftCount()) << at << "\n" << question.manifests << question.catalogue;
}

TEST(PlanPurchase, ThePlanHoldsWhenTheSchedulerPlacesThePods) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) Check(seed, Placement::kScheduler);
}

TEST(PlanPurchase, ThePlanHoldsWhenPodsAreNominated) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) Check(seed, Placement::kNominated);
}

}  // namespace
}  // namespace berth::buy
