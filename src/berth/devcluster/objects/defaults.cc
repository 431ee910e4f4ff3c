// SPDX-License-Identifier: Apache-2.0
// What kube-apiserver 1.36 fills into the fields that a client left out.
#include "berth/devcluster/objects/defaults.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "berth/base/text.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects::internal {
namespace {

bool IsUnset(const json::value* value) {
  return value == nullptr || value->is_null() || (value->is_string() && value->get_string().empty());
}

// Strings count as unset when empty, as Go's zero value does.
void Default(json::object& object, std::string_view name, json::value value) {
  if (IsUnset(FindMember(object, name))) object[name] = std::move(value);
}

// Integers count as unset when zero.
void DefaultZero(json::object& object, std::string_view name, std::int64_t value) {
  if (IntMember(object, name) == 0) object[name] = value;
}

json::object* MutableMember(json::object& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->value().is_object() ? &found->value().get_object() : nullptr;
}

constexpr std::int64_t kHttpsPort = 443;

// What requests a webhook or an admission policy is about.
void DefaultMatching(json::object& owner, std::string_view rules) {
  Default(owner, "matchPolicy", "Equivalent");
  MutableObject(owner, "namespaceSelector");
  MutableObject(owner, "objectSelector");
  for (json::object* rule : MutableObjectsOf(owner, rules)) Default(*rule, "scope", "*");
}

// An image without tag and digest means "latest", which is always pulled again.
bool IsLatest(std::string_view image) {
  if (image.empty()) return false;
  const std::size_t at = image.find('@');
  const std::string_view name = image.substr(0, at);
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  const bool has_tag = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return has_tag ? name.substr(colon + 1) == "latest" : at == std::string_view::npos;
}

void DefaultProbe(json::object& probe) {
  DefaultZero(probe, "timeoutSeconds", 1);
  DefaultZero(probe, "periodSeconds", 10);
  DefaultZero(probe, "successThreshold", 1);
  DefaultZero(probe, "failureThreshold", 3);
  if (json::object* grpc = MutableMember(probe, "grpc")) {
    if (FindMember(*grpc, "service") == nullptr) (*grpc)["service"] = "";
  }
}

void DefaultHttpGet(json::object& handler) {
  if (json::object* get = MutableMember(handler, "httpGet")) {
    Default(*get, "path", "/");
    Default(*get, "scheme", "HTTP");
  }
}

void DefaultContainer(json::object& container) {
  Default(container, "imagePullPolicy", IsLatest(StringMember(container, "image")) ? "Always" : "IfNotPresent");
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  if (FindMember(container, "resources") == nullptr) container["resources"] = json::object();
  for (json::object* port : MutableObjectsOf(container, "ports")) Default(*port, "protocol", "TCP");
  for (json::object* variable : MutableObjectsOf(container, "env")) {
    if (json::object* from = MutableMember(*variable, "valueFrom")) {
      if (json::object* field = MutableMember(*from, "fieldRef")) Default(*field, "apiVersion", "v1");
    }
  }
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (json::object* probe = MutableMember(container, name)) {
      DefaultHttpGet(*probe);
      DefaultProbe(*probe);
    }
  }
  if (json::object* lifecycle = MutableMember(container, "lifecycle")) {
    for (const char* name : {"postStart", "preStop"}) {
      if (json::object* handler = MutableMember(*lifecycle, name)) DefaultHttpGet(*handler);
    }
  }
}

void DefaultVolume(json::object& volume) {
  if (volume.size() == (volume.contains("name") ? 1U : 0U)) volume["emptyDir"] = json::object();
  constexpr std::int64_t kMode = 0644;
  for (const char* source : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (json::object* found = MutableMember(volume, source)) Default(*found, "defaultMode", kMode);
  }
  if (json::object* path = MutableMember(volume, "hostPath")) {
    if (FindMember(*path, "type") == nullptr) (*path)["type"] = "";
  }
  if (json::object* projected = MutableMember(volume, "projected")) {
    for (json::object* source : MutableObjectsOf(*projected, "sources")) {
      if (json::object* token = MutableMember(*source, "serviceAccountToken")) {
        Default(*token, "expirationSeconds", 3600);
      }
    }
  }
  if (json::object* ephemeral = MutableMember(volume, "ephemeral")) {
    if (json::object* claim = MutableMember(*ephemeral, "volumeClaimTemplate")) {
      if (json::object* spec = MutableMember(*claim, "spec")) Default(*spec, "volumeMode", "Filesystem");
    }
  }
}

