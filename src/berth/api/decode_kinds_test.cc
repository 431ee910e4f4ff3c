// SPDX-License-Identifier: Apache-2.0
// The scheduling fields of pods, and kinds other than pods and nodes.
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "berth/api/decode.h"

namespace berth::api {
namespace {

template <typename T>
using DecodeFunction = Expected<std::shared_ptr<const T>> (*)(simdjson::dom::element);

template <typename T>
T Decoded(DecodeFunction<T> decode, std::string_view text) {
  const auto object = ParseObject("object", text);
  EXPECT_TRUE(object.ok()) << text;
  const auto decoded = decode(*object);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return decoded.ok() ? **decoded : T();
}

Pod PodOf(const std::string& spec, const std::string& status = "{}") {
  const auto pod = DecodePod(R"({"metadata": {"name": "p"}, "spec": )" + spec + R"(, "status": )" + status + "}");
  EXPECT_TRUE(pod.ok()) << pod.error().message;
  return pod.ok() ? **pod : Pod();
}

Requirement In(std::string key, std::string value) { return {std::move(key), SelectorOperator::kIn, {value}, {}}; }

TEST(DecodePodTest, PodAffinity) {
  const Pod pod = PodOf(R"({"affinity": {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
      {"topologyKey": "zone", "namespaces": ["a", "b"], "namespaceSelector": {},
       "labelSelector": {"matchExpressions": [{"key": "z", "operator": "Exists"}], "matchLabels": {"c": "d", "a": "b"}},
       "matchLabelKeys": ["merged"]},
      {"topologyKey": "host", "labelSelector": null}]},
    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
      {"weight": 7, "podAffinityTerm": {"topologyKey": "rack", "namespaceSelector": {"matchLabels": {"team": "x"}}}}]}}})");
  const LabelSelector selector{{In("a", "b"), In("c", "d"), {"z", SelectorOperator::kExists, {}, {}}}};
  const std::vector<PodAffinityTerm> required = {{selector, {"a", "b"}, LabelSelector{}, "zone"},
                                                 {std::nullopt, {}, std::nullopt, "host"}};
  EXPECT_EQ(pod.spec.pod_affinity, (PodAffinity{required, {}}));
  EXPECT_EQ(pod.spec.pod_anti_affinity,
            (PodAffinity{{}, {{7, {std::nullopt, {}, LabelSelector{{In("team", "x")}}, "rack"}}}}));
}

TEST(DecodePodTest, TopologySpread) {
  const Pod pod = PodOf(R"({"topologySpreadConstraints": [
    {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {},
     "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["k"]},
    {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule", "minDomains": null},
    {"whenUnsatisfiable": "Perhaps"}]})");
  using Action = UnsatisfiableConstraintAction;
  using Policy = NodeInclusionPolicy;
  const std::vector<TopologySpreadConstraint> want = {
      {2, "zone", Action::kScheduleAnyway, LabelSelector{}, 3, Policy::kIgnore, Policy::kHonor, {"k"}},
      {1, "host", Action::kDoNotSchedule, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}},
      {0, "", Action::kUnknown, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}}};
  EXPECT_EQ(pod.spec.topology_spread_constraints, want);
}

TEST(DecodePodTest, Volumes) {
  struct Case {
    const char* source;
    VolumeSource want;
  };
  const Case cases[] = {
      {R"("emptyDir": {})", {}},
      {R"("configMap": {"name": "c"}, "secret": null)", {}},
      {R"("persistentVolumeClaim": {"claimName": "c", "readOnly": true})",
       {VolumeKind::kPersistentVolumeClaim, "c", "", "", {}, true}},
      {R"("ephemeral": {"volumeClaimTemplate": {"spec": {}}})", {VolumeKind::kEphemeral, "", "", "", {}, false}},
      {R"("csi": {"driver": "d", "readOnly": false})", {VolumeKind::kCsi, "", "d", "", {}, false}},
      {R"("gcePersistentDisk": {"pdName": "d", "readOnly": true})",
       {VolumeKind::kGcePersistentDisk, "d", "", "", {}, true}},
      {R"("awsElasticBlockStore": {"volumeID": "d"})", {VolumeKind::kAwsElasticBlockStore, "d", "", "", {}, false}},
      {R"("iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0})", {VolumeKind::kIscsi, "i", "", "", {}, false}},
      {R"("rbd": {"monitors": ["m", "n"], "image": "i", "pool": "p"})",
       {VolumeKind::kRbd, "i", "", "p", {"m", "n"}, false}},
      {R"("azureDisk": {"diskName": "d", "diskURI": "u"})", {VolumeKind::kAzureDisk, "u", "", "", {}, false}},
      {R"("azureDisk": {"diskURI": "u", "kind": "Managed"})",
       {VolumeKind::kAzureDisk, "u", "", "", {}, false, "Managed"}},
      {R"("azureFile": {"shareName": "s", "secretName": "x"})", {VolumeKind::kAzureFile, "x#s", "", "", {}, false}},
      {R"("cinder": {"volumeID": "d"})", {VolumeKind::kCinder, "d", "", "", {}, false}},
      {R"("portworxVolume": {"volumeID": "d"})", {VolumeKind::kPortworx, "d", "", "", {}, false}},
      {R"("vsphereVolume": {"volumePath": "d"})", {VolumeKind::kVsphere, "d", "", "", {}, false}},
  };
  for (const Case& c : cases) {
    const Pod pod = PodOf(R"({"volumes": [{"name": "v", )" + std::string(c.source) + "}]}");
    std::vector<Volume> want;
    if (c.want.kind != VolumeKind::kOther) want.push_back({"v", c.want});
    EXPECT_EQ(pod.spec.volumes, want) << c.source;
  }
}

