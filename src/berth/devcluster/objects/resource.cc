// SPDX-License-Identifier: Apache-2.0
// The table of served types. Each one names its parts, which are in `defaults`, `prepare`, `validate/` and `rows/`.
#include "berth/devcluster/objects/resource.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "berth/base/base64.h"
#include "berth/base/check.h"
#include "berth/base/text.h"
#include "berth/devcluster/objects/canonical_quantity.h"
#include "berth/devcluster/objects/custom/custom_definition.h"
#include "berth/devcluster/objects/defaults.h"
#include "berth/devcluster/objects/prepare.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/rows.h"
#include "berth/devcluster/objects/schema.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects {
namespace {

using internal::PrepareTraits;

using Defaults = void (*)(json::object&);

// What is particular of a type; the rest follows from it.
struct Entry {
  const char* group;
  const char* kind;
  const char* plural;
  std::vector<std::string> short_names = {};
  bool namespaced = true;
  bool in_all = false;
  bool has_status = false;
  bool has_scale = false;
  Defaults defaults = nullptr;
  PrepareTraits prepare = {};
  std::vector<std::string> fields = {};
  const char* version = "v1";
  bool is_stored = true;
};

constexpr bool kNamespaced = true;
constexpr bool kCluster = false;

PrepareTraits WithStatus(bool has_generation, json::object first_status = {}) {
  PrepareTraits traits;
  traits.drops_status = true;
  traits.first_status = std::move(first_status);
  traits.has_generation = has_generation;
  return traits;
}

PrepareTraits OnCreate(PrepareTraits traits, void (*on_create)(json::object&)) {
  traits.on_create = on_create;
  return traits;
}

PrepareTraits WithGeneration(std::vector<std::string_view> members) {
  PrepareTraits traits;
  traits.has_generation = true;
  traits.generation_members = std::move(members);
  return traits;
}

// A Deployment counts changed annotations as a change of its own.
PrepareTraits DeploymentTraits() {
  PrepareTraits traits = WithStatus(true);
  traits.annotations_count = true;
  return traits;
}

json::object Counts(std::initializer_list<std::string_view> names) {
  json::object status;
  for (const std::string_view name : names) status[name] = 0;
  return status;
}

void DefaultSecretWithStringData(json::object& secret) {
  internal::DefaultSecret(secret);
  const json::object* plain = ObjectMember(secret, "stringData");
  if (plain == nullptr) return;
  const json::object copy = *plain;
  json::object& data = MutableObject(secret, "data");
  for (const auto& [key, value] : copy) {
    if (value.is_string()) data[key] = EncodeBase64(View(value.get_string()));
  }
  secret.erase("stringData");
}

const std::vector<std::string> kPodFields = {
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
    "status.phase",  "status.podIP",       "status.podIPs",      "status.nominatedNodeName"};

std::vector<Entry> Entries() {
  using namespace internal;  // NOLINT(google-build-using-namespace): the table is made of these
  constexpr const char* kCore = "";
  constexpr const char* kApps = "apps";
  constexpr const char* kStorage = "storage.k8s.io";
  constexpr const char* kResource = "resource.k8s.io";
  return {
      {.group = kCore, .kind = "ConfigMap", .plural = "configmaps", .short_names = {"cm"}},
      {.group = kCore, .kind = "Endpoints", .plural = "endpoints", .short_names = {"ep"}, .defaults = DefaultEndpoints},
      {.group = kCore,
       .kind = "Event",
       .plural = "events",
       .short_names = {"ev"},
       .defaults = DefaultEvent,
       .fields = {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
                  "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                  "reportingComponent", "source", "type"}},
      {.group = kCore,
       .kind = "Namespace",
       .plural = "namespaces",
       .short_names = {"ns"},
       .namespaced = kCluster,
       .has_status = true,
       .defaults = DefaultNamespace,
       .prepare = WithStatus(false, {{"phase", "Active"}}),
       .fields = {"status.phase"}},
      {.group = kCore,
       .kind = "Node",
       .plural = "nodes",
       .short_names = {"no"},
       .namespaced = kCluster,
       .has_status = true,
       .defaults = DefaultNode,
       .fields = {"spec.unschedulable"}},
      {.group = kCore,
       .kind = "PersistentVolumeClaim",
       .plural = "persistentvolumeclaims",
       .short_names = {"pvc"},
       .has_status = true,
       .defaults = DefaultPersistentVolumeClaim,
       .prepare = WithStatus(false, {{"phase", "Pending"}})},
      {.group = kCore,
       .kind = "PersistentVolume",
       .plural = "persistentvolumes",
       .short_names = {"pv"},
       .namespaced = kCluster,
       .has_status = true,
       .defaults = DefaultPersistentVolume,
       .prepare = WithStatus(false, {{"phase", "Pending"}})},
      {.group = kCore,
       .kind = "Pod",
       .plural = "pods",
       .short_names = {"po"},
       .in_all = true,
       .has_status = true,
       .defaults = DefaultPod,
       .prepare = OnCreate(WithStatus(true), PreparePodCreate),
       .fields = kPodFields},
      {.group = kCore, .kind = "LimitRange", .plural = "limitranges", .short_names = {"limits"}},
      {.group = kCore,
       .kind = "PodTemplate",
       .plural = "podtemplates",
       .defaults = DefaultPodTemplate,
       .prepare = WithGeneration({"template"})},
      {.group = kCore,
       .kind = "ResourceQuota",
       .plural = "resourcequotas",
       .short_names = {"quota"},
       .has_status = true,
       .prepare = WithStatus(false)},
      {.group = kCore,
       .kind = "ReplicationController",
       .plural = "replicationcontrollers",
       .short_names = {"rc"},
       .in_all = true,
       .has_status = true,
       .has_scale = true,
       .defaults = DefaultReplicationController,
       .prepare = WithStatus(true, Counts({"replicas"})),
       .fields = {"status.replicas"}},
      {.group = kCore,
       .kind = "Secret",
       .plural = "secrets",
       .defaults = DefaultSecretWithStringData,
       .fields = {"type"}},
      {.group = kCore, .kind = "ServiceAccount", .plural = "serviceaccounts", .short_names = {"sa"}},
      {.group = kCore,
       .kind = "Service",
       .plural = "services",
       .short_names = {"svc"},
       .in_all = true,
       .has_status = true,
       .defaults = DefaultService,
       .prepare = OnCreate(WithStatus(false, {{"loadBalancer", json::object()}}), PrepareServiceCreate),
       .fields = {"spec.clusterIP", "spec.type"}},
      {.group = kApps, .kind = "ControllerRevision", .plural = "controllerrevisions"},
      {.group = kApps,
       .kind = "DaemonSet",
       .plural = "daemonsets",
       .short_names = {"ds"},
       .in_all = true,
       .has_status = true,
       .defaults = DefaultDaemonSet,
       .prepare = WithStatus(
           true, Counts({"currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"}))},
      {.group = kApps,
       .kind = "Deployment",
       .plural = "deployments",
       .short_names = {"deploy"},
       .in_all = true,
       .has_status = true,
       .has_scale = true,
       .defaults = DefaultDeployment,
       .prepare = DeploymentTraits()},
      {.group = kApps,
       .kind = "ReplicaSet",
       .plural = "replicasets",
       .short_names = {"rs"},
       .in_all = true,
       .has_status = true,
       .has_scale = true,
       .defaults = DefaultReplicaSet,
       .prepare = WithStatus(true, Counts({"replicas"})),
       .fields = {"status.replicas"}},
      {.group = kApps,
       .kind = "StatefulSet",
       .plural = "statefulsets",
       .short_names = {"sts"},
       .in_all = true,
       .has_status = true,
       .has_scale = true,
       .defaults = DefaultStatefulSet,
       .prepare = WithStatus(true, Counts({"availableReplicas", "replicas"}))},
      {.group = "coordination.k8s.io", .kind = "Lease", .plural = "leases"},
      {.group = "events.k8s.io", .kind = "Event", .plural = "events", .short_names = {"ev"}},
      {.group = "node.k8s.io", .kind = "RuntimeClass", .plural = "runtimeclasses", .namespaced = kCluster},
      {.group = "policy",
       .kind = "PodDisruptionBudget",
       .plural = "poddisruptionbudgets",
       .short_names = {"pdb"},
       .has_status = true,
       .prepare = WithStatus(true, Counts({"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"}))},
      {.group = kResource,
       .kind = "DeviceClass",
       .plural = "deviceclasses",
       .namespaced = kCluster,
       .prepare = WithGeneration({"spec"})},
      {.group = kResource,
       .kind = "DeviceTaintRule",
       .plural = "devicetaintrules",
       .namespaced = kCluster,
       .has_status = true,
       .prepare = WithStatus(true)},
      {.group = kResource,
       .kind = "ResourceClaim",
       .plural = "resourceclaims",
       .has_status = true,
       .defaults = DefaultResourceClaim,
       .prepare = WithStatus(false)},
      {.group = kResource,
       .kind = "ResourceClaimTemplate",
       .plural = "resourceclaimtemplates",
       .defaults = DefaultResourceClaimTemplate},
      {.group = kResource,
       .kind = "ResourceSlice",
       .plural = "resourceslices",
       .namespaced = kCluster,
       .defaults = DefaultResourceSlice,
       .prepare = WithGeneration({"spec"}),
       .fields = {"spec.nodeName", "spec.driver"}},
      {.group = "scheduling.k8s.io",
       .kind = "PriorityClass",
       .plural = "priorityclasses",
       .short_names = {"pc"},
       .namespaced = kCluster,
       .defaults = DefaultPriorityClass,
       .prepare = WithGeneration({"value", "globalDefault", "description", "preemptionPolicy"})},
      {.group = kStorage,
       .kind = "CSIDriver",
       .plural = "csidrivers",
       .namespaced = kCluster,
       .defaults = DefaultCsiDriver},
      {.group = kStorage, .kind = "CSINode", .plural = "csinodes", .namespaced = kCluster},
      {.group = kStorage, .kind = "CSIStorageCapacity", .plural = "csistoragecapacities"},
      {.group = kStorage,
       .kind = "StorageClass",
       .plural = "storageclasses",
       .short_names = {"sc"},
       .namespaced = kCluster,
       .defaults = DefaultStorageClass},
      {.group = kStorage,
       .kind = "VolumeAttachment",
       .plural = "volumeattachments",
       .namespaced = kCluster,
       .has_status = true,
       .prepare = WithStatus(false, {{"attached", false}})},
      {.group = kStorage,
       .kind = "VolumeAttributesClass",
       .plural = "volumeattributesclasses",
       .short_names = {"vac"},
       .namespaced = kCluster},
  };
}

// Stored, and looked after by no controller of the embedded cluster but where `controllers` says so.
std::vector<Entry> MoreEntries() {
  using namespace internal;  // NOLINT(google-build-using-namespace): the table is made of these
  constexpr const char* kAdmission = "admissionregistration.k8s.io";
  constexpr const char* kBatch = "batch";
  constexpr const char* kNetworking = "networking.k8s.io";
  constexpr const char* kRbac = "rbac.authorization.k8s.io";
  constexpr const char* kFlow = "flowcontrol.apiserver.k8s.io";
  const auto plain = [](const char* group, const char* kind, const char* plural, bool namespaced,
                        std::vector<std::string> short_names = {}) {
    Entry entry{group, kind, plural, std::move(short_names), namespaced};
    entry.prepare = WithGeneration({"spec"});
    return entry;
  };
  const auto with_status = [&](const char* group, const char* kind, const char* plural, bool namespaced,
                               std::vector<std::string> short_names = {}) {
    Entry entry = plain(group, kind, plural, namespaced, std::move(short_names));
    entry.has_status = true;
    entry.prepare = WithStatus(true);
    return entry;
  };
  // RBAC's and the webhooks' parts are no spec.
  const auto without_spec = [](const char* group, const char* kind, const char* plural, bool namespaced,
                               Defaults defaults = nullptr) {
    Entry entry{group, kind, plural, {}, namespaced};
    entry.defaults = defaults;
    return entry;
  };
  Entry job = with_status(kBatch, "Job", "jobs", kNamespaced);
  job.in_all = true;
  job.defaults = DefaultJob;
  job.prepare = OnCreate(WithStatus(true), PrepareJobCreate);
  Entry cron_job = with_status(kBatch, "CronJob", "cronjobs", kNamespaced, {"cj"});
  cron_job.in_all = true;
  cron_job.defaults = DefaultCronJob;
  Entry autoscaler =
      with_status("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", kNamespaced, {"hpa"});
  autoscaler.version = "v2";
  autoscaler.in_all = true;
  autoscaler.defaults = DefaultHorizontalPodAutoscaler;
  autoscaler.prepare = WithStatus(false, {{"currentMetrics", nullptr}, {"desiredReplicas", 0}});
  Entry old_autoscaler = autoscaler;  // the older spelling of the same objects
  old_autoscaler.version = "v1";
  old_autoscaler.defaults = DefaultHorizontalPodAutoscalerV1;
  Entry ingress = with_status(kNetworking, "Ingress", "ingresses", kNamespaced, {"ing"});
  ingress.prepare = WithStatus(true, {{"loadBalancer", json::object()}});
  Entry network_policy = plain(kNetworking, "NetworkPolicy", "networkpolicies", kNamespaced, {"netpol"});
  network_policy.defaults = DefaultNetworkPolicy;
  // Upstream counts no generations of these.
  Entry address = plain(kNetworking, "IPAddress", "ipaddresses", kCluster, {"ip"});
  address.prepare = {};
  const auto uncounted = [&](const char* group, const char* kind, const char* plural,
                             std::vector<std::string> short_names = {}, Defaults defaults = nullptr) {
    Entry entry = with_status(group, kind, plural, kCluster, std::move(short_names));
    entry.prepare = WithStatus(false);
    entry.defaults = defaults;
    return entry;
  };
  const auto webhooks = [&](const char* kind, const char* plural, Defaults defaults) {
    Entry entry = without_spec(kAdmission, kind, plural, kCluster, defaults);
    entry.prepare = WithGeneration({"webhooks"});
    return entry;
  };
  Entry endpoint_slice =
      without_spec("discovery.k8s.io", "EndpointSlice", "endpointslices", kNamespaced, DefaultEndpointSlice);
  endpoint_slice.prepare = WithGeneration({"addressType", "endpoints", "ports"});
  Entry mutating_policy = plain(kAdmission, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", kCluster);
  mutating_policy.defaults = DefaultAdmissionPolicy;
  Entry validating_policy =
      with_status(kAdmission, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", kCluster);
  validating_policy.defaults = DefaultAdmissionPolicy;
  Entry priority_level = with_status(kFlow, "PriorityLevelConfiguration", "prioritylevelconfigurations", kCluster);
  priority_level.defaults = DefaultPriorityLevel;
  Entry definition = with_status("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions",
                                 kCluster, {"crd", "crds"});
  definition.defaults = DefaultCustomResourceDefinition;
  definition.prepare = WithStatus(true);  // its status is the registry's to write (custom_definition.h)
  return {
      job,
      cron_job,
      autoscaler,
      old_autoscaler,
      ingress,
      plain(kNetworking, "IngressClass", "ingressclasses", kCluster),
      network_policy,
      address,
      uncounted(kNetworking, "ServiceCIDR", "servicecidrs"),
      endpoint_slice,
      without_spec(kRbac, "ClusterRoleBinding", "clusterrolebindings", kCluster, DefaultRoleBinding),
      without_spec(kRbac, "ClusterRole", "clusterroles", kCluster),
      without_spec(kRbac, "RoleBinding", "rolebindings", kNamespaced, DefaultRoleBinding),
      without_spec(kRbac, "Role", "roles", kNamespaced),
      definition,
      mutating_policy,
      plain(kAdmission, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", kCluster),
      webhooks("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", DefaultMutatingWebhooks),
      validating_policy,
      plain(kAdmission, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", kCluster),
      webhooks("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", DefaultValidatingWebhooks),
      uncounted("apiregistration.k8s.io", "APIService", "apiservices", {}, DefaultApiService),
      uncounted("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", {"csr"}),
      with_status(kFlow, "FlowSchema", "flowschemas", kCluster),
      priority_level,
  };
}

// Questions that are answered and not kept (access_reviews.h).
std::vector<Entry> Reviews() {
  using namespace internal;  // NOLINT(google-build-using-namespace): the table is made of these
  constexpr const char* kAuthentication = "authentication.k8s.io";
  constexpr const char* kAuthorization = "authorization.k8s.io";
  const auto review = [](const char* group, const char* kind, const char* plural, bool namespaced) {
    Entry entry{group, kind, plural, {}, namespaced};
    entry.is_stored = false;
    return entry;
  };
  return {
      review(kAuthentication, "SelfSubjectReview", "selfsubjectreviews", kCluster),
      review(kAuthentication, "TokenReview", "tokenreviews", kCluster),
      review(kAuthorization, "LocalSubjectAccessReview", "localsubjectaccessreviews", kNamespaced),
      review(kAuthorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews", kCluster),
      review(kAuthorization, "SelfSubjectRulesReview", "selfsubjectrulesreviews", kCluster),
      review(kAuthorization, "SubjectAccessReview", "subjectaccessreviews", kCluster),
  };
}

// The kinds of pod groups, as 1.37 has them with their feature gates on.
std::vector<Entry> PodGroupEntries() {
  using namespace internal;  // NOLINT(google-build-using-namespace): the table is made of these
  constexpr const char* kScheduling = "scheduling.k8s.io";
  Entry group{kScheduling, "PodGroup", "podgroups"};
  group.has_status = true;
  group.defaults = DefaultPodGroup;
  group.prepare = WithStatus(true);
  group.version = "v1beta1";
  Entry composite = group;
  composite.kind = "CompositePodGroup";
  composite.plural = "compositepodgroups";
  composite.version = "v1alpha3";
  Entry workload{kScheduling, "Workload", "workloads"};
  workload.prepare = WithGeneration({"spec"});
  workload.version = "v1beta1";
  return {
      group,
      workload,
      composite,
  };
}

// As metrics-server serves them. They are measured when they are asked for (metrics_api.h).
std::vector<Entry> Measurements() {
  Entry node{"metrics.k8s.io", "NodeMetrics", "nodes", {}, kCluster};
  node.version = "v1beta1";
  node.is_stored = false;
  Entry pod = node;
  pod.kind = "PodMetrics";
  pod.plural = "pods";
  pod.namespaced = true;
  return {
      node,
      pod,
  };
}

// The member that a field selector's field stands for; null counts as "".
const json::value* SelectableField(const json::object& object, std::string_view field) {
  static const json::value kFalse = false;
  if (field == "source") {  // of events: a component in one of two places
    const json::value* component = internal::FindPath(object, {"source", "component"});
    return component != nullptr ? component : FindMember(object, "reportingComponent");
  }
  const json::object* at = &object;
  const json::value* value = nullptr;
  for (std::string_view rest = field; at != nullptr;) {
    const std::size_t dot = rest.find('.');
    value = FindMember(*at, rest.substr(0, dot));
    if (value == nullptr || dot == std::string_view::npos) break;
    at = value->if_object();
    rest.remove_prefix(dot + 1);
  }
  const bool is_flag = field == "spec.unschedulable" || field == "spec.hostNetwork";
  return value == nullptr && is_flag ? &kFalse : value;
}

// Kinds that are stored and that nobody of the embedded cluster looks after.
std::string Unattended(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"HorizontalPodAutoscaler", "none of its controllers scales by it"},
      {"ReplicationController", "none of its controllers makes the pods (a ReplicaSet's they do)"},
      {"Ingress", "nothing routes by it"},
      {"NetworkPolicy", "nothing enforces it"},
      {"ResourceQuota", "nothing enforces it"},
      {"LimitRange", "nothing enforces it"},
      {"CertificateSigningRequest", "nothing signs it"},
      {"Workload", "none of its controllers makes PodGroups of it"},
      {"APIService", "no requests are passed on to it"},
      {"MutatingWebhookConfiguration", "its webhooks are not called"},
      {"ValidatingWebhookConfiguration", "its webhooks are not called"},
      {"MutatingAdmissionPolicy", "it is not asked"},
      {"ValidatingAdmissionPolicy", "it is not asked"},
  };
  for (const auto& [each, what] : kKinds) {
    if (each == kind) return "berth's embedded cluster stores this " + std::string(kind) + ", but " + std::string(what);
  }
  return {};
}

void SetFunctions(ResourceType& type, const Entry& entry) {
  // The names are enough to find the schema; a copy keeps the functions free of pointers into the list.
  ResourceType names;
  names.group = type.group;
  names.version = type.version;
  names.kind = type.kind;
  type.set_defaults = [names, defaults = entry.defaults](json::object& object) {
    CanonicalizeQuantities(names, object);
    if (defaults != nullptr) defaults(object);
  };
  const bool is_service = type.kind == "Service";
  const bool is_definition = type.kind == "CustomResourceDefinition";
  type.prepare_create = [traits = entry.prepare](json::object& object) { internal::PrepareCreate(traits, object); };
  type.prepare_update = [traits = entry.prepare, is_service, is_definition](json::object& object,
                                                                            const json::object& old) {
    if (is_service) internal::PrepareServiceUpdate(object, old);
    internal::PrepareUpdate(traits, object, old);
    if (is_definition) RecordStoredVersion(object);
  };
  const SchemaType* const schema = FindSchema(type.group, type.version, type.kind);
  BERTH_CHECK(schema != nullptr, type.group, type.kind);
  type.validate = [schema](const json::object& object, const json::object* old) {
    return internal::Validate(*schema, object, old);
  };
}

ResourceType MakeType(const Entry& entry) {
  ResourceType type;
  type.group = entry.group;
  type.version = entry.version;
  type.kind = entry.kind;
  type.plural = entry.plural;
  type.singular = LowerCase(entry.kind);
  type.short_names = entry.short_names;
  if (entry.in_all) type.categories = {"all"};
  type.namespaced = entry.namespaced;
  type.has_status = entry.has_status;
  type.has_scale = entry.has_scale;
  type.is_stored = entry.is_stored;
  type.unattended = Unattended(type.kind);
  if (type.group == "events.k8s.io") {
    type.storage_group = "";
    type.storage_version = "v1";
  } else if (type.group == "autoscaling" && type.version == "v1") {
    type.storage_group = type.group;
    type.storage_version = "v2";
  }
  SetFunctions(type, entry);
  internal::Printing printing = internal::PrintingOf(type.kind);
  type.columns = std::move(printing.columns);
  type.row = std::move(printing.row);
  type.selectable_fields = entry.fields;
  type.field = SelectableField;
  return type;
}

}  // namespace

const std::vector<ResourceType>& ResourceTypes() {
  static const std::vector<ResourceType> kTypes = [] {
    std::vector<ResourceType> types;
    for (const Entry& entry : Entries()) types.push_back(MakeType(entry));
    for (const Entry& entry : MoreEntries()) types.push_back(MakeType(entry));
    for (const Entry& entry : Reviews()) types.push_back(MakeType(entry));
    for (const Entry& entry : PodGroupEntries()) types.push_back(MakeType(entry));
    for (const Entry& entry : Measurements()) types.push_back(MakeType(entry));
    return types;
  }();
  return kTypes;
}

const ResourceType* FindResource(std::string_view group, std::string_view version, std::string_view plural) {
  for (const ResourceType& type : ResourceTypes()) {
    if (type.plural == plural && type.group == group && type.version == version) return &type;
  }
  return nullptr;
}

}  // namespace berth::objects
