// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifest_shapes.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/whatif/capacity.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

// "shop/web cpu=500 priority=0 app=web" of each shape, or the error.
std::string Said(const std::string& text, const ClusterState& state = {}) {
  const auto manifests = ReadManifests({{"x.yaml", text}}, "shop");
  if (!manifests.ok()) return manifests.error().message;
  const auto found = ShapesOfManifests(*manifests, state, kNow);
  if (!found.ok()) return found.error().message;
  std::string said;
  for (const Shape& shape : found->shapes) {
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

// --- How many of them fit ---

constexpr const char* kLocalVolumes = R"(
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: loc}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv0}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: loc, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}]}}}, status: {phase: Available}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv1}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: loc, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}]}}}, status: {phase: Available}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv2}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: loc, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [b]}]}]}}}, status: {phase: Available}}
---
)";
constexpr const char* kClaim =
    "{storageClassName: loc, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}";

constexpr const char* kDevices = R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a}, spec: {driver: d.example, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}, {name: d1}, {name: d2}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: b}, spec: {driver: d.example, nodeName: b, pool: {name: b, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}, {name: d1}, {name: d2}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}
---
)";

// "3 on 2" of one shape on the nodes a and b, or the error.
std::string Fits(const std::string& text, ClusterState state = {}) {
  for (const char* name : {"a", "b"}) {
    auto node = testing::MakeNode(name).Allocatable("cpu", "4").Allocatable("pods", "110");
    state.nodes.push_back(node.Label("kubernetes.io/hostname", name).Build());
  }
  const auto manifests = ReadManifests({{"x.yaml", text}}, "default");
  if (!manifests.ok()) return manifests.error().message;
  const auto found = ShapesOfManifests(*manifests, state, kNow);
  if (!found.ok()) return found.error().message;
  const auto cluster = ClusterOf(state);
  cluster->Add(found->objects);
  const auto count = [&] { return cluster->objects().Of<api::PersistentVolumeClaim>().size(); };
  const std::size_t claims_before = count();
  const auto capacity = MeasureCapacity(*cluster, found->shapes, {.pods_max = 50});
  EXPECT_EQ(count(), claims_before) << "all is taken back";
  if (!capacity.ok()) return capacity.error().message;
  return std::to_string(capacity->shapes[0].fits) + " on " + std::to_string(capacity->shapes[0].nodes.size());
}

TEST(ManifestShapesTest, CapacityCountsWhatControllersAddToPods) {
  const std::string container = "containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]";
  struct CountCase {
    const char* name;
    std::string text;
    const char* want;
  };
  const std::vector<CountCase> cases = {
      {"a Job's pods keep apart by the label that they get",
       "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, "
       "affinity: "
       "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
       "labelSelector: {matchLabels: {batch.kubernetes.io/job-name: j}}}]}}, " +
           container + "}}}}",
       "2 on 2"},
      {"a Deployment's by the hash of its template",
       "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {app: d}}, "
       "template: "
       "{metadata: {labels: {app: d}}, spec: {affinity: {podAntiAffinity: "
       "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, matchLabelKeys: "
       "[pod-template-hash], labelSelector: {matchLabels: {app: d}}}]}}, " +
           container + "}}}}",
       "2 on 2"},
      {"a DaemonSet has one on each node that its rules allow",
       "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {selector: {matchLabels: {app: d}}, "
       "template: "
       "{metadata: {labels: {app: d}}, spec: {" +
           container + "}}}}",
       "2 on 2"},
      {"a StatefulSet's pods take a volume each",
       std::string(kLocalVolumes) +
           "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: "
           "{matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: "
           "i}]}}, "
           "volumeClaimTemplates: [{metadata: {name: data}, spec: " +
           kClaim + "}]}}",
       "3 on 2"},
      {"as do pods with an ephemeral volume",
       std::string(kLocalVolumes) +
           "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: "
           "[{name: v, "
           "ephemeral: {volumeClaimTemplate: {spec: " +
           kClaim + "}}}]}}",
       "3 on 2"},
      {"pods of one claim are together, on the node of its volume",
       std::string(kLocalVolumes) +
           "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: " + kClaim +
           "}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, "
           "resources: "
           "{requests: {cpu: 1}}}], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}",
       "4 on 1"},
      {"each pod of a ResourceClaimTemplate has a device",
       std::string(kDevices) +
           "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: g, "
           "resourceClaimTemplateName: one}], containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]}}",
       "6 on 2"},
  };
  for (const CountCase& c : cases) EXPECT_EQ(Fits(c.text), c.want) << c.name;
}

TEST(ManifestShapesTest, ADaemonSetSaysWhichOfItsNodesHaveNoRoom) {
  ClusterState state =
      StateOf({testing::MakeNode("a").Allocatable("cpu", "1"), testing::MakeNode("b").Allocatable("cpu", "4"),
               testing::MakeNode("c").Allocatable("cpu", "4").Taint("t", "", api::TaintEffect::kNoSchedule),
               testing::MakeNode("d").Allocatable("cpu", "4")},
              {testing::MakePod("agent-x").Controller("apps/v1", "DaemonSet", "agent").Node("d")});
  const auto manifests = ReadManifests({{"x.yaml",
                                         "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: "
                                         "{selector: {matchLabels: {app: d}}, template: "
                                         "{metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i, "
                                         "resources: {requests: {cpu: 2}}}]}}}}"}},
                                       "default");
  ASSERT_TRUE(manifests.ok()) << manifests.error().message;
  const auto found = ShapesOfManifests(*manifests, state, kNow);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto cluster = ClusterOf(state);
  const auto capacity = MeasureCapacity(*cluster, found->shapes, {});
  ASSERT_TRUE(capacity.ok()) << capacity.error().message;
  const ShapeCapacity& shape = capacity->shapes[0];
  EXPECT_EQ(shape.fits, 1U) << "on b: d has one, c's taint is not tolerated";
  EXPECT_EQ(shape.daemon_nodes, 2U);
  ASSERT_TRUE(shape.refusal);
  EXPECT_EQ(shape.refusal->message, "no room on 1 of the 2 nodes that its rules allow; a: Insufficient cpu");
  EXPECT_THAT(shape.refusal->reasons, ::testing::ElementsAre(RefusalReason{"Insufficient cpu", "NodeResourcesFit", 1}));
}

}  // namespace
}  // namespace berth::whatif