TEST(DecodePodTest, ClaimsAndTheRest) {
  const Pod pod = PodOf(R"({"hostNetwork": true, "hostUsers": false,
      "containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}],
      "resourceClaims": [{"name": "a", "resourceClaimName": "x"}, {"name": "b", "resourceClaimTemplateName": "t",
                          "resourceClaimName": null}]})",
                        R"({"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "p-b-1"}, {"name": "c"}],
      "extendedResourceClaimStatus": {"resourceClaimName": "e", "requestMappings": [
        {"containerName": "c", "resourceName": "a.b/c", "requestName": "r"}]}})");
  EXPECT_TRUE(pod.spec.host_network);
  EXPECT_FALSE(pod.spec.host_users);
  EXPECT_TRUE(pod.spec.containers.at(0).restarts_all_containers);
  EXPECT_EQ(pod.spec.resource_claims,
            (std::vector<PodResourceClaim>{{"a", "x", std::nullopt}, {"b", std::nullopt, "t"}}));
  EXPECT_EQ(pod.status.resource_claim_statuses,
            (std::vector<PodResourceClaimStatus>{{"b", "p-b-1"}, {"c", std::nullopt}}));
  EXPECT_EQ(pod.status.extended_resource_claim_status, (PodExtendedResourceClaimStatus{"e", {{"c", "a.b/c", "r"}}}));
}

TEST(DecodeKindsTest, PersistentVolume) {
  const auto volume = Decoded(DecodePersistentVolume, R"({"apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"name": "v", "labels": {"zone": "a"}},
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s",
      "volumeMode": "Block", "volumeAttributesClassName": "a", "persistentVolumeReclaimPolicy": "Delete",
      "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}},
      "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "n", "name": "c", "uid": "u"},
      "csi": {"driver": "d", "volumeHandle": "h", "readOnly": true}},
    "status": {"phase": "Bound"}})");
  EXPECT_EQ(*volume.metadata.labels.Find("zone"), "a");
  const NodeSelectorTerm term{{{"k", SelectorOperator::kExists, {}, {}}}, {}};
  const PersistentVolumeSpec want = {{{"storage", Quantity::FromValue(1 << 30)}},
                                     {"ReadWriteOnce"},
                                     "s",
                                     "Block",
                                     "a",
                                     std::vector<NodeSelectorTerm>{term},
                                     ClaimReference{"n", "c", "u"},
                                     {VolumeKind::kCsi, "h", "d", "", {}, true}};
  EXPECT_EQ(volume.spec, want);
  EXPECT_EQ(volume.phase, "Bound");

  const auto local = Decoded(DecodePersistentVolume, R"({"metadata": {"name": "v"}, "spec": {"local": {"path": "/x"},
    "nodeAffinity": {"required": {}}, "claimRef": null}})");
  EXPECT_EQ(local.spec.source.kind, VolumeKind::kLocal);
  EXPECT_EQ(local.spec.source.id, "/x");
  EXPECT_EQ(local.spec.node_affinity, std::vector<NodeSelectorTerm>());
  EXPECT_FALSE(local.spec.claim_ref);
}

