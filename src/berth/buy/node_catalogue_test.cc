// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_catalogue.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::buy {
namespace {

constexpr std::string_view kOne = R"(
shapes:
- name: m7.large
  cpu: 1930m
  memory: 7Gi
  pods: 29
  price: 0.1008
  zones: [b, a]
  region: west
  capacityType: spot
  max: 20
  labels: {tier: web}
  taints: [{key: dedicated, value: web, effect: NoSchedule}]
  resources: {nvidia.com/gpu: 1}
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  machineDeployment: {name: workers, namespace: infra, replicas: 4}
)";

TEST(ReadCatalogue, ReadsAllThatAShapeMayHave) {
  const auto catalogue = ReadCatalogue(kOne);
  ASSERT_TRUE(catalogue.ok()) << catalogue.error().message;
  ASSERT_EQ(catalogue->shapes.size(), 1U);
  const CatalogueShape& shape = catalogue->shapes.front();
  EXPECT_EQ(shape.name, "m7.large");
  EXPECT_EQ(shape.price_micro, 100'800);
  EXPECT_EQ(shape.zones, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(shape.is_spot);
  EXPECT_EQ(shape.count_max, 20);
  EXPECT_EQ(shape.node_class_kind, "EC2NodeClass");
  EXPECT_EQ(shape.machine_deployment, "workers");
  EXPECT_EQ(shape.machine_deployment_replicas, 4);
  const api::Node& node = *shape.node;
  EXPECT_EQ(api::FindResource(node.allocatable, "cpu")->MilliValue(), 1930);
  EXPECT_EQ(api::FindResource(node.allocatable, "nvidia.com/gpu")->Value(), 1);
  EXPECT_EQ(*node.metadata.labels.Find("tier"), "web");
  EXPECT_EQ(*node.metadata.labels.Find(kInstanceTypeLabel), "m7.large");
  EXPECT_EQ(*node.metadata.labels.Find(kCapacityTypeLabel), "spot");
  EXPECT_EQ(*node.metadata.labels.Find("kubernetes.io/os"), "linux");
  EXPECT_EQ(*node.metadata.annotations.Find("berth.dev/price"), "0.1008");
  ASSERT_EQ(node.taints.size(), 1U);
}

TEST(ReadCatalogue, SaysWhatIsWrongAndWhatWouldBeRight) {
  struct Case {
    std::string_view text;
    std::string_view want;
  };
  const Case cases[] = {
      {"{}", "it should hold one list, shapes, of at least one entry"},
      {"shapes: []", "it should hold one list, shapes, of at least one entry"},
      {"shapes: [7]", "shapes[0]: it should be a map"},
      {"shapes: [{cpu: 1, memory: 1Gi, price: 1}]", "shapes[0].name: it is missing"},
      {"shapes: [{name: A_b, cpu: 1, memory: 1Gi, price: 1}]",
       "shapes[0].name: \"A_b\" should be lower-case letters, digits, '-' and '.', as of a node"},
      {"shapes: [{name: a, memory: 1Gi, price: 1}]",
       "shapes[0].cpu: it is missing; want what pods can have of such a node"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi}]",
       "shapes[0].price: it is missing; want what such a node costs an hour"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: -1}]",
       "shapes[0].price: \"-1\" is no price: want a decimal number from 0 to 1000000000"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: -0.5}]", "shapes[0].price: "},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1$}]", "shapes[0].price: \"1$\" is no price: "},
      {"shapes: [{name: a, cpu: 1, memory: 1GB, price: 1}]", "shapes[0].memory: \"1GB\" is no quantity: "},
      {"shapes: [{name: a, cpu: -1, memory: 1Gi, price: 1}]", "shapes[0].cpu: -1 is less than nothing"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, colour: red}]",
       "shapes[0]: \"colour\" is nothing that a node has here; the nearest is "},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, count: 3}]",
       "shapes[0].count: it is not known here; max says"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, max: -3}]", "shapes[0].max: -3 should be 0 to 1000000"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, zones: [x, x]}]", "shapes[0].zones: \"x\" is there twice"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, capacityType: cheap}]",
       "shapes[0].capacityType: \"cheap\" should be spot, on-demand or reserved"},
      {"shapes: [{name: a, cpu: 1, memory: 1Gi, price: 1, nodeClassRef: x}]",
       "shapes[0].nodeClassRef: it should be a map with group, kind and name"},
  };
  for (const Case& each : cases) {
    const auto catalogue = ReadCatalogue(each.text);
    ASSERT_FALSE(catalogue.ok()) << each.text;
    EXPECT_EQ(catalogue.error().message.substr(0, each.want.size()), each.want) << catalogue.error().message;
  }
}

TEST(ReadCatalogue, HasBounds) {
  std::string many = "shapes:\n";
  for (std::size_t i = 0; i <= kShapesMax; ++i) many += "- {name: a, cpu: 1, memory: 1Gi, price: 1}\n";
  EXPECT_EQ(ReadCatalogue(many).error().message, "shapes: 10001 are more than 10000");
}

TEST(ReadCatalogue, SmallPricesAreReadAsTheyAreWritten) {
  const auto catalogue = ReadCatalogue("shapes: [{name: a, cpu: 1, memory: 1Gi, price: 0.000012}]");
  ASSERT_TRUE(catalogue.ok()) << catalogue.error().message;
  EXPECT_EQ(catalogue->shapes.front().price_micro, 12);
}

}  // namespace
}  // namespace berth::buy
