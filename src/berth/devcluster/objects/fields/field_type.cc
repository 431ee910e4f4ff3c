// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/field_type.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "berth/base/check.h"
#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/object.h"

namespace berth::objects {
namespace {

constexpr std::string_view kSetMark = "*";
constexpr std::string_view kAtomicMark = "!";
constexpr std::string_view kSeparableMark = "+";

// As Kubernetes 1.37 marks its fields. A line is a package and then types: alone, a type whose objects are atomic; with
// a field behind a dot, and behind "=" the list's keys (";" between them, ":" before what an absent one stands for),
// "*" for a set, "!" for an atomic map, "+" for members that merge although their type is atomic. Lists that do not
// stand here are atomic.
constexpr std::string_view kMarkers = R"(
admissionregistration MatchResources NamedRuleWithOperations ParamKind ParamRef Variable
  MutatingAdmissionPolicySpec.matchConditions=name MutatingWebhook.matchConditions=name
  MutatingWebhookConfiguration.webhooks=name ValidatingAdmissionPolicyBindingSpec.validationActions=*
  ValidatingAdmissionPolicySpec.matchConditions=name ValidatingAdmissionPolicySpec.variables=name
  ValidatingAdmissionPolicyStatus.conditions=type ValidatingWebhook.matchConditions=name
  ValidatingWebhookConfiguration.webhooks=name
apiextensions CustomResourceDefinitionStatus.conditions=type
apiregistration APIServiceStatus.conditions=type
apps DaemonSetStatus.conditions=type DeploymentStatus.conditions=type ReplicaSetStatus.conditions=type
  StatefulSetStatus.conditions=type
autoscaling CrossVersionObjectReference
autoscalingv2 HorizontalPodAutoscalerStatus.conditions=type
batch PodFailurePolicyOnExitCodesRequirement.values=* UncountedTerminatedPods.failed=*
  UncountedTerminatedPods.succeeded=*
certificates CertificateSigningRequestStatus.conditions=type
core ConfigMapKeySelector EndpointAddress EndpointPort FileKeySelector LocalObjectReference NodeSelector
  NodeSelectorTerm ObjectFieldSelector ObjectReference ResourceFieldSelector ScopeSelector SecretKeySelector
  SecretReference TopologySelectorTerm TypedLocalObjectReference
  Container.env=name Container.ports=containerPort;protocol:TCP Container.volumeDevices=devicePath
  Container.volumeMounts=mountPath ContainerRestartRuleOnExitCodes.values=*
  ContainerStatus.allocatedResourcesStatus=name ContainerStatus.volumeMounts=mountPath EphemeralContainer.env=name
  EphemeralContainer.ports=containerPort;protocol:TCP EphemeralContainer.volumeDevices=devicePath
  EphemeralContainer.volumeMounts=mountPath NamespaceStatus.conditions=type NodeSpec.podCIDRs=*
  NodeStatus.addresses=type NodeStatus.conditions=type PersistentVolumeClaimStatus.conditions=type
  PersistentVolumeSpec.claimRef=+ PodSpec.containers=name PodSpec.ephemeralContainers=name PodSpec.hostAliases=ip
  PodSpec.imagePullSecrets=name PodSpec.initContainers=name PodSpec.nodeSelector=! PodSpec.resourceClaims=name
  PodSpec.schedulingGates=name PodSpec.topologySpreadConstraints=topologyKey;whenUnsatisfiable PodSpec.volumes=name
  PodStatus.conditions=type PodStatus.podIPs=ip PodStatus.resourceClaimStatuses=name
  ReplicationControllerSpec.selector=! ReplicationControllerStatus.conditions=type ResourceRequirements.claims=name
  ResourceStatus.resources=resourceID ServiceAccount.secrets=name ServiceSpec.ports=port;protocol:TCP
  ServiceSpec.selector=! ServiceStatus.conditions=type
discovery EndpointPort Endpoint.addresses=*
flowcontrol FlowSchemaStatus.conditions=type NonResourcePolicyRule.nonResourceURLs=* NonResourcePolicyRule.verbs=*
  PriorityLevelConfigurationStatus.conditions=type ResourcePolicyRule.apiGroups=* ResourcePolicyRule.namespaces=*
  ResourcePolicyRule.resources=* ResourcePolicyRule.verbs=*
networking ServiceBackendPort ServiceCIDRStatus.conditions=type
node Scheduling.nodeSelector=!
policy PodDisruptionBudgetStatus.conditions=type
rbac RoleRef Subject
resource AllocatedDeviceStatus.conditions=type ResourceClaimStatus.devices=driver;device;pool;shareID
  ResourceClaimStatus.reservedFor=uid
storage CSIDriverSpec.volumeLifecycleModes=* CSINodeSpec.drivers=name
meta LabelSelector OwnerReference ObjectMeta.finalizers=* ObjectMeta.ownerReferences=uid
)";

struct Markers {
  std::set<const SchemaType*> atomic;
  std::unordered_map<const SchemaField*, std::string_view> fields;
};

std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

const SchemaType* TypeOf(std::string_view package, std::string_view name) {
  for (const SchemaType& type : SchemaTypes()) {
    if (type.name == name && type.short_package == package) return &type;
  }
  return nullptr;
}

Markers ReadMarkers() {
  Markers markers;
  std::string_view text = kMarkers;
  std::string_view package;
  for (std::string_view word = TakeWord(text); !word.empty(); word = TakeWord(text)) {
    if (word.front() >= 'a' && word.front() <= 'z') {
      package = word;
      continue;
    }
    const std::size_t dot = word.find('.');
    const SchemaType* type = TypeOf(package, word.substr(0, dot));
    if (type == nullptr) continue;  // of a kind that is not served
    if (dot == std::string_view::npos) {
      markers.atomic.insert(type);
      continue;
    }
    const std::size_t equals = word.find('=');
    const SchemaField* field = type->Find(word.substr(dot + 1, equals - dot - 1));
    if (field != nullptr) markers.fields[field] = word.substr(equals + 1);
  }
  return markers;
}

const Markers& AllMarkers() {
  static const Markers kAll = ReadMarkers();
  return kAll;
}

std::string_view MarkerOf(const SchemaField& field) {
  const auto found = AllMarkers().fields.find(&field);
  return found == AllMarkers().fields.end() ? std::string_view() : found->second;
}

std::string_view ExpectedOf(SchemaKind kind) {
  switch (kind) {
    case SchemaKind::kString:
    case SchemaKind::kBytes:
    case SchemaKind::kTime:
    case SchemaKind::kMicroTime: return "string";
    case SchemaKind::kInt32:
    case SchemaKind::kInt64:
    case SchemaKind::kNumber: return "numeric";
    case SchemaKind::kBool: return "boolean";
    case SchemaKind::kQuantity:
    case SchemaKind::kIntOrString: return "scalar";
    case SchemaKind::kObject: return "map";
    case SchemaKind::kAny: break;
  }
  return {};
}

bool IsSet(const json::object& schema, std::string_view extension) {
  const json::value* value = FindMember(schema, extension);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string_view ExpectedOf(const json::object& schema) {
  if (IsSet(schema, "x-kubernetes-int-or-string")) return "scalar";
  const std::string_view type = StringMember(schema, "type");
  if (type == "integer" || type == "number") return "numeric";
  if (type == "array") return "list";
  if (type == "object") return "map";
  return type;
}

}  // namespace

FieldType FieldType::OfTable(const SchemaType& type, bool is_separable) {
  FieldType made;
  made.expects_ = "map";
  made.kind_ = !is_separable && AllMarkers().atomic.contains(&type) ? Kind::kWhole : Kind::kStruct;
  made.type_ = &type;
  return made;
}

FieldType FieldType::OfOne(const SchemaField& field, bool is_separable) {
  if (field.type != nullptr) return OfTable(*field.type, is_separable);
  FieldType made;
  made.expects_ = ExpectedOf(field.kind);
  made.kind_ = field.kind == SchemaKind::kAny || field.kind == SchemaKind::kObject ? Kind::kAny : Kind::kWhole;
  return made;
}

FieldType FieldType::OfField(const SchemaType&, const SchemaField& field) {
  const std::string_view marker = MarkerOf(field);
  if (field.shape == SchemaShape::kSingle) return OfOne(field, marker == kSeparableMark);
  FieldType made;
  made.field_ = &field;
  if (field.shape == SchemaShape::kMap) {
    made.expects_ = "map";
    made.kind_ = marker == kAtomicMark ? Kind::kWhole : Kind::kMap;
    return made;
  }
  made.expects_ = "list";
  made.kind_ = marker.empty() ? Kind::kWhole : marker == kSetMark ? Kind::kSet : Kind::kKeyedList;
  made.keys_ = marker;
  return made;
}

FieldType FieldType::Of(const ResourceType& type) {
  if (type.structural != nullptr) return OfStructural(type.structural->document(), true);
  if (const SchemaType* schema = FindSchema(type.group, type.version, type.kind)) return OfTable(*schema, true);
  return {};
}

FieldType FieldType::OfStructural(const json::object& schema, bool is_root) {
  FieldType made;
  made.schema_ = &schema;
  made.is_root_ = is_root || IsSet(schema, "x-kubernetes-embedded-resource");
  made.expects_ = ExpectedOf(schema);
  const bool keeps_unknown = IsSet(schema, "x-kubernetes-preserve-unknown-fields");
  if (made.expects_ == "list") {
    const std::string_view list = StringMember(schema, "x-kubernetes-list-type");
    made.kind_ = list == "map" ? Kind::kKeyedList : list == "set" ? Kind::kSet : Kind::kWhole;
    return made;
  }
  if (made.expects_ != "map") {
    made.kind_ = keeps_unknown || made.expects_.empty() ? Kind::kAny : Kind::kWhole;
    return made;
  }
  if (StringMember(schema, "x-kubernetes-map-type") == "atomic" && !made.is_root_) {
    made.kind_ = Kind::kWhole;
  } else if (ObjectMember(schema, "additionalProperties") != nullptr) {
    made.kind_ = Kind::kMap;
  } else {
    made.kind_ = Kind::kStruct;
    made.is_open_ = keeps_unknown || IsSet(schema, "additionalProperties");
  }
  return made;
}

FieldType FieldType::Member(std::string_view name) const {
  if (kind_ == Kind::kMap && field_ != nullptr) return OfOne(*field_, false);
  if (kind_ == Kind::kMap) return OfStructural(*ObjectMember(*schema_, "additionalProperties"), false);
  if (kind_ != Kind::kStruct) return {};
  if (type_ != nullptr) {
    const SchemaField* field = type_->Find(name);
    return field == nullptr ? FieldType() : OfField(*type_, *field);
  }
  if (is_root_ && name == "metadata") return OfTable(*FindMetaSchema("ObjectMeta"), true);
  if (is_root_ && (name == "apiVersion" || name == "kind")) {
    FieldType text;
    text.kind_ = Kind::kWhole;
    text.expects_ = "string";
    return text;
  }
  const json::object* properties = ObjectMember(*schema_, "properties");
  const json::object* property = properties == nullptr ? nullptr : ObjectMember(*properties, name);
  return property == nullptr ? FieldType() : OfStructural(*property, false);
}

bool FieldType::Declares(std::string_view name) const {
  if (kind_ != Kind::kStruct) return false;
  if (type_ != nullptr) return type_->Find(name) != nullptr;
  if (is_root_ && (name == "metadata" || name == "apiVersion" || name == "kind")) return true;
  const json::object* properties = ObjectMember(*schema_, "properties");
  return properties != nullptr && ObjectMember(*properties, name) != nullptr;
}

FieldType FieldType::Element() const {
  if (field_ != nullptr) return OfOne(*field_, false);
  const json::object* items = schema_ == nullptr ? nullptr : ObjectMember(*schema_, "items");
  return items == nullptr ? FieldType() : OfStructural(*items, false);
}

std::vector<ListKey> FieldType::Keys() const {
  std::vector<ListKey> keys;
  if (schema_ != nullptr) {
    const json::array* names = ArrayMember(*schema_, "x-kubernetes-list-map-keys");
    const json::object* items = ObjectMember(*schema_, "items");
    const json::object* properties = items == nullptr ? nullptr : ObjectMember(*items, "properties");
    if (names == nullptr) return keys;
    for (const json::value& name : *names) {
      if (!name.is_string()) continue;
      ListKey key{std::string(View(name.get_string())), nullptr};
      const json::object* property = properties == nullptr ? nullptr : ObjectMember(*properties, key.name);
      if (const json::value* otherwise = property == nullptr ? nullptr : FindMember(*property, "default"))
        key.otherwise = *otherwise;
      keys.push_back(std::move(key));
    }
  } else {
    for (std::string_view rest = keys_; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view key = rest.substr(0, end);
      const std::size_t colon = key.find(':');
      keys.push_back({std::string(key.substr(0, colon)), nullptr});
      if (colon != std::string_view::npos) keys.back().otherwise = json::string(key.substr(colon + 1));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::sort(keys.begin(), keys.end(), [](const ListKey& a, const ListKey& b) { return a.name < b.name; });
  return keys;
}

}  // namespace berth::objects
