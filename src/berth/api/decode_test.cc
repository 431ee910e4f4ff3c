// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::api {
namespace {

constexpr std::string_view kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "web-1", "namespace": "default", "uid": "u1", "resourceVersion": "42", "generation": 3,
    "labels": {"b": "2", "a": "1"}, "annotations": {"note": "x"},
    "creationTimestamp": "2024-05-06T07:08:09Z", "deletionTimestamp": "2024-05-06T08:00:00.5+01:00",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "o0"},
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o1", "controller": true}],
    "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}]
  },
  "spec": {
    "nodeName": "n1", "schedulerName": "berth", "priority": -5, "preemptionPolicy": "Never",
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, {"effect": "Odd"}],
    "containers": [{
      "name": "c", "image": "nginx", "resources": {"requests": {"memory": "1Gi", "cpu": "250m"}, "limits": {"cpu": "1"}},
      "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}, {"containerPort": 81}]
    }],
    "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": 0.5, "example.com/x": 2}}},
                       {"name": "j"}],
    "overhead": {"cpu": " 10m "}, "resources": {"requests": {"cpu": "2"}},
    "schedulingGates": [{"name": "g1"}, {"name": "g2"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "im", "image": {"reference": "quay.io/x:1"}}],
    "affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "z", "operator": "Near"}],
         "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 10, "preference": {"matchExpressions": [{"key": "y", "operator": "Exists"}]}}]}}
  },
  "status": {
    "phase": "Running", "nominatedNodeName": "n2", "startTime": "2024-05-06T07:08:10Z",
    "conditions": [{"type": "Ready", "status": "True"},
                   {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"},
                   {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
    "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "500m"}}},
                          {"name": "d", "ready": true}],
    "initContainerStatuses": [{"name": "i", "resources": {}}],
    "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "4"}
  }
})";

