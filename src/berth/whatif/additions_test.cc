// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/additions.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"
#include "berth/framework/object_kinds.h"
#include "berth/testing/builders.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/state_builder.h"

namespace berth::whatif {
namespace {

using testing::MakeNode;
using testing::MakePod;

const std::string kTemplate = R"(
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: i, resources: {limits: {cpu: "1"}}}]})";
const std::string kSelector = "\n  selector: {matchLabels: {app: x}}";

std::string Workload(const std::string& kind, const std::string& name, const std::string& spec) {
  return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:" + kSelector + kTemplate +
         spec;
}

Expected<Additions> Make(const std::string& text, const ClusterState& state = {}, const AdditionOptions& options = {}) {
  BERTH_ASSIGN_OR_RETURN(const Manifests manifests, ReadManifests({{"m.yaml", text}}, "shop"));
  return MakeAdditions(manifests, state, options);
}

std::vector<std::string> NamesOf(const Additions& additions) {
  std::vector<std::string> names;
  for (const NewPod& pod : additions.pods) names.push_back(pod.Key());
  return names;
}

TEST(AdditionsTest, ADeploymentsPodsAreItsReplicaSets) {
  const auto made = Make(Workload("Deployment", "web", "\n  replicas: 3"));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->pods.size(), 3U);
  const api::Pod& pod = *made->pods.front().model;
  ASSERT_TRUE(pod.metadata.controller);
  EXPECT_EQ(pod.metadata.controller->kind, "ReplicaSet");
  EXPECT_EQ(WorkloadOf(pod), (whatif::Workload{"Deployment", "shop", "web"}));
  EXPECT_TRUE(pod.metadata.name.starts_with(pod.metadata.controller->name + '-')) << pod.metadata.name;
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.spec.tolerations.size(), 2U) << "those of the admission plugin DefaultTolerationSeconds";
  ASSERT_EQ(pod.spec.containers.front().requests.size(), 1U) << "limits count as requests";
  ASSERT_EQ(made->objects.size(), 1U) << "the ReplicaSet, whose selector spreads pods";
  const auto again = Make(Workload("Deployment", "web", "\n  replicas: 3"));
  EXPECT_EQ(NamesOf(*again), NamesOf(*made));
}

TEST(AdditionsTest, OnlyTheReplicasThatLackAreAdded) {
  const std::string hash =
      Make(Workload("Deployment", "web", ""))->pods.front().model->metadata.labels.Find("pod-template-hash") ? "abc12"
                                                                                                             : "";
  ClusterState state;
  state.pods.push_back(std::make_shared<const api::Pod>(MakePod("web-abc12-1")
                                                            .Namespace("shop")
                                                            .Label("pod-template-hash", hash)
                                                            .Controller("apps/v1", "ReplicaSet", "web-abc12")
                                                            .Build()));
  const auto made = Make(Workload("Deployment", "web", "\n  replicas: 3"), state);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->pods.size(), 2U);
  EXPECT_EQ(made->notes,
            (std::vector<std::string>{"Deployment shop/web keeps the pods that it has (1); added: 2 of 3"}));
}

TEST(AdditionsTest, AStatefulSetHasOrdinalsAndClaims) {
  ClusterState state;
  state.pods.push_back(std::make_shared<const api::Pod>(
      MakePod("db-0").Namespace("shop").Controller("apps/v1", "StatefulSet", "db").Build()));
  const auto made = Make(Workload("StatefulSet", "db", R"(
  replicas: 3
  serviceName: db
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}})"),
                         state);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(NamesOf(*made), (std::vector<std::string>{"shop/db-1", "shop/db-2"}));
  ASSERT_EQ(made->pods.front().model->spec.volumes.size(), 1U);
  EXPECT_EQ(made->pods.front().model->spec.volumes.front().source.id, "data-db-1");
  std::vector<std::string> claims;
  for (const auto& object : made->objects) {
    if (framework::KindOf(object) == framework::ObjectKind::kPersistentVolumeClaim)
      claims.push_back(framework::KeyOf(object));
  }
  EXPECT_EQ(claims, (std::vector<std::string>{"shop/data-db-1", "shop/data-db-2"}));
}