// The defaults that pods and pod templates have in common.
void DefaultPodSpec(json::object& spec) {
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "restartPolicy", "Always");
  Default(spec, "schedulerName", "default-scheduler");
  Default(spec, "terminationGracePeriodSeconds", 30);
  if (FindMember(spec, "securityContext") == nullptr) spec["securityContext"] = json::object();
  // One account under two names, the older of which clients still read.
  if (const std::string account(StringMember(spec, "serviceAccountName")); !account.empty()) {
    spec["serviceAccount"] = account;
  } else if (const std::string old_account(StringMember(spec, "serviceAccount")); !old_account.empty()) {
    spec["serviceAccountName"] = old_account;
  }
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (json::object* container : MutableObjectsOf(spec, list)) DefaultContainer(*container);
  }
  for (json::object* volume : MutableObjectsOf(spec, "volumes")) DefaultVolume(*volume);
}

void DefaultTemplate(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  DefaultPodSpec(MutableObject(MutableObject(spec, "template"), "spec"));
}

// What a Job and a CronJob's template of one have in common.
void DefaultJobSpec(json::object& spec) {
  if (FindMember(spec, "completions") == nullptr && FindMember(spec, "parallelism") == nullptr) spec["completions"] = 1;
  Default(spec, "parallelism", 1);
  constexpr std::int64_t kInt32Max = 2'147'483'647;
  Default(spec, "backoffLimit", FindMember(spec, "backoffLimitPerIndex") == nullptr ? 6 : kInt32Max);
  Default(spec, "completionMode", "NonIndexed");
  Default(spec, "suspend", false);
  Default(spec, "podReplacementPolicy",
          FindMember(spec, "podFailurePolicy") == nullptr ? "TerminatingOrFailed" : "Failed");
  Default(spec, "manualSelector", false);
  DefaultPodSpec(MutableObject(MutableObject(spec, "template"), "spec"));
}

void CopyLimitsToRequests(json::object& container) {
  json::object* resources = MutableMember(container, "resources");
  const json::object* limits = resources == nullptr ? nullptr : MutableMember(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const json::object wanted = *limits;
  json::object& requests = MutableObject(*resources, "requests");
  for (const auto& [name, amount] : wanted) {
    if (!requests.contains(name)) requests[name] = amount;
  }
}

// The admission plugin DefaultTolerationSeconds: five minutes of grace on a node that fails, unless the pod says
// otherwise.
void AddFailureTolerations(json::object& spec) {
  for (const std::string_view key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool is_tolerated = false;
    for (const json::object* toleration : ObjectsOf(spec, "tolerations")) {
      const std::string_view own_key = StringMember(*toleration, "key");
      const std::string_view effect = StringMember(*toleration, "effect");
      if ((own_key.empty() || own_key == key) && (effect.empty() || effect == "NoExecute")) is_tolerated = true;
    }
    if (is_tolerated) continue;
    json::object toleration;
    toleration["key"] = key;
    toleration["operator"] = "Exists";
    toleration["effect"] = "NoExecute";
    toleration["tolerationSeconds"] = 300;
    json::value& list = spec["tolerations"];
    if (!list.is_array()) list = json::array();
    list.get_array().push_back(std::move(toleration));
  }
}

// Two classes exist in every cluster; others are resolved by ResolvePodPriority, which sees the store.
void DefaultPriority(json::object& spec) {
  const std::string_view name = StringMember(spec, "priorityClassName");
  if (name == "system-node-critical") {
    Default(spec, "priority", 2000001000);
  } else if (name == "system-cluster-critical") {
    Default(spec, "priority", 2000000000);
  } else if (name.empty()) {
    Default(spec, "priority", 0);
  } else {
    return;
  }
  Default(spec, "preemptionPolicy", "PreemptLowerPriority");
}

void DefaultClaimSpec(json::object& spec) { Default(spec, "volumeMode", "Filesystem"); }

void DefaultDeviceRequests(json::object& spec) {
  json::object* devices = MutableMember(spec, "devices");
  if (devices == nullptr) return;
  const auto set = [](json::object& request) {
    Default(request, "allocationMode", "ExactCount");
    if (StringMember(request, "allocationMode") == "ExactCount") DefaultZero(request, "count", 1);
  };
  for (json::object* request : MutableObjectsOf(*devices, "requests")) {
    if (json::object* exactly = MutableMember(*request, "exactly")) set(*exactly);
    for (json::object* option : MutableObjectsOf(*request, "firstAvailable")) set(*option);
  }
}

}  // namespace