TEST(DecodeKindsTest, PersistentVolumeClaim) {
  const auto claim = Decoded(DecodePersistentVolumeClaim, R"({"metadata": {"name": "c", "namespace": "n",
      "annotations": {"volume.kubernetes.io/selected-node": "x"}},
    "spec": {"storageClassName": "", "accessModes": ["ReadWriteOncePod"], "selector": {"matchLabels": {"a": "b"}},
      "resources": {"requests": {"storage": "5Gi"}, "limits": {}}, "volumeName": "v", "volumeMode": "Filesystem",
      "volumeAttributesClassName": "g"},
    "status": {"phase": "Bound"}})");
  EXPECT_EQ(claim.storage_class_name, "");
  EXPECT_EQ(claim.access_modes, std::vector<std::string>{"ReadWriteOncePod"});
  EXPECT_EQ(claim.selector, (LabelSelector{{In("a", "b")}}));
  EXPECT_EQ(claim.requests.at(0).second, Quantity::FromValue(std::int64_t{5} << 30));
  EXPECT_EQ(claim.volume_name, "v");
  EXPECT_EQ(claim.volume_mode, "Filesystem");
  EXPECT_EQ(claim.volume_attributes_class_name, "g");
  EXPECT_EQ(claim.phase, "Bound");
  EXPECT_FALSE(
      Decoded(DecodePersistentVolumeClaim, R"({"metadata": {"name": "c"}, "spec": {"storageClassName": null}})")
          .storage_class_name);
}

TEST(DecodeKindsTest, StorageAndCsi) {
  const auto storage_class = Decoded(DecodeStorageClass, R"({"metadata": {"name": "s"}, "provisioner": "p",
    "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
      {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}, {"key": "rack", "values": ["1"]}]}, {}]})");
  EXPECT_EQ(storage_class.provisioner, "p");
  EXPECT_EQ(storage_class.volume_binding_mode, "WaitForFirstConsumer");
  EXPECT_EQ(storage_class.allowed_topologies,
            (std::vector<std::vector<TopologySelectorRequirement>>{{{"zone", {"a", "b"}}, {"rack", {"1"}}}, {}}));

  const auto node = Decoded(DecodeCsiNode, R"({"metadata": {"name": "n"}, "spec": {"drivers": [
    {"name": "d", "nodeID": "i", "topologyKeys": ["z"], "allocatable": {"count": 5}}, {"name": "e", "allocatable": {}}]}})");
  EXPECT_EQ(node.drivers, (std::vector<CsiNodeDriver>{{"d", "i", {"z"}, 5}, {"e", "", {}, std::nullopt}}));

  EXPECT_EQ(
      Decoded(DecodeCsiDriver, R"({"metadata": {"name": "d"}, "spec": {"storageCapacity": true}})").storage_capacity,
      true);
  EXPECT_EQ(Decoded(DecodeCsiDriver, R"({"metadata": {"name": "d"}, "spec": {}})").storage_capacity, std::nullopt);

  const auto capacity = Decoded(DecodeCsiStorageCapacity, R"({"metadata": {"name": "c", "namespace": "n"},
    "storageClassName": "s", "nodeTopology": {"matchLabels": {"z": "a"}}, "capacity": "10Gi"})");
  EXPECT_EQ(capacity.storage_class_name, "s");
  EXPECT_EQ(capacity.node_topology, (LabelSelector{{In("z", "a")}}));
  EXPECT_EQ(capacity.capacity, Quantity::FromValue(std::int64_t{10} << 30));
  EXPECT_FALSE(capacity.maximum_volume_size);

  const auto attachment = Decoded(DecodeVolumeAttachment, R"({"metadata": {"name": "a"}, "spec": {"attacher": "d",
    "nodeName": "n", "source": {"persistentVolumeName": "v"}}})");
  EXPECT_EQ(attachment.attacher, "d");
  EXPECT_EQ(attachment.node_name, "n");
  EXPECT_EQ(attachment.persistent_volume_name, "v");
  EXPECT_FALSE(attachment.inline_volume_spec);
  EXPECT_EQ(Decoded(DecodeVolumeAttachment, R"({"metadata": {"name": "a"}, "spec": {"source": {
    "inlineVolumeSpec": {"gcePersistentDisk": {"pdName": "g"}}}}})")
                .inline_volume_spec->source.id,
            "g");
}

