// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/buy_answer.h"

#include <gtest/gtest.h>

namespace berth::answers {
namespace {

buy::NodeCatalogue Catalogue() {
  auto catalogue = buy::ReadCatalogue(R"(
shapes:
- name: m7.large
  cpu: 2
  memory: 8Gi
  price: 0.10
  zones: [a]
  capacityType: spot
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  taints: [{key: dedicated, value: web, effect: NoSchedule}]
  machineDeployment: {name: workers, namespace: infra, replicas: 4}
- {name: plain, cpu: 2, memory: 8Gi, price: 0.20}
)");
  EXPECT_TRUE(catalogue.ok()) << catalogue.error().message;
  return std::move(*catalogue);
}

buy::PurchasePlan Plan() {
  buy::PurchasePlan plan;
  plan.nodes.push_back({"m7.large-new-1",
                        0,
                        "a",
                        100'000,
                        {{{"Deployment", "shop", "web"}, 3}},
                        1,
                        1500,
                        2000,
                        1 << 30,
                        std::int64_t{8} << 30});
  plan.price_micro = 100'000;
  plan.bound_micro = 95'000;
  plan.second = buy::OtherPlan{"1 plain", 200'000};
  plan.pods.push_back({"shop/web-1", {"Deployment", "shop", "web"}, false, "m7.large-new-1", true});
  plan.left.push_back(
      {{"Deployment", "shop", "huge"}, "shop/huge-1", 2, "no shape takes it: 2 shapes: Insufficient cpu", true});
  plan.pods_on_new = 3;
  return plan;
}

TEST(BuyLines, SaysFirstWhatNoShapeTakes) {
  const auto lines = BuyLines(Plan(), Catalogue(), false, {false, 0});
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "2 pods of Deployment shop/huge stay pending: no shape takes it: 2 shapes: Insufficient cpu",
                "",
                "Buy 1 node for 0.10 an hour; no plan costs less than 0.095 (5.0 % less). 3 pods go to new nodes, 0",
                "to nodes that are there, 2 to none.",
                "",
                "NODE             ZONE   TYPE   PRICE   CPU   MEMORY   FOR",
                "m7.large-new-1   a      spot    0.10   75%      13%   3 Deployment shop/web",
                "",
                "The second-best plan costs 0.20 an hour: 1 plain.",
            }));
}

TEST(BuyLines, NamesPodsThatTheApiServerRefuses) {
  buy::PurchasePlan plan = Plan();
  plan.refused.push_back({{"Deployment", "shop", "web"}, "shop/web-4", 2, "exceeded quota: q, requested: pods=1"});
  plan.refused.push_back({{"Pod", "shop", "one"}, "shop/one", 1, "failed quota: q: must specify cpu for: c"});
  const auto lines = BuyLines(plan, Catalogue(), false, {false, 0});
  ASSERT_GT(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            "2 pods of Deployment shop/web are refused by the API server: exceeded quota: q, requested: pods=1");
  EXPECT_EQ(lines[1], "Pod shop/one is refused by the API server: failed quota: q: must specify cpu for: c");
  EXPECT_EQ(lines[2], "");
  EXPECT_TRUE(lines[3].starts_with("2 pods of Deployment shop/huge stay pending"));
  const auto json = BuyJson(plan, Catalogue());
  EXPECT_EQ(json.at("refusedPods"), 3U);
  EXPECT_EQ(json.at("refused").at(0).at("pods"), 2U);
  EXPECT_EQ(json.at("refused").at(1).at("first").at("name"), "one");
  EXPECT_EQ(json.at("refused").at(1).at("reason"), "failed quota: q: must specify cpu for: c");
}

TEST(BuyJson, HasThePlan) {
  const auto json = BuyJson(Plan(), Catalogue());
  EXPECT_EQ(json.at("kind"), "Purchase");
  EXPECT_EQ(json.at("price"), "0.10");
  EXPECT_EQ(json.at("lowerBound"), "0.095");
  EXPECT_EQ(json.at("nodes").at(0).at("shape"), "m7.large");
  EXPECT_EQ(json.at("pods").at(0).at("node"), "m7.large-new-1");
  EXPECT_EQ(json.at("left").at(0).at("pods"), 2U);
  EXPECT_EQ(json.at("secondBest").at("shapes"), "1 plain");
  EXPECT_TRUE(json.at("nominated").is_null());
}

TEST(NodeClaims, AreWhatKarpenterReads) {
  const auto claims = NodeClaims(Plan(), Catalogue());
  ASSERT_TRUE(claims.ok()) << claims.error().message;
  ASSERT_EQ(claims->size(), 1U);
  const auto& claim = claims->at(0);
  EXPECT_EQ(claim.at("apiVersion"), "karpenter.sh/v1");
  EXPECT_EQ(claim.at("spec").at("nodeClassRef").at("kind"), "EC2NodeClass");
  EXPECT_EQ(claim.at("spec").at("requirements").at(0).at("values").at(0), "m7.large");
  EXPECT_EQ(claim.at("spec").at("requirements").at(2).at("values").at(0), "spot");
  EXPECT_EQ(claim.at("spec").at("taints").at(0).at("key"), "dedicated");
  buy::PurchasePlan other = Plan();
  other.nodes.front().shape = 1;
  EXPECT_EQ(NodeClaims(other, Catalogue()).error().message,
            "shapes[1].nodeClassRef: a NodeClaim needs it; want group, kind and name, as a NodePool has them");
}

TEST(MachineDeployments, HaveTheReplicasOfBeforeAndTheNewOnes) {
  const auto deployments = MachineDeployments(Plan(), Catalogue());
  ASSERT_EQ(deployments.size(), 1U);
  EXPECT_EQ(deployments.at(0).at("metadata").at("name"), "workers");
  EXPECT_EQ(deployments.at(0).at("spec").at("replicas"), 5);
}

}  // namespace
}  // namespace berth::answers