TEST(DecodePodTest, EveryField) {
  const auto decoded = DecodePod(kPod);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  const Pod& pod = **decoded;

  EXPECT_EQ(pod.metadata.name, "web-1");
  EXPECT_EQ(pod.metadata.namespace_name, "default");
  EXPECT_EQ(pod.metadata.uid, "u1");
  EXPECT_EQ(pod.metadata.resource_version, "42");
  EXPECT_EQ(pod.metadata.generation, 3);
  EXPECT_EQ(pod.metadata.labels, (StringMap{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(pod.metadata.annotations, (StringMap{{"note", "x"}}));
  EXPECT_EQ(FormatRfc3339(*pod.metadata.creation_time), "2024-05-06T07:08:09Z");
  EXPECT_EQ(FormatRfc3339Micro(*pod.metadata.deletion_time), "2024-05-06T07:00:00.500000Z");
  EXPECT_EQ(*pod.metadata.controller, (OwnerReference{"apps/v1", "ReplicaSet", "web", "o1"}));

  EXPECT_EQ(pod.spec.node_name, "n1");
  EXPECT_EQ(pod.spec.scheduler_name, "berth");
  EXPECT_EQ(pod.spec.priority, -5);
  EXPECT_EQ(pod.spec.preemption_policy, PreemptionPolicy::kNever);
  EXPECT_EQ(*pod.spec.node_selector.Find("disk"), "ssd");
  EXPECT_EQ(pod.spec.tolerations, (std::vector<Toleration>{{"k", "Exists", "", TaintEffect::kNoExecute},
                                                           {"", "", "", TaintEffect::kUnknown}}));
  ASSERT_EQ(pod.spec.containers.size(), 1U);
  const Container& container = pod.spec.containers[0];
  EXPECT_EQ(container.name, "c");
  EXPECT_EQ(container.image, "nginx");
  EXPECT_EQ(container.requests,
            (ResourceList{{"cpu", Quantity::FromMilli(250)}, {"memory", Quantity::FromValue(1 << 30)}}));
  EXPECT_EQ(container.ports, (std::vector<ContainerPort>{{8080, "10.0.0.1", "UDP"}, {0, "", ""}}));
  EXPECT_FALSE(container.restart_always);
  ASSERT_EQ(pod.spec.init_containers.size(), 2U);
  EXPECT_TRUE(pod.spec.init_containers[0].restart_always);
  EXPECT_EQ(pod.spec.init_containers[0].requests,
            (ResourceList{{"cpu", Quantity::FromMilli(500)}, {"example.com/x", Quantity::FromValue(2)}}));
  EXPECT_FALSE(pod.spec.init_containers[1].restart_always);
  EXPECT_EQ(pod.spec.overhead, (ResourceList{{"cpu", Quantity::FromMilli(10)}}));
  EXPECT_EQ(pod.spec.requests, (ResourceList{{"cpu", Quantity::FromValue(2)}}));
  EXPECT_EQ(pod.spec.scheduling_gates, (std::vector<std::string>{"g1", "g2"}));
  EXPECT_EQ(pod.spec.image_volumes, (std::vector<std::string>{"quay.io/x:1"}));

  ASSERT_TRUE(pod.spec.node_affinity && pod.spec.node_affinity->required);
  const NodeSelectorTerm& term = pod.spec.node_affinity->required->at(0);
  EXPECT_EQ(term.match_expressions, (std::vector<Requirement>{{"zone", SelectorOperator::kIn, {"a", "b"}},
                                                              {"z", SelectorOperator::kUnknown, {}, "Near"}}));
  EXPECT_EQ(term.match_fields, (std::vector<Requirement>{{"metadata.name", SelectorOperator::kIn, {"n1"}}}));
  EXPECT_EQ(pod.spec.node_affinity->preferred,
            (std::vector<PreferredSchedulingTerm>{{10, {{{"y", SelectorOperator::kExists, {}}}, {}}}}));

  EXPECT_EQ(pod.status.phase, PodPhase::kRunning);
  EXPECT_EQ(pod.status.nominated_node_name, "n2");
  EXPECT_EQ(FormatRfc3339(*pod.status.start_time), "2024-05-06T07:08:10Z");
  EXPECT_EQ(pod.status.conditions, (std::vector<PodCondition>{{"PodScheduled", "False", "Unschedulable", "0/1 nodes"},
                                                              {"PodResizePending", "True", "Infeasible", ""}}));
  EXPECT_EQ(pod.status.FindCondition("PodScheduled")->message, "0/1 nodes");
  EXPECT_EQ(pod.status.FindCondition("Ready"), nullptr);
  const ResourceList half = {{"cpu", Quantity::FromMilli(500)}};
  const ResourceList one = {{"cpu", Quantity::FromValue(1)}};
  EXPECT_EQ(pod.status.container_statuses,
            (std::vector<ContainerStatus>{{"c", half, one}, {"i", ResourceList{}, std::nullopt}}));
  EXPECT_EQ(pod.status.pod_resources, (ContainerStatus{"", ResourceList{{"cpu", Quantity::FromValue(3)}},
                                                       ResourceList{{"cpu", Quantity::FromValue(4)}}}));
}

TEST(DecodePodTest, WhatIsAbsentStaysUnset) {
  for (const char* text :
       {R"({"metadata": {"name": "p"}})",
        R"({"metadata": {"name": "p", "labels": null, "creationTimestamp": null, "ownerReferences": null},
                               "spec": {"containers": null, "affinity": null, "priority": null, "nodeName": null,
                                        "schedulingGates": null, "volumes": null, "overhead": null},
                               "status": {"conditions": null, "startTime": null, "resources": null, "phase": null}})",
        R"({"metadata": {"name": "p"}, "spec": null, "status": null})"}) {
    const auto decoded = DecodePod(text);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ((*decoded)->spec, PodSpec{}) << text;
    EXPECT_FALSE((*decoded)->metadata.creation_time);
    EXPECT_EQ((*decoded)->status.phase, PodPhase::kUnknown);
    EXPECT_FALSE((*decoded)->status.pod_resources);
  }
}

TEST(DecodePodTest, KeepsWhatPluginsDecideBy) {
  struct Case {
    const char* name;
    const char* spec;
    std::string want;  // the decoded value
  };
  const auto kept = [](const PodSpec& spec) {
    std::string text;
    if (!spec.pod_affinity.empty() || !spec.pod_anti_affinity.empty()) text += "affinity ";
    if (!spec.topology_spread_constraints.empty()) text += "spread ";
    if (!spec.volumes.empty()) text += "volumes ";
    if (!spec.resource_claims.empty()) text += "claims ";
    if (!spec.host_users && spec.host_network) text += "host ";
    for (const auto* list : {&spec.init_containers, &spec.containers}) {
      for (const Container& container : *list) text += container.restarts_all_containers ? "restarts " : "";
    }
    return text;
  };
  const std::string affinity = "affinity ";
  const std::string volumes = "volumes ";
  const std::string declared = "host ";
  const Case cases[] = {
      {"pod affinity", R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}})",
       affinity},
      {"pod anti-affinity",
       R"({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}})", affinity},
      {"empty pod affinity",
       R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
                                              "podAntiAffinity": {}}})",
       {}},
      {"spread", R"({"topologySpreadConstraints": [{"maxSkew": 1}]})", "spread "},
      {"no spread", R"({"topologySpreadConstraints": []})", {}},
      {"claim volume", R"({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})", volumes},
      {"ephemeral volume", R"({"volumes": [{"name": "v", "ephemeral": {}}]})", volumes},
      {"disk", R"({"volumes": [{"name": "v", "gcePersistentDisk": {}}]})", volumes},
      {"disk that migrates", R"({"volumes": [{"name": "v", "cinder": {}}]})", volumes},
      {"null is no volume source", R"({"volumes": [{"name": "v", "rbd": null}]})", {}},
      {"volumes that do not matter",
       R"({"volumes": [{"name": "v", "configMap": {}}, {"name": "w", "hostPath": {}}, {"name": "x", "emptyDir": {}}]})",
       {}},
      {"resource claims", R"({"resourceClaims": [{"name": "r"}]})", "claims "},
      {"user namespace with host network", R"({"hostUsers": false, "hostNetwork": true})", declared},
      {"user namespace alone", R"({"hostUsers": false})", {}},
      {"host network alone", R"({"hostNetwork": true})", {}},
      {"restart rule", R"({"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]})",
       "restarts "},
      {"restart rule of an init container",
       R"({"initContainers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]})",
       "restarts "},
      {"other restart rule", R"({"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]})", {}},
  };
  for (const Case& c : cases) {
    const auto decoded = DecodePod(R"({"metadata": {"name": "p"}, "spec": )" + std::string(c.spec) + "}");
    ASSERT_TRUE(decoded.ok()) << c.name << ": " << decoded.error().message;
    EXPECT_EQ(kept((*decoded)->spec), c.want) << c.name;
  }
}