TEST(AdditionsTest, ADaemonSetRunsWhereItIsTolerated) {
  ClusterState state;
  state.nodes = {MakeNode("a").Build(), MakeNode("b").Taint("gpu", "", api::TaintEffect::kNoSchedule).Build(),
                 MakeNode("c")
                     .Unschedulable()
                     .Taint("node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule)
                     .Build(),
                 MakeNode("gone").Build()};
  AdditionOptions options;
  options.removed_nodes = {"gone"};
  const auto made = Make(Workload("DaemonSet", "agent", ""), state, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<std::string> nodes;
  for (const NewPod& pod : made->pods) nodes.push_back(PinnedNode(*pod.model).value_or("none"));
  EXPECT_EQ(nodes, (std::vector<std::string>{"a", "c"}));
}

TEST(AdditionsTest, PodsThatShareAModelAreThosePods) {
  const std::string volumes = R"(
      volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}])";
  struct Case {
    std::string text;
    bool is_shared;
  };
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 3, completions: 3, ";
  const std::string of_job = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}";
  const std::vector<Case> cases = {
      {Workload("Deployment", "web", "\n  replicas: 3"), true},
      {Workload("ReplicaSet", "web", "\n  replicas: 3"), true},
      {job + of_job, true},
      {job + "completionMode: Indexed, " + of_job, false},
      {Workload("StatefulSet", "db", "\n  replicas: 3\n  serviceName: db"), false},
      {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:" + kSelector +
           "\n  replicas: 3\n  template:\n    metadata: {labels: {app: x}}\n    spec:\n      containers: [{name: c, "
           "image: "
           "i}]" +
           volumes,
       false},
  };
  AdditionOptions options;
  options.shares_models = true;
  for (const Case& each : cases) {
    // Two of them: the second one has a model of its own.
    const std::string text = each.text +
                             "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: "
                             "[{name: c, image: i}]}\n";
    const auto plain = Make(text);
    const auto shared = Make(text, {}, options);
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    ASSERT_TRUE(shared.ok()) << shared.error().message;
    ASSERT_EQ(plain->pods.size(), 4U);
    ASSERT_EQ(shared->pods.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const NewPod& pod = shared->pods[i];
      EXPECT_TRUE(*pod.Make() == *plain->pods[i].model) << pod.name;
      EXPECT_EQ(pod.Key(), plain->pods[i].Key());
      EXPECT_EQ(pod.Uid(), plain->pods[i].Uid());
    }
    EXPECT_EQ(shared->pods[0].model == shared->pods[2].model, each.is_shared) << text;
    EXPECT_NE(shared->pods[2].model, shared->pods[3].model);
    EXPECT_EQ(shared->objects.size(), plain->objects.size());
  }
}

