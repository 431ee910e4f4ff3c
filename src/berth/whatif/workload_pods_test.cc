// SPDX-License-Identifier: Apache-2.0
// One template, one pod: whoever makes it.
#include "berth/whatif/workload_pods.h"

#include <gtest/gtest.h>

#include "berth/devcluster/controllers/daemon_set_decision.h"
#include "berth/devcluster/controllers/job_decision.h"
#include "berth/devcluster/controllers/stateful_set_decision.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/manifest_shapes.h"
#include "berth/whatif/replacement.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;

Manifests ManifestsOf(const std::string& text) {
  auto manifests = ReadManifests({{"x.yaml", text}}, "default");
  BERTH_CHECK(manifests.ok(), manifests.error().message);
  return std::move(*manifests);
}

ClusterState OneNode() {
  return StateOf({testing::MakeNode("a").Allocatable("cpu", "8").Allocatable("pods", "110")}, {});
}

// What a scheduler may look at, without what is a pod's own: its names, and those of its claims.
api::Pod Common(api::Pod pod) {
  const std::string name = pod.metadata.name;
  pod.metadata.name.clear();
  pod.metadata.uid.clear();
  pod.metadata.creation_time.reset();
  pod.status = {};
  for (api::Volume& volume : pod.spec.volumes) {
    if (volume.source.id.ends_with(name)) volume.source.id.resize(volume.source.id.size() - name.size());
  }
  return pod;
}

// As the embedded controller of the kind makes its first pod.
api::Pod OfController(const Manifest& manifest) {
  controllers::WorkloadView view;
  view.namespace_name = manifest.namespace_name;
  view.name = manifest.name;
  view.uid = OwnerUid(manifest.kind, manifest.namespace_name, manifest.name);
  view.generation = 1;
  view.spec = manifest.object.at("spec").as_object();
  if (const json::value* replicas = view.spec.if_contains("replicas")) view.replicas = replicas->as_int64();
  controllers::PodDecision decision;
  const auto node = testing::MakeNode("a").Build();
  if (manifest.kind == "Job") decision = controllers::DecideJob(view, {}, kNow);
  if (manifest.kind == "StatefulSet") decision = controllers::DecideStatefulSet(view, {}, kNow);
  if (manifest.kind == "DaemonSet") decision = controllers::DecideDaemonSet(view, {}, {node}, kNow);
  if (decision.pods.empty())
    decision.pods.push_back({"r-abcde", controllers::PodMaker(manifest.kind, view).Make("r-abcde")});
  const Manifests no_manifests;
  const ClusterState no_state;
  const AdmissionRules rules(no_manifests, no_state);
  const auto made = PodTemplate::Make(decision.pods.front().document, "", rules);
  BERTH_CHECK(made.ok(), made.error().message);
  return made->pod();
}

TEST(WorkloadPodsTest, AllMakeTheSamePod) {
  const std::string pod_template =
      "template: {metadata: {labels: {app: w}, annotations: {note: x}}, spec: {hostNetwork: true, volumes: [{name: "
      "tmp, "
      "emptyDir: {}}], tolerations: [{key: gpu, operator: Exists}], containers: [{name: c, image: i, resources: "
      "{requests: "
      "{cpu: 1}}}]";
  const std::string selector = "selector: {matchLabels: {app: w}}, ";
  const std::vector<std::string> texts = {
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w}, spec: {" + selector + pod_template + "}}}}",
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: w}, spec: {serviceName: s, " + selector +
          "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: "
          "{storage: 1Gi}}}}], " +
          pod_template + "}}}}",
      "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: w}, spec: {" + selector + pod_template + "}}}}",
      "{apiVersion: batch/v1, kind: Job, metadata: {name: w}, spec: {" + pod_template + ", restartPolicy: Never}}}}",
      "{apiVersion: batch/v1, kind: Job, metadata: {name: w}, spec: {completions: 3, parallelism: 2, completionMode: "
      "Indexed, " +
          pod_template + ", restartPolicy: Never}}}}",
  };
  for (const std::string& text : texts) {
    const Manifests manifests = ManifestsOf(text);
    const ClusterState state = OneNode();
    const api::Pod want = Common(OfController(manifests.documents[0]));

    const auto added = MakeAdditions(manifests, state, {.now = kNow});
    ASSERT_TRUE(added.ok()) << added.error().message;
    ASSERT_FALSE(added->pods.empty()) << text;
    EXPECT_EQ(Common(*added->pods[0].model), want) << text;

    const auto shapes = ShapesOfManifests(manifests, state, kNow);
    ASSERT_TRUE(shapes.ok()) << shapes.error().message;
    const Shape& shape = shapes->shapes[0];
    std::vector<framework::AnyObject> claims;
    api::Pod of_shape = shape.make ? *shape.make(0, claims) : shape.pod;
    if (shape.daemon) PinDaemonPod("a", of_shape);
    EXPECT_EQ(Common(of_shape), want) << text;
  }
}