TEST(DecodePodTest, NodeAffinityKeepsAbsentAndEmptyApart) {
  const auto affinity = [](const std::string& text) {
    return (*DecodePod(R"({"metadata": {"name": "p"}, "spec": {"affinity": {"nodeAffinity": )" + text + "}}}"))
        ->spec.node_affinity;
  };
  EXPECT_FALSE(affinity("null"));
  EXPECT_FALSE(affinity("{}")->required);
  EXPECT_FALSE(affinity(R"({"requiredDuringSchedulingIgnoredDuringExecution": null})")->required);
  EXPECT_TRUE(
      affinity(R"({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}})")->required->empty());
}

TEST(DecodeNodeTest, EveryField) {
  const auto decoded = DecodeNode(std::string_view(R"({
    "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "PreferNoSchedule",
             "timeAdded": "2024-01-01T00:00:00Z"}]},
    "status": {"capacity": {"cpu": "x"}, "allocatable": {"pods": "110", "cpu": "3920m"},
      "images": [{"names": ["a:1", "a@sha"], "sizeBytes": 12345678901}, {"names": null}],
      "conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}],
      "declaredFeatures": ["f"]}})"));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  const Node& node = **decoded;
  EXPECT_EQ(node.metadata.name, "n1");
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints, (std::vector<Taint>{{"k", "v", TaintEffect::kPreferNoSchedule}}));
  EXPECT_EQ(node.allocatable, (ResourceList{{"cpu", Quantity::FromMilli(3920)}, {"pods", Quantity::FromValue(110)}}));
  EXPECT_EQ(node.images, (std::vector<ContainerImage>{{{"a:1", "a@sha"}, 12345678901}, {{}, 0}}));
  EXPECT_EQ(node.conditions,
            (std::vector<std::pair<std::string, std::string>>{{"DiskPressure", "False"}, {"Ready", "True"}}));
  EXPECT_EQ(node.declared_features, (std::vector<std::string>{"f"}));
}

TEST(DecodeNodeTest, WithoutAllocatableIsLegal) {
  const auto decoded = DecodeNode(std::string_view(R"({"metadata": {"name": "n1"}, "status": {}})"));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE((*decoded)->allocatable.empty());
}

