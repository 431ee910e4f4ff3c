// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/catalogue_sources.h"

#include <gtest/gtest.h>

#include "berth/buy/node_catalogue.h"
#include "berth/codec/yaml_writer.h"
#include "berth/testing/builders.h"

namespace berth::buy {
namespace {

using testing::MakeNode;

// A draft is a catalogue that can be read.
NodeCatalogue Read(const CatalogueDraft& draft) {
  auto catalogue = ReadCatalogue(codec::WriteYaml(draft.document));
  EXPECT_TRUE(catalogue.ok()) << catalogue.error().message;
  return catalogue.ok() ? std::move(*catalogue) : NodeCatalogue();
}

TEST(CatalogueOfNodes, NodesAlikeAreOneShapeWithTheLeastAmounts) {
  const auto node = [](const std::string& name, const std::string& zone, const std::string& memory) {
    return MakeNode(name)
        .Label(kInstanceTypeLabel, "m7.large")
        .Label(kZoneLabel, zone)
        .Label("tier", "web")
        .Allocatable("memory", memory)
        .Taint("node.kubernetes.io/not-ready", "", api::TaintEffect::kNoSchedule)
        .Taint("dedicated", "web", api::TaintEffect::kNoExecute)
        .Build();
  };
  const auto draft = CatalogueOfNodes(
      {node("n1", "b", "7200Mi"), node("n2", "a", "7100Mi")},
      [](std::string_view type) { return type == "m7.large" ? std::optional<std::string>("0.1") : std::nullopt; });
  EXPECT_TRUE(draft.notes.empty());
  const NodeCatalogue catalogue = Read(draft);
  ASSERT_EQ(catalogue.shapes.size(), 1U);
  const CatalogueShape& shape = catalogue.shapes.front();
  EXPECT_EQ(shape.name, "m7.large");
  EXPECT_EQ(shape.price_micro, 100'000);
  EXPECT_EQ(shape.zones, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(api::FindResource(shape.node->allocatable, "memory")->Value(), std::int64_t{7100} << 20);
  EXPECT_EQ(*shape.node->metadata.labels.Find("tier"), "web");
  EXPECT_EQ(shape.node->metadata.labels.Find("kubernetes.io/hostname"), nullptr);
  ASSERT_EQ(shape.node->taints.size(), 1U);
  EXPECT_EQ(shape.node->taints.front().effect, api::TaintEffect::kNoExecute);
}

TEST(CatalogueOfNodes, TheAnnotationIsThePriceAndWhatHasNoneIsLeftOut) {
  const auto draft =
      CatalogueOfNodes({MakeNode("n1").Annotation("berth.dev/price", "0.2").Build(), MakeNode("n2").Build()},
                       [](std::string_view) { return std::nullopt; });
  ASSERT_EQ(draft.notes.size(), 1U);
  EXPECT_EQ(draft.notes.front(), "left out, nothing says what they cost: node n2");
  const NodeCatalogue catalogue = Read(draft);
  ASSERT_EQ(catalogue.shapes.size(), 1U);
  EXPECT_EQ(catalogue.shapes.front().price_micro, 200'000);
}

TEST(ReadNodes, ReadsWhatKubectlWrites) {
  const auto nodes = ReadNodes(R"({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n1"}}]})");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  EXPECT_EQ(nodes->front()->metadata.name, "n1");
  EXPECT_EQ(ReadNodes(R"({"items": [{"kind": "Pod"}]})").error().message,
            "items[0]: want an object of kind Node, as kubectl get nodes -o json writes it");
}

constexpr std::string_view kTypes = R"([
  {"name": "c-4x-amd64-linux", "architecture": "amd64", "operatingSystems": ["linux"],
   "resources": {"cpu": "4", "memory": "8Gi", "pods": "32", "ephemeral-storage": "20Gi"},
   "offerings": [
    {"Price": 0.04, "Available": true, "Requirements": [
      {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
      {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]}]},
    {"Price": 0.04, "Available": true, "Requirements": [
      {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
      {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-b"]}]},
    {"Price": 0.1, "Available": true, "Requirements": [
      {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
      {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]}]},
    {"Price": 0.01, "Available": false, "Requirements": []}]},
  {"name": "c-4x-arm64-linux", "architecture": "arm64", "operatingSystems": ["linux"],
   "resources": {"cpu": "4", "memory": "8Gi", "pods": "32"},
   "offerings": [{"Price": 0.03, "Requirements": []}]}])";

TEST(CatalogueOfNodePools, TakesWhatAPoolAllows) {
  const auto draft = CatalogueOfNodePools(R"(
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 100}
  template:
    metadata: {labels: {team: shop}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: topology.kubernetes.io/zone, operator: NotIn, values: [test-zone-c]}
      taints: [{key: dedicated, value: shop, effect: NoSchedule}]
)",
                                          kTypes);
  ASSERT_TRUE(draft.ok()) << draft.error().message;
  ASSERT_EQ(draft->notes.size(), 1U);  // the pool's limits
  const NodeCatalogue catalogue = Read(*draft);
  ASSERT_EQ(catalogue.shapes.size(), 2U);
  EXPECT_TRUE(catalogue.shapes[0].is_spot);
  EXPECT_EQ(catalogue.shapes[0].price_micro, 40'000);
  EXPECT_EQ(catalogue.shapes[0].zones, (std::vector<std::string>{"test-zone-a", "test-zone-b"}));
  EXPECT_FALSE(catalogue.shapes[1].is_spot);
  EXPECT_EQ(catalogue.shapes[0].node_class_kind, "KWOKNodeClass");
  EXPECT_EQ(*catalogue.shapes[0].node->metadata.labels.Find(kNodePoolLabel), "default");
  EXPECT_EQ(*catalogue.shapes[0].node->metadata.labels.Find("team"), "shop");
  EXPECT_EQ(catalogue.shapes[0].node->taints.size(), 1U);
}

TEST(CatalogueOfNodePools, SaysWhatIsWrong) {
  EXPECT_EQ(CatalogueOfNodePools("kind: Deployment", kTypes).error().message, "there is no NodePool");
  EXPECT_EQ(CatalogueOfNodePools("kind: NodePool", "{}").error().message, "instance types should be a list");
  EXPECT_EQ(CatalogueOfNodePools("kind: NodePool", "[{name: a}]").error().message,
            "[0]: want a map with name, resources and offerings");
}

}  // namespace
}  // namespace berth::buy