void DefaultPod(json::object& pod) {
  json::object& spec = MutableObject(pod, "spec");
  DefaultPodSpec(spec);
  for (const char* list : {"containers", "initContainers"}) {
    for (json::object* container : MutableObjectsOf(spec, list)) {
      CopyLimitsToRequests(*container);
      if (!BoolMember(spec, "hostNetwork")) continue;
      for (json::object* port : MutableObjectsOf(*container, "ports")) {
        DefaultZero(*port, "hostPort", IntMember(*port, "containerPort"));
      }
    }
  }
  CopyLimitsToRequests(spec);  // of the pod as a whole
  Default(spec, "enableServiceLinks", true);
  DefaultPriority(spec);
  AddFailureTolerations(spec);
}

void DefaultReplicationController(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "replicas", 1);
  if (ObjectMember(spec, "template") == nullptr) return;
  DefaultTemplate(object);
  const json::object* labels = ObjectAt(object, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr) return;
  const json::object copy = *labels;
  if (MutableObject(spec, "selector").empty()) spec["selector"] = copy;
  json::object& metadata = MutableObject(object, "metadata");
  if (MutableObject(metadata, "labels").empty()) metadata["labels"] = copy;
}

void DefaultDeployment(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "replicas", 1);
  Default(spec, "revisionHistoryLimit", 10);
  Default(spec, "progressDeadlineSeconds", 600);
  json::object& strategy = MutableObject(spec, "strategy");
  Default(strategy, "type", "RollingUpdate");
  if (StringMember(strategy, "type") == "RollingUpdate") {
    json::object& rolling = MutableObject(strategy, "rollingUpdate");
    Default(rolling, "maxUnavailable", "25%");
    Default(rolling, "maxSurge", "25%");
  }
  DefaultTemplate(object);
}

void DefaultReplicaSet(json::object& object) {
  Default(MutableObject(object, "spec"), "replicas", 1);
  DefaultTemplate(object);
}

void DefaultStatefulSet(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "podManagementPolicy", "OrderedReady");
  json::object& strategy = MutableObject(spec, "updateStrategy");
  if (StringMember(strategy, "type").empty()) {
    strategy["type"] = "RollingUpdate";
    MutableObject(strategy, "rollingUpdate");
  }
  if (json::object* rolling = MutableMember(strategy, "rollingUpdate")) Default(*rolling, "partition", 0);
  json::object& retention = MutableObject(spec, "persistentVolumeClaimRetentionPolicy");
  Default(retention, "whenDeleted", "Retain");
  Default(retention, "whenScaled", "Retain");
  Default(spec, "replicas", 1);
  Default(spec, "revisionHistoryLimit", 10);
  for (json::object* claim : MutableObjectsOf(spec, "volumeClaimTemplates")) {
    Default(*claim, "apiVersion", "v1");
    Default(*claim, "kind", "PersistentVolumeClaim");
    DefaultClaimSpec(MutableObject(*claim, "spec"));
    Default(MutableObject(*claim, "status"), "phase", "Pending");
  }
  DefaultTemplate(object);
}

void DefaultDaemonSet(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  json::object& strategy = MutableObject(spec, "updateStrategy");
  Default(strategy, "type", "RollingUpdate");
  if (StringMember(strategy, "type") == "RollingUpdate") {
    json::object& rolling = MutableObject(strategy, "rollingUpdate");
    Default(rolling, "maxUnavailable", 1);
    Default(rolling, "maxSurge", 0);
  }
  Default(spec, "revisionHistoryLimit", 10);
  DefaultTemplate(object);
}

void DefaultNode(json::object& node) {
  MutableObject(node, "spec");
  json::object& status = MutableObject(node, "status");
  const json::object* capacity = ObjectMember(status, "capacity");
  if (capacity != nullptr && ObjectMember(status, "allocatable") == nullptr) {
    const json::object copy = *capacity;
    status["allocatable"] = copy;
  }
}

void DefaultNamespace(json::object& object) {
  json::object& metadata = MutableObject(object, "metadata");
  if (const std::string name(StringMember(metadata, "name")); !name.empty()) {
    MutableObject(metadata, "labels")["kubernetes.io/metadata.name"] = name;
  }
  MutableObject(object, "spec");
  Default(MutableObject(object, "status"), "phase", "Active");
}

