// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifest_shapes.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::whatif {
namespace {

// "shop/web cpu=500 priority=0 app=web" of each shape, or the error.
std::string Said(const std::string& text, const ClusterState& state = {}) {
  const auto manifests = ReadManifests({{"x.yaml", text}}, "shop");
  if (!manifests.ok()) return manifests.error().message;
  const auto shapes = ShapesOfManifests(*manifests, state);
  if (!shapes.ok()) return shapes.error().message;
  std::string said;
  for (const Shape& shape : *shapes) {
    const api::Quantity* cpu = api::FindResource(shape.pod.spec.containers.front().requests, "cpu");
    const std::string* app = shape.pod.metadata.labels.Find("app");
    said += shape.name + " cpu=" + std::to_string(cpu == nullptr ? 0 : cpu->MilliValue()) +
            " priority=" + std::to_string(shape.pod.spec.priority.value_or(0)) + " app=" + (app ? *app : "") + "\n";
  }
  return said;
}

struct Case {
  const char* name;
  const char* text;
  const char* want;
};

TEST(ManifestShapesTest, Shapes) {
  const std::vector<Case> cases = {
      {"a pod, whose requests default to its limits",
       "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: w}}, spec: {containers: [{name: c, image: i, "
       "resources: {limits: {cpu: 500m}}}]}}",
       "shop/web cpu=500 priority=0 app=w\n"},
      {"a template with a priority class of the same files, and what makes no pods",
       "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: w}}, "
       "template: "
       "{metadata: {labels: {app: w}}, spec: {priorityClassName: high, containers: [{name: c, image: i, resources: "
       "{requests: {cpu: 2}}}]}}}}\n---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "
       "high}, "
       "value: 7}\n",
       "shop/web cpu=2000 priority=7 app=w\n"},
      {"nothing that makes pods", "{apiVersion: v1, kind: Namespace, metadata: {name: x}}",
       "there is no Pod in the manifests, and nothing that makes pods"},
  };
  for (const Case& c : cases) EXPECT_EQ(Said(c.text), c.want) << c.name;
  EXPECT_THAT(Said("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: []}}"),
              ::testing::StartsWith("x.yaml:1: Pod shop/web: spec.containers: "));
}

}  // namespace
}  // namespace berth::whatif