TEST(WorkloadPodsTest, AReplacementIsThePodAgain) {
  const Manifests manifests = ManifestsOf(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {selector: {matchLabels: {app: w}}, "
      "template: "
      "{metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}");
  const auto cluster = ClusterOf(OneNode());
  const auto added = MakeAdditions(manifests, OneNode(), {.now = kNow});
  const auto shapes = ShapesOfManifests(manifests, OneNode(), kNow);
  ASSERT_TRUE(added.ok() && shapes.ok());
  const auto overlay = cluster->MakeOverlay();
  const auto class_of = [&](const api::Pod& pod) { return overlay->MakePod(pod)->pod_class; };
  const auto want = class_of(*added->pods[0].model);
  EXPECT_EQ(class_of(shapes->shapes[0].pod), want);
  api::Pod running = *added->pods[0].model;
  running.spec.node_name = "a";
  EXPECT_EQ(MakeReplacement(*overlay, running, "again").pod->pod_class, want);
  EXPECT_EQ(*added->pods[0].model->metadata.labels.Find("pod-template-hash"),
            *shapes->shapes[0].pod.metadata.labels.Find("pod-template-hash"));
}

TEST(WorkloadPodsTest, ANewPausedDeploymentHasNoPods) {
  const std::string text =
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {paused: true, replicas: 3, selector: "
      "{matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}}}";
  const auto added = MakeAdditions(ManifestsOf(text), OneNode(), {.now = kNow});
  ASSERT_TRUE(added.ok()) << added.error().message;
  EXPECT_TRUE(added->pods.empty());
  EXPECT_EQ(added->notes, std::vector<std::string>{"Deployment default/w is paused: it has no pods"});
  // One that has pods is scaled all the same.
  ClusterState state = OneNode();
  state.pods.push_back(std::make_shared<const api::Pod>(RunningPod("w", "w-5c7-1", "a").Build()));
  EXPECT_EQ(MakeAdditions(ManifestsOf(text), state, {.now = kNow})->pods.size(), 2U);
}

TEST(WorkloadPodsTest, IndexesThatAreThereAreNotMadeAgain) {
  ClusterState state = OneNode();
  state.pods.push_back(std::make_shared<const api::Pod>(testing::MakePod("j-0-x")
                                                            .Label("batch.kubernetes.io/job-completion-index", "0")
                                                            .Controller("batch/v1", "Job", "j")
                                                            .Node("a")
                                                            .Build()));
  const auto added = MakeAdditions(
      ManifestsOf(
          "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 3, parallelism: 3, "
          "completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"),
      state, {.now = kNow});
  ASSERT_TRUE(added.ok()) << added.error().message;
  std::string indexes;
  for (const NewPod& pod : added->pods)
    indexes += *pod.model->metadata.labels.Find("batch.kubernetes.io/job-completion-index");
  EXPECT_EQ(indexes, "12");
}

}  // namespace
}  // namespace berth::whatif