void DefaultService(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "type", "ClusterIP");
  Default(spec, "sessionAffinity", "None");
  if (StringMember(spec, "sessionAffinity") == "ClientIP") {
    Default(MutableObject(MutableObject(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", 10800);
  } else {
    spec.erase("sessionAffinityConfig");
  }
  for (json::object* port : MutableObjectsOf(spec, "ports")) {
    Default(*port, "protocol", "TCP");
    const json::value* target = FindMember(*port, "targetPort");
    const bool is_zero = target != nullptr && target->is_int64() && target->get_int64() == 0;
    if (IsUnset(target) || is_zero) (*port)["targetPort"] = IntMember(*port, "port");
  }
  const std::string type(StringMember(spec, "type"));  // a copy: the members move as others are added
  if (type != "ExternalName") Default(spec, "internalTrafficPolicy", "Cluster");
  if (type == "NodePort" || type == "LoadBalancer") Default(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") Default(spec, "allocateLoadBalancerNodePorts", true);
}

void DefaultEndpoints(json::object& object) {
  for (json::object* subset : MutableObjectsOf(object, "subsets")) {
    for (json::object* port : MutableObjectsOf(*subset, "ports")) Default(*port, "protocol", "TCP");
  }
}

void DefaultSecret(json::object& object) { Default(object, "type", "Opaque"); }

void DefaultPersistentVolume(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "persistentVolumeReclaimPolicy", "Retain");
  Default(spec, "volumeMode", "Filesystem");
  if (json::object* path = MutableMember(spec, "hostPath")) {
    if (FindMember(*path, "type") == nullptr) (*path)["type"] = "";
  }
  Default(MutableObject(object, "status"), "phase", "Pending");
}

void DefaultPersistentVolumeClaim(json::object& object) {
  DefaultClaimSpec(MutableObject(object, "spec"));
  Default(MutableObject(object, "status"), "phase", "Pending");
}

void DefaultStorageClass(json::object& object) {
  Default(object, "reclaimPolicy", "Delete");
  Default(object, "volumeBindingMode", "Immediate");
}

void DefaultCsiDriver(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "attachRequired", true);
  Default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  for (const char* name : {"podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"}) {
    Default(spec, name, false);
  }
  if (ObjectMember(spec, "volumeLifecycleModes") == nullptr && ArrayMember(spec, "volumeLifecycleModes") == nullptr) {
    spec["volumeLifecycleModes"] = json::array{"Persistent"};
  }
}

void DefaultPriorityClass(json::object& object) { Default(object, "preemptionPolicy", "PreemptLowerPriority"); }

void DefaultResourceClaim(json::object& object) { DefaultDeviceRequests(MutableObject(object, "spec")); }

void DefaultResourceClaimTemplate(json::object& object) {
  DefaultDeviceRequests(MutableObject(MutableObject(object, "spec"), "spec"));
}

void DefaultResourceSlice(json::object& object) {
  for (json::object* device : MutableObjectsOf(MutableObject(object, "spec"), "devices")) {
    json::object* mappings = MutableMember(*device, "nodeAllocatableResourceMappings");
    if (mappings == nullptr) continue;
    for (auto& mapping : *mappings) {
      if (mapping.value().is_object()) Default(mapping.value().get_object(), "allocationMultiplier", "1");
    }
  }
}

void DefaultEvent(json::object& object) {
  // Clients read these without asking whether they are there.
  if (FindMember(object, "involvedObject") != nullptr) {
    if (FindMember(object, "source") == nullptr) object["source"] = json::object();
    for (const char* name : {"reportingComponent", "reportingInstance"}) {
      if (FindMember(object, name) == nullptr) object[name] = "";
    }
  }
}

void DefaultPodTemplate(json::object& object) {
  DefaultPodSpec(MutableObject(MutableObject(object, "template"), "spec"));
}

void DefaultJob(json::object& object) {
  DefaultJobSpec(MutableObject(object, "spec"));
  const json::object* labels = ObjectAt(object, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr || !Part(Part(object, "metadata"), "labels").empty()) return;
  const json::object copy = *labels;
  MutableObject(object, "metadata")["labels"] = copy;
}

void DefaultCronJob(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "concurrencyPolicy", "Allow");
  Default(spec, "suspend", false);
  Default(spec, "successfulJobsHistoryLimit", 3);
  Default(spec, "failedJobsHistoryLimit", 1);
  json::object& job = MutableObject(MutableObject(spec, "jobTemplate"), "spec");
  // Upstream leaves the template's own Job as it is, but for its pods.
  DefaultPodSpec(MutableObject(MutableObject(job, "template"), "spec"));
}