TEST(DecodeKindsTest, Workloads) {
  EXPECT_EQ(
      *Decoded(DecodeNamespace, R"({"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"finalizers": []}})")
           .metadata.labels.Find("a"),
      "b");
  EXPECT_EQ(Decoded(DecodeService, R"({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}})").selector,
            (StringMap{{"a", "b"}}));
  EXPECT_EQ(Decoded(DecodeService, R"({"metadata": {"name": "s"}, "spec": {"selector": {}}})").selector, StringMap());
  EXPECT_EQ(Decoded(DecodeService, R"({"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}})").selector,
            std::nullopt);
  EXPECT_EQ(
      Decoded(DecodeReplicationController, R"({"metadata": {"name": "r"}, "spec": {"selector": {"a": "b"}}})").selector,
      (StringMap{{"a", "b"}}));
  const char* set = R"({"metadata": {"name": "r"}, "spec": {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}}})";
  EXPECT_EQ(Decoded(DecodeReplicaSet, set).selector, (LabelSelector{{In("a", "b")}}));
  EXPECT_EQ(Decoded(DecodeStatefulSet, set).selector, (LabelSelector{{In("a", "b")}}));

  const auto budget = Decoded(DecodePodDisruptionBudget, R"({"metadata": {"name": "b"}, "spec": {"minAvailable": 1,
    "selector": {}}, "status": {"disruptionsAllowed": 2, "disruptedPods": {"y": "2026-01-01T00:00:00Z", "x": null}}})");
  EXPECT_EQ(budget.selector, LabelSelector());
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_EQ(budget.disrupted_pods, (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(Decoded(DecodePodDisruptionBudget, R"({"metadata": {"name": "b"}, "spec": {}})").selector);
}

TEST(DecodeKindsTest, ResourceSlice) {
  const auto slice = Decoded(DecodeResourceSlice, R"({"metadata": {"name": "s"}, "spec": {"driver": "d",
    "pool": {"name": "p", "generation": 4, "resourceSliceCount": 2}, "nodeName": "n",
    "sharedCounters": [{"name": "set", "counters": {"b": {"value": "2"}, "a": {"value": "1Gi"}}}],
    "devices": [{"name": "x", "attributes": {"v": {"version": "1.2.3"}, "i": {"int": 5}, "b": {"bool": true},
        "s": {"string": "t"}, "is": {"ints": [1, 2]}, "bs": {"bools": [true, false]}, "ss": {"strings": ["u"]},
        "vs": {"versions": ["2.0.0"]}, "odd": {"else": 1}},
      "capacity": {"mem": {"value": "8Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}},
                   "n": {"value": 3, "requestPolicy": {"default": "1", "validValues": ["1", "2"]}}},
      "consumesCounters": [{"counterSet": "set", "counters": {"a": {"value": "1Gi"}}}],
      "taints": [{"key": "k", "value": "w", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
      "bindsToNode": true, "bindingConditions": ["c"], "bindingFailureConditions": ["f"], "allowMultipleAllocations": true,
      "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "n", "allocationMultiplier": "2"}}},
     {"name": "y", "allNodes": true, "nodeSelector": {"nodeSelectorTerms": []}}]}})");
  EXPECT_EQ(slice.driver, "d");
  EXPECT_EQ(slice.pool_name, "p");
  EXPECT_EQ(slice.pool_generation, 4);
  EXPECT_EQ(slice.pool_slice_count, 2);
  EXPECT_EQ(slice.nodes, (DeviceNodes{"n", std::nullopt, false}));
  EXPECT_FALSE(slice.per_device_node_selection);
  const Quantity gi = Quantity::FromValue(1 << 30);
  EXPECT_EQ(slice.shared_counters, (std::vector<CounterSet>{{"set", {{"a", gi}, {"b", Quantity::FromValue(2)}}}}));
  ASSERT_EQ(slice.devices.size(), 2U);
  const Device& device = slice.devices[0];
  EXPECT_EQ(device.name, "x");
  const std::vector<std::pair<std::string, DeviceAttribute>> attributes = {
      {"b", true},
      {"bs", std::vector<bool>{true, false}},
      {"i", std::int64_t{5}},
      {"is", std::vector<std::int64_t>{1, 2}},
      {"odd", std::monostate()},
      {"s", std::string("t")},
      {"ss", std::vector<std::string>{"u"}},
      {"v", VersionValue{"1.2.3"}},
      {"vs", std::vector<VersionValue>{{"2.0.0"}}}};
  EXPECT_EQ(device.attributes, attributes);
  const CapacityRequestPolicy by_range{gi, {}, CapacityRequestRange{gi, std::nullopt, gi}};
  const CapacityRequestPolicy by_value{
      Quantity::FromValue(1), {Quantity::FromValue(1), Quantity::FromValue(2)}, std::nullopt};
  EXPECT_EQ(device.capacity.at(0).first, "mem");
  EXPECT_EQ(device.capacity.at(0).second.request_policy, by_range);
  EXPECT_EQ(device.capacity.at(1).second, (DeviceCapacity{Quantity::FromValue(3), by_value}));
  EXPECT_EQ(device.consumes_counters, (std::vector<CounterSet>{{"set", {{"a", gi}}}}));
  EXPECT_EQ(device.taints, (std::vector<DeviceTaint>{{"k", "w", "NoExecute"}}));
  EXPECT_TRUE(device.binds_to_node && device.allow_multiple_allocations);
  EXPECT_EQ(device.binding_conditions, std::vector<std::string>{"c"});
  EXPECT_EQ(device.binding_failure_conditions, std::vector<std::string>{"f"});
  EXPECT_EQ(device.node_allocatable_resource_mappings.at(0).second,
            (NodeAllocatableResourceMapping{"n", Quantity::FromValue(2)}));
  EXPECT_EQ(slice.devices[1].nodes, (DeviceNodes{std::nullopt, std::vector<NodeSelectorTerm>{}, true}));
}

TEST(DecodeKindsTest, DeviceTaintRule) {
  const auto rule = Decoded(DecodeDeviceTaintRule, R"({"metadata": {"name": "r"}, "spec": {
    "deviceSelector": {"driver": "d", "pool": "p", "device": "x"},
    "taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}},
    "status": {"conditions": [{"type": "EvictionInProgress", "status": "True"}]}})");
  EXPECT_EQ(rule.selector, (DeviceTaintRule::Selector{"d", "p", "x"}));
  EXPECT_EQ(rule.taint, (DeviceTaint{"k", "v", "NoExecute"}));
  const auto all = Decoded(DecodeDeviceTaintRule, R"({"metadata": {"name": "r"}, "spec": {"deviceSelector": {}}})");
  EXPECT_EQ(all.selector, DeviceTaintRule::Selector{});
  const auto none = Decoded(DecodeDeviceTaintRule, R"({"metadata": {"name": "r"}, "spec": {"taint": {"key": "k"}}})");
  EXPECT_EQ(none.selector, std::nullopt);
}

TEST(DecodeKindsTest, DeviceClass) {
  const auto device_class = Decoded(DecodeDeviceClass, R"({"metadata": {"name": "c"}, "spec": {
    "selectors": [{"cel": {"expression": "device.driver == 'd'"}}, {}], "extendedResourceName": "a.b/c",
    "config": [{"opaque": {"driver": "d", "parameters": {"a": [1, "x"]}}}, {}]}})");
  EXPECT_EQ(device_class.selectors, (std::vector<std::string>{"device.driver == 'd'", ""}));
  EXPECT_EQ(device_class.extended_resource_name, "a.b/c");
  EXPECT_EQ(device_class.configs,
            (std::vector<std::string>{R"({"opaque":{"driver":"d","parameters":{"a":[1,"x"]}}})", "{}"}));
}