TEST(AdditionsTest, AJobRunsAsManyAsItMayAtATime) {
  const auto made = Make(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 2, completions: 5, "
      "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->pods.size(), 2U);
  EXPECT_EQ(*made->pods.front().model->metadata.labels.Find("job-name"), "j");
  EXPECT_EQ(made->notes, (std::vector<std::string>{"Job shop/j: the first 2 of its 5 pods, as many as run at a time"}));
}

TEST(AdditionsTest, NodesLikeOneGetThePodsOfTheClustersDaemonSets) {
  ClusterState state;
  state.nodes = {MakeNode("n1")
                     .Label("zone", "a")
                     .Taint("node.kubernetes.io/not-ready", "", api::TaintEffect::kNoSchedule)
                     .Build()};
  api::Pod daemon = MakePod("agent-x").Node("n1").Controller("apps/v1", "DaemonSet", "agent").Build();
  PinDaemonPod("n1", daemon);
  state.pods.push_back(std::make_shared<const api::Pod>(daemon));
  AdditionOptions options;
  options.node_copies = 2;
  options.node_like = "n1";
  const auto made = MakeAdditions({}, state, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->nodes.size(), 2U);
  EXPECT_EQ(made->nodes[0]->metadata.name, "n1-new-1");
  EXPECT_EQ(*made->nodes[0]->metadata.labels.Find("zone"), "a");
  EXPECT_EQ(*made->nodes[0]->metadata.labels.Find("kubernetes.io/hostname"), "n1-new-1");
  EXPECT_TRUE(made->nodes[0]->taints.empty()) << "a taint of its life so far";
  ASSERT_EQ(made->daemon_pods.size(), 2U);
  EXPECT_EQ(PinnedNode(*made->daemon_pods[1]), "n1-new-2");
}

// What is read of a cluster with the objects, by a StateBuilder.
ClusterState ClusterWith(const std::vector<std::pair<std::string_view, std::string_view>>& objects) {
  StateBuilder builder;
  codec::JsonReader reader;
  for (const auto& [kind, object] : objects) EXPECT_TRUE(builder.Add(*KindNamed(kind), *reader.Parse(object)));
  return std::move(builder).Take();
}

TEST(AdditionsTest, PodsAreFilledInByTheCluster) {
  const ClusterState state = ClusterWith({
      {"PriorityClass", R"({"metadata":{"name":"high"},"value":9,"preemptionPolicy":"Never"})"},
      {"PriorityClass", R"({"metadata":{"name":"usual"},"value":3,"globalDefault":true,"description":"x"})"},
      {"RuntimeClass", R"({"metadata":{"name":"boxed"},"handler":"h","overhead":{"podFixed":{"cpu":"250m"}},
                           "scheduling":{"nodeSelector":{"boxes":"yes"}}})"},
      {"ResourceClaimTemplate", R"({"metadata":{"name":"gpu","namespace":"shop"},"spec":{"spec":{"devices":
          {"requests":[{"name":"r","exactly":{"deviceClassName":"gpus","allocationMode":"ExactCount","count":2}}]}}}})"},
      {"ResourceClaimTemplate", R"({"metadata":{"name":"gpu","namespace":"other"},"spec":{"spec":{}}})"},
  });
  const auto pod = [](const std::string& spec) {
    return "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]" + spec +
           "}";
  };
  const auto first = [&](const std::string& text) -> Expected<api::Pod> {
    BERTH_ASSIGN_OR_RETURN(const Additions made, Make(text, state));
    return *made.pods.front().model;
  };
  EXPECT_EQ(first(pod(", priorityClassName: high"))->spec.priority, 9);
  EXPECT_EQ(first(pod(""))->spec.priority, 3) << "the default class";
  EXPECT_EQ(first("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7" +
                  pod(", priorityClassName: high"))
                ->spec.priority,
            7)
      << "the manifest's goes before";
  const auto boxed = first(pod(", runtimeClassName: boxed"));
  ASSERT_TRUE(boxed.ok()) << boxed.error().message;
  EXPECT_EQ(api::FindResource(boxed->spec.overhead, "cpu")->MilliValue(), 250);
  EXPECT_EQ(*boxed->spec.node_selector.Find("boxes"), "yes");
  EXPECT_EQ(first(pod(", runtimeClassName: none")).error().message,
            "m.yaml:3: Pod shop/p: spec.runtimeClassName: pod rejected: RuntimeClass \"none\" not found");

  const auto claimed = Make(pod(", resourceClaims: [{name: g, resourceClaimTemplateName: gpu}]"), state);
  ASSERT_TRUE(claimed.ok()) << claimed.error().message;
  ASSERT_EQ(claimed->objects.size(), 1U);
  const auto& claim = *std::get<std::shared_ptr<const api::ResourceClaim>>(claimed->objects.front());
  EXPECT_EQ(claim.spec.requests.size(), 1U);
  EXPECT_EQ(claim.metadata.namespace_name, "shop");
  EXPECT_TRUE(claimed->notes.empty());
  const auto missing = Make(pod(", resourceClaims: [{name: g, resourceClaimTemplateName: tpu}]"), state);
  ASSERT_EQ(missing->notes.size(), 1U);
  EXPECT_EQ(missing->notes.front(), "Pod shop/p: ResourceClaimTemplate shop/tpu does not exist");
}