void DefaultHorizontalPodAutoscaler(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "minReplicas", 1);
  if (!ObjectsOf(spec, "metrics").empty()) return;
  spec["metrics"] = json::array{json::object{
      {"type", "Resource"},
      {"resource",
       json::object{{"name", "cpu"}, {"target", json::object{{"type", "Utilization"}, {"averageUtilization", 80}}}}}}};
}

void DefaultHorizontalPodAutoscalerV1(json::object& object) {
  Default(MutableObject(object, "spec"), "minReplicas", 1);
}

void DefaultNetworkPolicy(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  for (const char* direction : {"ingress", "egress"}) {
    for (json::object* rule : MutableObjectsOf(spec, direction)) {
      for (json::object* port : MutableObjectsOf(*rule, "ports")) Default(*port, "protocol", "TCP");
    }
  }
  if (ArrayMember(spec, "policyTypes") != nullptr) return;
  json::array types{"Ingress"};
  if (!ObjectsOf(spec, "egress").empty()) types.emplace_back("Egress");
  spec["policyTypes"] = std::move(types);
}

void DefaultRoleBinding(json::object& object) {
  constexpr const char* kRbac = "rbac.authorization.k8s.io";
  if (json::object* role = MutableMember(object, "roleRef")) Default(*role, "apiGroup", kRbac);
  for (json::object* subject : MutableObjectsOf(object, "subjects")) {
    const std::string_view kind = StringMember(*subject, "kind");
    if (kind == "User" || kind == "Group") Default(*subject, "apiGroup", kRbac);
  }
}

void DefaultCustomResourceDefinition(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  json::object& names = MutableObject(spec, "names");
  const std::string kind(StringMember(names, "kind"));
  if (!kind.empty()) {
    Default(names, "singular", json::string(LowerCase(kind)));
    Default(names, "listKind", json::string(kind + "List"));
  }
  Default(MutableObject(spec, "conversion"), "strategy", "None");
}

void DefaultEndpointSlice(json::object& object) {
  for (json::object* port : MutableObjectsOf(object, "ports")) {
    if (FindMember(*port, "name") == nullptr) (*port)["name"] = "";
    Default(*port, "protocol", "TCP");
  }
  for (json::object* endpoint : MutableObjectsOf(object, "endpoints")) MutableObject(*endpoint, "conditions");
}

void DefaultApiService(json::object& object) {
  if (json::object* service = MutableMember(MutableObject(object, "spec"), "service")) {
    Default(*service, "port", kHttpsPort);
  }
}

void DefaultPriorityLevel(json::object& object) {
  if (json::object* limited = MutableMember(MutableObject(object, "spec"), "limited")) {
    Default(*limited, "nominalConcurrencyShares", 30);
    Default(*limited, "lendablePercent", 0);
  }
}

void DefaultMutatingWebhooks(json::object& object) {
  DefaultValidatingWebhooks(object);
  for (json::object* webhook : MutableObjectsOf(object, "webhooks")) Default(*webhook, "reinvocationPolicy", "Never");
}

void DefaultValidatingWebhooks(json::object& object) {
  for (json::object* webhook : MutableObjectsOf(object, "webhooks")) {
    Default(*webhook, "failurePolicy", "Fail");
    Default(*webhook, "timeoutSeconds", 10);
    DefaultMatching(*webhook, "rules");
    json::object* client = MutableMember(*webhook, "clientConfig");
    json::object* service = client == nullptr ? nullptr : MutableMember(*client, "service");
    if (service != nullptr) Default(*service, "port", kHttpsPort);
  }
}

void DefaultAdmissionPolicy(json::object& object) {
  json::object& spec = MutableObject(object, "spec");
  Default(spec, "failurePolicy", "Fail");
  json::object* constraints = MutableMember(spec, "matchConstraints");
  if (constraints != nullptr) DefaultMatching(*constraints, "resourceRules");
}

void DefaultPodGroup(json::object& group) {
  json::object& spec = MutableObject(group, "spec");
  if (FindMember(spec, "disruptionMode") == nullptr) spec["disruptionMode"] = json::object{{"single", json::object()}};
  Default(spec, "preemptionPolicy", "PreemptLowerPriority");
}

}  // namespace berth::objects::internal