TEST(DecodeKindsTest, ResourceClaim) {
  const auto claim = Decoded(DecodeResourceClaim, R"({"metadata": {"name": "c", "namespace": "n", "finalizers": ["f"],
      "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u", "controller": true}, {"kind": "Other", "name": "o"}]},
    "spec": {"devices": {
      "requests": [
        {"name": "r", "exactly": {"deviceClassName": "k", "selectors": [{"cel": {"expression": "true"}}],
          "allocationMode": "ExactCount", "count": 2, "adminAccess": true,
          "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}],
          "capacity": {"requests": {"mem": "1Gi"}}}},
        {"name": "s", "exactly": null, "firstAvailable": [{"name": "a", "deviceClassName": "k", "allocationMode": "All"}]}],
      "constraints": [{"requests": ["r"], "matchAttribute": "d/x"}, {"distinctAttribute": "d/y"}],
      "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {}}}]}},
    "status": {"allocation": {"allocationTimestamp": "2026-01-02T03:04:05Z", "nodeSelector": {"nodeSelectorTerms": [
          {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
        "devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x", "adminAccess": true,
            "bindingConditions": ["c"], "bindingFailureConditions": ["f"], "shareID": "i", "consumedCapacity": {"mem": "1Gi"},
            "tolerations": [{"operator": "Exists"}]}],
          "config": [{"source": "FromClass", "requests": ["r"], "opaque": {"driver": "d", "parameters": {}}}]}},
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
      "devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": [
        {"type": "c", "status": "True", "reason": "R", "message": "m"}]}]}})");
  EXPECT_EQ(claim.finalizers, std::vector<std::string>{"f"});
  EXPECT_EQ(claim.owners, (std::vector<OwnerReference>{{"", "Pod", "p", "u"}, {"", "Other", "o", ""}}));
  EXPECT_EQ(claim.metadata.controller->name, "p");
  const Quantity gi = Quantity::FromValue(1 << 30);
  const ExactDeviceRequest exactly{"",
                                   "k",
                                   {"true"},
                                   "ExactCount",
                                   2,
                                   true,
                                   {{"t", "Exists", "", "NoSchedule", 5}},
                                   std::vector<std::pair<std::string, Quantity>>{{"mem", gi}}};
  const ExactDeviceRequest option{"a", "k", {}, "All", 0, false, {}, std::nullopt};
  const std::string config = R"({"opaque":{"driver":"d","parameters":{}}})";
  const ResourceClaimSpec spec{{{"r", exactly, {}}, {"s", std::nullopt, {option}}},
                               {{{"r"}, "d/x", std::nullopt}, {{}, std::nullopt, "d/y"}},
                               {{"", {"r"}, config}}};
  EXPECT_EQ(claim.spec, spec);
  ASSERT_TRUE(claim.allocation);
  const DeviceAllocationResult result{"r",   "d",   "p", "x",          true, {{"", "Exists", "", "", std::nullopt}},
                                      {"c"}, {"f"}, "i", {{"mem", gi}}};
  EXPECT_EQ(claim.allocation->results, std::vector<DeviceAllocationResult>{result});
  EXPECT_EQ(claim.allocation->configs, (std::vector<DeviceClaimConfiguration>{{"FromClass", {"r"}, config}}));
  EXPECT_EQ(claim.allocation->node_selector->at(0).match_fields.at(0).values, std::vector<std::string>{"n1"});
  EXPECT_EQ(FormatRfc3339(*claim.allocation->allocation_timestamp), "2026-01-02T03:04:05Z");
  EXPECT_EQ(claim.reserved_for, (std::vector<ClaimConsumer>{{"", "pods", "p", "u"}}));
  EXPECT_EQ(claim.devices,
            (std::vector<AllocatedDeviceStatus>{{"d", "p", "x", std::nullopt, {{"c", "True", "R", "m"}}}}));
}