TEST(AdditionsTest, WhatCouldNotBeReadIsSaid) {
  ClusterState state;
  state.left_out = {"priorityclasses: forbidden: ...", "runtimeclasses: forbidden: ...",
                    "resourceclaimtemplates: forbidden: ..."};
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}], ";
  EXPECT_EQ(Make(pod + "priorityClassName: high}", state).error().message,
            "m.yaml:1: Pod shop/p: spec.priorityClassName: no PriorityClass with name high was found; the cluster's "
            "could not be read: add it with -f");
  const auto boxed = Make(pod + "runtimeClassName: boxed}", state);
  ASSERT_TRUE(boxed.ok()) << boxed.error().message;
  EXPECT_EQ(boxed->notes, std::vector<std::string>{"Pod shop/p: what RuntimeClass boxed adds to its pods is not "
                                                   "simulated, as the cluster's could not be read"});
  const auto claimed = Make(pod + "resourceClaims: [{name: g, resourceClaimTemplateName: gpu}]}", state);
  ASSERT_TRUE(claimed.ok()) << claimed.error().message;
  EXPECT_EQ(claimed->notes, std::vector<std::string>{"Pod shop/p: ResourceClaimTemplate shop/gpu is not known, as the "
                                                     "cluster's could not be read"});
}

TEST(AdditionsTest, PriorityClassesOfManifestsAreResolved) {
  const std::string pod =
      "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: high, "
      "containers: [{name: c, image: i}]}\n";
  const auto made =
      Make("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7" + pod);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->pods.front().model->spec.priority, 7);
  const auto missing = Make(pod);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            "m.yaml:3: Pod shop/p: spec.priorityClassName: no PriorityClass with name high was found");
}

TEST(AdditionsTest, ClaimsGetTheDefaultStorageClass) {
  const auto made = Make(
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast, annotations: "
      "{storageclass.kubernetes.io/is-default-class: \"true\"}}\nprovisioner: x\n---\napiVersion: v1\nkind: "
      "PersistentVolumeClaim\nmetadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: "
      "{storage: "
      "1Gi}}}\n");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto& claim = std::get<std::shared_ptr<const api::PersistentVolumeClaim>>(made->objects.back());
  EXPECT_EQ(claim->storage_class_name, "fast");
}

TEST(AdditionsTest, BadInput) {
  ClusterState state;
  state.pods.push_back(std::make_shared<const api::Pod>(MakePod("p").Namespace("shop").Build()));
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";
  EXPECT_EQ(Make(pod, state).error().message, "m.yaml:1: Pod shop/p: pod shop/p exists already");
  EXPECT_EQ(Make("apiVersion: v1\nkind: Node\nmetadata: {name: n9}\n").error().message,
            "m.yaml:1: Node n9: status.allocatable: Required value: what the node has, for example cpu: \"8\"");
  const std::string no_image =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: "
      "{restartPolicy: Never, containers: [{name: c}]}}}";
  EXPECT_EQ(Make(no_image).error().message,
            "m.yaml:1: Job shop/j: spec.template.spec.containers[0].image: Required value");
  AdditionOptions options;
  options.node_copies = 1;
  options.node_like = "n7";
  EXPECT_EQ(MakeAdditions({}, state, options).error().message, "there is no node \"n7\"");
}

}  // namespace
}  // namespace berth::whatif
