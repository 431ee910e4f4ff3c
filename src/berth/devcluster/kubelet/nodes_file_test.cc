// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/nodes_file.h"

#include <gtest/gtest.h>

namespace berth::kubelet {
namespace {

TEST(NodesFile, SaysWhatEachNodeIs) {
  const auto shapes = ParseNodesFile(R"(
nodes:
- name: gpu
  count: 3
  cpu: 32
  memory: 256Gi
  resources: {nvidia.com/gpu: 8}
  zones: [a, b]
  region: r
  price: 12.5
  labels: {tier: gpu}
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
- name: small
  cpu: 500m
)");
  ASSERT_TRUE(shapes.ok()) << shapes.error().message;
  ASSERT_EQ(shapes->size(), 4u);
  const NodeShape& second = (*shapes)[1];
  EXPECT_EQ(second.name, "gpu-2");
  EXPECT_EQ(second.cpu, "32");
  EXPECT_EQ(second.memory, "256Gi");
  EXPECT_EQ(second.pods, "110");
  EXPECT_EQ(second.resources.at("nvidia.com/gpu"), "8");
  EXPECT_EQ(second.zone, "b");
  EXPECT_EQ((*shapes)[2].zone, "a");
  EXPECT_EQ(second.region, "r");
  EXPECT_EQ(second.annotations.at("berth.dev/price"), "12.5");
  EXPECT_EQ(second.labels.at("tier"), "gpu");
  ASSERT_EQ(second.taints.size(), 1u);
  EXPECT_EQ(second.taints[0].value, "yes");
  EXPECT_EQ((*shapes)[3].name, "small");
  EXPECT_EQ((*shapes)[3].cpu, "500m");
}

TEST(NodesFile, OneLineForWhatIsWrong) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"{}", "it should hold one list, nodes, of at least one entry"},
      {"nodes: []", "it should hold one list, nodes, of at least one entry"},
      {"nodes: [{name: a}]\nmore: 1", "it should hold one list, nodes, of at least one entry"},
      {"nodes: [7]", "nodes[0]: it should be a map"},
      {"nodes: [{name: a, cpus: 4}]", "nodes[0]: \"cpus\" is nothing that a node has here; the nearest is cpu"},
      {"nodes: [{name: a, cpu: -4}]", "nodes[0].cpu: -4 is less than nothing; it should be 0 or more"},
      {"nodes: [{name: a, cpu: 0}]", "nodes[0].cpu: 0 should be above 0"},
      {"nodes: [{name: a, pods: 1.5}]", "nodes[0].pods: 1.5 is counted and should be a whole number"},
      {"nodes: [{name: a, resources: {nvidia.com/gpu: 0.5}}]",
       "nodes[0].resources.nvidia.com/gpu: 0.5 is counted and should be a whole number"},
      {"nodes: [{name: a}, {name: b, count: 0}]", "nodes[1].count: 0 should be 1 to 1000000"},
      {"nodes: [{name: a}, {name: a}]", "nodes[1].name: there are two nodes \"a\""},
      {"nodes: [{name: A_b}]", "nodes[0].name: \"A_b\" should be lower-case letters, digits, '-' and '.'"},
      {"nodes: [{name: a, price: -1}]", "nodes[0].price: -1 is less than nothing; it should be 0 or more"},
      {"nodes: [{name: a, zones: []}]", "nodes[0].zones: [] should be a list of zones"},
      {"nodes: [{name: a, taints: [{key: x, effect: Never}]}]",
       "nodes[0].taints[0]: effect \"Never\" should be NoSchedule, PreferNoSchedule or NoExecute"},
      {"nodes: [{name: a, labels: {x: \"a b\"}}]", "nodes[0].labels.x: \"a b\" is no value of a label"},
      {"nodes: [{name: a, count: 3}, {name: b, count: 999998}]", "nodes[1]: there are more than 1000000 nodes"},
  };
  for (const Case& c : cases) {
    const auto shapes = ParseNodesFile(c.text);
    ASSERT_FALSE(shapes.ok()) << c.text;
    EXPECT_EQ(shapes.error().message, c.want) << c.text;
  }
  EXPECT_NE(
      ParseNodesFile("nodes: [{name: a, memory: 32Gigs}]").error().message.find("nodes[0].memory: \"32Gigs\" is no"),
      std::string::npos);
}

}  // namespace
}  // namespace berth::kubelet