// "" if decoding succeeds.
template <typename T>
std::string ErrorOf(DecodeFunction<T> decode, const std::string& text) {
  const auto object = ParseObject("object", text);
  if (!object.ok()) return object.error().message;
  const auto decoded = decode(*object);
  return decoded.ok() ? "" : decoded.error().message;
}
template <typename T>
std::function<std::string(const std::string&)> Errors(DecodeFunction<T> decode) {
  return [decode](const std::string& text) { return ErrorOf(decode, text); };
}

struct Kind {
  const char* name;
  std::function<std::string(const std::string&)> error;
};
const Kind kKinds[] = {{"Pod", Errors<Pod>(DecodePod)},
                       {"Node", Errors<Node>(DecodeNode)},
                       {"PersistentVolume", Errors(DecodePersistentVolume)},
                       {"PersistentVolumeClaim", Errors(DecodePersistentVolumeClaim)},
                       {"StorageClass", Errors(DecodeStorageClass)},
                       {"CSINode", Errors(DecodeCsiNode)},
                       {"CSIDriver", Errors(DecodeCsiDriver)},
                       {"CSIStorageCapacity", Errors(DecodeCsiStorageCapacity)},
                       {"VolumeAttachment", Errors(DecodeVolumeAttachment)},
                       {"PodDisruptionBudget", Errors(DecodePodDisruptionBudget)},
                       {"Namespace", Errors(DecodeNamespace)},
                       {"Service", Errors(DecodeService)},
                       {"ReplicationController", Errors(DecodeReplicationController)},
                       {"ReplicaSet", Errors(DecodeReplicaSet)},
                       {"StatefulSet", Errors(DecodeStatefulSet)},
                       {"ResourceSlice", Errors(DecodeResourceSlice)},
                       {"DeviceTaintRule", Errors(DecodeDeviceTaintRule)},
                       {"DeviceClass", Errors(DecodeDeviceClass)},
                       {"ResourceClaim", Errors(DecodeResourceClaim)}};