TEST(DecodeTest, ErrorsNameObjectAndField) {
  const auto pod = [](std::string_view spec) {
    return R"({"spec": )" + std::string(spec) + R"(, "metadata": {"name": "web-1", "namespace": "default"}})";
  };
  struct Case {
    const char* name;
    std::string text;
    const char* want;
  };
  const Case cases[] = {
      {"quantity", pod(R"({"containers": [{"resources": {"requests": {"cpu": "1x"}}}]})"),
       "Pod default/web-1: spec.containers[0].resources.requests[cpu]: \"1x\" is no quantity: it must be a number and "
       "a suffix "
       "(such as 500m, 2, 1.5Gi or 1e3)"},
      {"quantity of another type", pod(R"({"overhead": {"cpu": true}})"),
       "Pod default/web-1: spec.overhead[cpu]: must be a quantity, not a boolean"},
      {"string", pod(R"({"nodeName": 5})"), "Pod default/web-1: spec.nodeName: must be a string, not a number"},
      {"array", pod(R"({"containers": {}})"), "Pod default/web-1: spec.containers: must be an array, not an object"},
      {"object", pod(R"({"containers": ["c"]})"),
       "Pod default/web-1: spec.containers[0]: must be an object, not a string"},
      {"boolean", pod(R"({"hostNetwork": "yes"})"),
       "Pod default/web-1: spec.hostNetwork: must be a boolean, not a string"},
      {"32 bits", pod(R"({"priority": 2147483648})"),
       "Pod default/web-1: spec.priority: must be a whole number of 32 bits, not 2147483648"},
      {"whole number", pod(R"({"priority": 1.5})"),
       "Pod default/web-1: spec.priority: must be a whole number of 64 bits"},
      {"label", R"({"metadata": {"name": "p", "labels": {"a": 1}}})",
       "Pod p: metadata.labels[a]: must be a string, not a number"},
      {"time", R"({"metadata": {"name": "p", "creationTimestamp": "yesterday"}})",
       "Pod p: metadata.creationTimestamp: \"yesterday\" is no RFC 3339 time"},
      {"kind", R"({"kind": "Service", "metadata": {"name": "p"}})", "Pod p: kind: must be Pod, not \"Service\""},
      {"no name", R"({"metadata": {}})", "Pod: metadata.name: is missing"},
      {"no object", "[]", "Pod: must be an object, not an array"},
      {"null", "null", "Pod: must be an object, not null"},
      {"no JSON", "{", "Pod: not valid JSON: "},
  };
  for (const Case& c : cases) {
    const auto decoded = DecodePod(c.text);
    ASSERT_FALSE(decoded.ok()) << c.name;
    EXPECT_EQ(decoded.error().message.substr(0, std::string(c.want).size()), c.want) << c.name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  }
  const auto node =
      DecodeNode(std::string_view(R"({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": ""}}})"));
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.error().message.substr(0, 50), "Node n: status.allocatable[cpu]: \"\" is no quantity");

  const auto large = DecodePod('"' + std::string(std::size_t{9} << 20, 'x') + '"');
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  const auto deep = DecodePod(std::string(100'000, '['));
  EXPECT_FALSE(deep.ok());
}

TEST(DecodeTest, NamesThatNoTableKnows) {
  // Unknown names that collide with known ones in length, first and last character, and empty names.
  const auto decoded = DecodePod(std::string_view(
      R"({"": 1, "sxxc": 1, "metadata": {"name": "p", "": 2, "nxxe": 3}, "spec": {"": [], "nxxxxxxe": 4, "nodeName": "n"}})"));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ((*decoded)->spec.node_name, "n");
}

TEST(DecodeTest, OfADoubledFieldTheLastWins) {
  const auto decoded = DecodePod(std::string_view(
      R"({"metadata": {"name": "p"}, "spec": {"overhead": {"cpu": "1", "cpu": "2"}, "schedulingGates": [{"name": "a"}],
          "schedulingGates": [{"name": "b"}], "priority": 5, "priority": null,
          "volumes": [{"name": "a", "ephemeral": {}}, {"image": {"reference": "x"}}],
          "volumes": [{"name": "b", "ephemeral": {}}]}})"));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ((*decoded)->spec.priority, std::nullopt);
  ASSERT_EQ((*decoded)->spec.volumes.size(), 1U);
  EXPECT_EQ((*decoded)->spec.volumes[0].name, "b");
  EXPECT_TRUE((*decoded)->spec.image_volumes.empty());
  EXPECT_EQ((*decoded)->spec.overhead, (ResourceList{{"cpu", Quantity::FromValue(2)}}));
  EXPECT_EQ((*decoded)->spec.scheduling_gates, (std::vector<std::string>{"b"}));
}

}  // namespace
}  // namespace berth::api