TEST(DecodeKindsTest, AllTakeNullsAndUnknownFields) {
  for (const Kind& kind : kKinds) {
    EXPECT_EQ(kind.error(R"({"metadata": {"name": "x", "labels": null, "else": {}}, "spec": null, "status": null,
                             "more": [1]})"),
              "")
        << kind.name;
    EXPECT_EQ(kind.error(R"({"kind": ")" + std::string(kind.name) + R"(", "metadata": {"name": "x"}, "spec": {}})"),
              "");
    EXPECT_EQ(kind.error(R"({"kind": "Else", "metadata": {"name": "x"}})"),
              std::string(kind.name) + " x: kind: must be " + kind.name + ", not \"Else\"");
    EXPECT_EQ(kind.error("{}"), std::string(kind.name) + ": metadata.name: is missing");
    EXPECT_EQ(kind.error("[]"), std::string(kind.name) + ": must be an object, not an array");
  }
}

TEST(DecodeKindsTest, ErrorsNameThePlace) {
  struct Case {
    const char* kind;
    const char* fields;
    const char* want;
  };
  const Case cases[] = {
      {"Pod", R"("spec": {"topologySpreadConstraints": [{"maxSkew": 99999999999}]})",
       "spec.topologySpreadConstraints[0].maxSkew: must be a whole number of 32 bits, not 99999999999"},
      {"Pod", R"("spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                  {"labelSelector": {"matchLabels": {"a": 1}}}]}}})",
       "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels[a]: must "
       "be a string, not a number"},
      {"Pod", R"("spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": []}}]})",
       "spec.volumes[0].persistentVolumeClaim.claimName: must be a string, not an array"},
      {"Pod", R"("status": {"resourceClaimStatuses": {}})",
       "status.resourceClaimStatuses: must be an array, not an object"},
      {"PersistentVolume", R"("spec": {"capacity": {"storage": "much"}})",
       "spec.capacity[storage]: \"much\" is no quantity"},
      {"StorageClass", R"("allowedTopologies": [{"matchLabelExpressions": [{"values": "a"}]}])",
       "allowedTopologies[0].matchLabelExpressions[0].values: must be an array, not a string"},
      {"CSINode", R"("spec": {"drivers": [{}, {"allocatable": {"count": "5"}}]})",
       "spec.drivers[1].allocatable.count: must be a whole number, not a string"},
      {"PodDisruptionBudget", R"("spec": {"selector": []})", "spec.selector: must be an object, not an array"},
      {"ResourceSlice", R"("spec": {"devices": [{"attributes": {"m": {"bools": [true, 1]}}}]})",
       "spec.devices[0].attributes[m].bools[1]: must be a boolean, not a number"},
      {"ResourceSlice", R"("spec": {"devices": [{"capacity": {"m": {"value": true}}}]})",
       "spec.devices[0].capacity[m].value: must be a quantity, not a boolean"},
      {"DeviceClass", R"("spec": {"config": [{"opaque": 1}]})",
       "spec.config[0].opaque: must be an object, not a number"},
      {"ResourceClaim", R"("status": {"allocation": {"allocationTimestamp": "soon"}})",
       "status.allocation.allocationTimestamp: \"soon\" is no RFC 3339 time"},
  };
  for (const Case& c : cases) {
    for (const Kind& kind : kKinds) {
      if (std::string_view(kind.name) != c.kind) continue;
      const std::string got = kind.error(R"({"metadata": {"name": "x"}, )" + std::string(c.fields) + "}");
      EXPECT_TRUE(got.starts_with(std::string(c.kind) + " x: " + c.want)) << got;
    }
  }
}

std::string Message(std::uint32_t tag, const std::string& bytes) {
  std::string out;
  protozero::pbf_writer(out).add_message(tag, bytes);
  return out;
}
std::string Text(std::uint32_t tag, const std::string& text) { return Message(tag, text); }
std::string Number(std::uint32_t tag, std::int64_t value) {
  std::string out;
  protozero::pbf_writer(out).add_int64(tag, value);
  return out;
}

TEST(DecodePodTest, SchedulingGroup) {
  EXPECT_EQ(PodOf(R"({"schedulingGroup": {"podGroupName": "training-1"}})").spec.pod_group_name, "training-1");
  EXPECT_EQ(PodOf(R"({"schedulingGroup": null})").spec.pod_group_name, "");
  const auto pod = DecodePodProtobuf(Message(1, Text(1, "p")) + Message(2, Message(43, Text(1, "training-1"))));
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  EXPECT_EQ((*pod)->spec.pod_group_name, "training-1");
}

TEST(DecodeKindsTest, PodGroup) {
  PodGroup want;
  want.metadata.name = "g";
  want.parent_name = "top";
  want.workload_name = "w";
  want.min_count = 3;
  want.topology_keys = {"rack"};
  want.is_disrupted_whole = true;
  want.priority = 7;
  want.preemption_policy = PreemptionPolicy::kNever;
  want.conditions = {{"PodGroupInitiallyScheduled", "False", "Unschedulable", "no room", 4}};
  want.resource_claims = {{"a", "shared", std::nullopt}, {"b", std::nullopt, "t"}};
  want.resource_claim_statuses = {{"b", "g-b-x7k"}};
  const PodGroup json = Decoded(DecodePodGroup, R"({"metadata": {"name": "g"}, "spec": {
    "parentCompositePodGroupName": "top", "schedulingPolicy": {"gang": {"minCount": 3}},
    "schedulingConstraints": {"topology": [{"key": "rack"}]}, "disruptionMode": {"all": {}},
    "priorityClassName": "high", "priority": 7, "preemptionPolicy": "Never",
    "resourceClaims": [{"name": "a", "resourceClaimName": "shared"}, {"name": "b", "resourceClaimTemplateName": "t"}],
    "workloadRef": {"workloadName": "w", "templateName": "t"}},
    "status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "g-b-x7k"}],
      "conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable",
      "message": "no room", "observedGeneration": 4, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  EXPECT_TRUE(json == want);
  const std::string condition = Text(1, "PodGroupInitiallyScheduled") + Text(2, "False") + Number(3, 4) +
                                Text(5, "Unschedulable") + Text(6, "no room");
  const std::string spec = Text(1, "top") + Message(2, Text(1, "w")) + Message(3, Message(2, Number(1, 3))) +
                           Message(4, Message(1, Text(1, "rack"))) + Message(5, Text(1, "a") + Text(2, "shared")) +
                           Message(5, Text(1, "b") + Text(3, "t")) + Message(6, Message(2, "")) + Number(8, 7) +
                           Text(9, "Never");
  const auto protobuf =
      DecodePodGroupProtobuf(Message(1, Text(1, "g")) + Message(2, spec) +
                             Message(3, Message(1, condition) + Message(2, Text(1, "b") + Text(2, "g-b-x7k"))));
  ASSERT_TRUE(protobuf.ok()) << protobuf.error().message;
  EXPECT_TRUE(**protobuf == want);

  const PodGroup basic =
      Decoded(DecodePodGroup, R"({"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}},
                          "disruptionMode": {"single": {}}}})");
  EXPECT_FALSE(basic.min_count);
  EXPECT_FALSE(basic.is_disrupted_whole);
  EXPECT_TRUE(basic.is_disrupted_singly);
}

TEST(DecodeKindsTest, CompositePodGroup) {
  CompositePodGroup want;
  want.metadata.name = "top";
  want.min_group_count = 2;
  want.topology_keys = {"zone"};
  want.is_disrupted_whole = true;
  want.priority = 9;
  want.preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  want.parent_name = "root";
  want.workload_name = "w";
  want.conditions = {{"CompositePodGroupInitiallyScheduled", "True", "Scheduled", "", 2}};
  const CompositePodGroup json = Decoded(DecodeCompositePodGroup, R"({"metadata": {"name": "top"}, "spec": {
    "parentCompositePodGroupName": "root", "schedulingPolicy": {"gang": {"minGroupCount": 2}},
    "schedulingConstraints": {"topology": [{"key": "zone"}]}, "disruptionMode": {"all": {}}, "priority": 9,
    "preemptionPolicy": "PreemptLowerPriority", "workloadRef": {"workloadName": "w"}}, "status": {"conditions": [
    {"type": "CompositePodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "observedGeneration": 2}]}})");
  EXPECT_TRUE(json == want);
  const std::string spec = Text(1, "root") + Message(2, Text(1, "w")) + Message(3, Message(2, Number(1, 2))) +
                           Message(4, Message(1, Text(1, "zone"))) + Message(5, Message(2, "")) + Number(7, 9) +
                           Text(8, "PreemptLowerPriority");
  const std::string condition =
      Text(1, "CompositePodGroupInitiallyScheduled") + Text(2, "True") + Number(3, 2) + Text(5, "Scheduled");
  const auto protobuf = DecodeCompositePodGroupProtobuf(Message(1, Text(1, "top")) + Message(2, spec) +
                                                        Message(3, Message(1, condition)));
  ASSERT_TRUE(protobuf.ok()) << protobuf.error().message;
  EXPECT_TRUE(**protobuf == want);
}

}  // namespace
}  // namespace berth::api
