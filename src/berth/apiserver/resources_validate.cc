// Validation of every kind but the pod and those of resource.k8s.io.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/apiserver/resources_internal.h"
#include "berth/base/time.h"

namespace berth::apiserver::internal {
namespace {

constexpr std::string_view kImmutable = "field is immutable";
const json::object kEmpty;

const json::object& SpecOf(const json::object& object) {
  const json::object* spec = ObjectMember(object, "spec");
  return spec == nullptr ? kEmpty : *spec;
}

json::value ValueOr(const json::value* value) { return value == nullptr ? json::value(nullptr) : *value; }

bool SelectorMatches(const json::object& selector, const json::object& labels) {
  if (const json::object* pairs = ObjectMember(selector, "matchLabels")) {
    for (const auto& [key, value] : *pairs) {
      const json::value* own = labels.if_contains(key);
      if (own == nullptr || *own != value) return false;
    }
  }
  for (const json::object* requirement : ObjectsOf(selector, "matchExpressions")) {
    const json::value* own = FindMember(labels, StringMember(*requirement, "key"));
    const json::array* values = ArrayMember(*requirement, "values");
    const bool is_listed =
        own != nullptr && values != nullptr && std::find(values->begin(), values->end(), *own) != values->end();
    const std::string_view op = StringMember(*requirement, "operator");
    if (op == "In" && !is_listed) return false;
    if (op == "NotIn" && is_listed) return false;
    if (op == "Exists" && own == nullptr) return false;
    if (op == "DoesNotExist" && own != nullptr) return false;
  }
  return true;
}

bool IsEmptySelector(const json::object& selector) {
  const json::object* labels = ObjectMember(selector, "matchLabels");
  return (labels == nullptr || labels->empty()) && ObjectsOf(selector, "matchExpressions").empty();
}

void ValidateImmutable(const json::object& now, const json::object& before, std::string_view member,
                       const std::string& field, Errors& errors) {
  const json::value value = ValueOr(FindMember(now, member));
  if (value != ValueOr(FindMember(before, member))) errors.push_back(Invalid(field, value, kImmutable));
}

struct WorkloadRules {
  std::string_view kind_word;  // "deployment"
  bool selector_required = true;
  bool is_selector_immutable = true;
  bool must_restart_always = true;
};

// The selector and the template, which all workloads have.
void ValidateWorkload(const json::object& object, const json::object* old, const WorkloadRules& rules, Errors& errors) {
  const json::object& spec = SpecOf(object);
  const json::object* selector = ObjectMember(spec, "selector");
  bool is_usable = false;
  if (selector == nullptr) {
    if (rules.selector_required) errors.push_back(Required("spec.selector"));
  } else {
    const std::size_t before = errors.size();
    ValidateLabelSelector(*selector, "spec.selector", errors);
    is_usable = errors.size() == before;
    if (is_usable && IsEmptySelector(*selector)) {
      errors.push_back(
          Invalid("spec.selector", *selector, "empty selector is invalid for " + std::string(rules.kind_word)));
      is_usable = false;
    } else if (!is_usable) {
      errors.push_back(Invalid("spec.selector", *selector, "invalid label selector"));
    }
  }
  const json::object* found = ObjectMember(spec, "template");
  const json::object& pod_template = found == nullptr ? kEmpty : *found;
  const json::object* labels = ObjectAt(pod_template, {"metadata", "labels"});
  const bool mismatches =
      selector == nullptr || (is_usable && !SelectorMatches(*selector, labels == nullptr ? kEmpty : *labels));
  if (mismatches) {
    errors.push_back(Invalid("spec.template.metadata.labels",
                             labels == nullptr ? json::value(nullptr) : json::value(*labels),
                             "`selector` does not match template `labels`"));
  }
  if (const json::object* metadata = ObjectMember(pod_template, "metadata")) {
    ValidateLabels(*metadata, "labels", "spec.template.labels", errors);
  }
  const json::object* old_spec = old == nullptr ? nullptr : ObjectMember(*old, "spec");
  // Scaling and status updates leave the template as it was found good.
  const json::value* old_template = old_spec == nullptr ? nullptr : FindMember(*old_spec, "template");
  if (old_template == nullptr || found == nullptr || *old_template != json::value(*found)) {
    ValidatePodSpec(SpecOf(pod_template), "spec.template.spec", {true, rules.must_restart_always}, errors);
  }
  if (old_spec != nullptr && rules.is_selector_immutable) {
    ValidateImmutable(spec, *old_spec, "selector", "spec.selector", errors);
  }
}

std::int64_t PercentOf(const json::object& object, std::string_view member) {
  const std::string_view text = StringMember(object, member);
  if (text.empty() || text.size() > 10 || !api::NotPercent(text).empty()) return 0;
  return std::stoll(std::string(text.substr(0, text.size() - 1)));
}

void ValidateAtMostAll(const json::object& object, std::string_view member, const std::string& field, Errors& errors) {
  if (PercentOf(object, member) > 100) {
    errors.push_back(
        Invalid(field + "." + std::string(member), *FindMember(object, member), "must not be greater than 100%"));
  }
}

bool IsZeroAmount(const json::object& object, std::string_view member) {
  const json::value* value = FindMember(object, member);
  if (value == nullptr) return true;
  return value->is_string() ? PercentOf(object, member) == 0 : IntMember(object, member) == 0;
}

void ValidateStatusCounts(const json::object& object, std::initializer_list<std::string_view> members, Errors& errors) {
  const json::object* status = ObjectMember(object, "status");
  if (status == nullptr) return;
  for (const std::string_view member : members) ValidateNonNegative(*status, member, "status", errors);
}

void ValidateKeys(const json::object& object, std::string_view member, Errors& errors) {
  const json::object* data = ObjectMember(object, member);
  if (data == nullptr) return;
  for (const auto& pair : *data) {
    AddInvalid(errors, std::string(member) + "[" + std::string(pair.key()) + "]", pair.key(),
               api::NotConfigKey(pair.key()));
  }
}

std::optional<api::Quantity> QuantityAt(const json::object& object, std::string_view member) {
  const json::value* value = FindMember(object, member);
  if (value == nullptr) return std::nullopt;
  auto parsed = api::Quantity::Parse(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

}  // namespace

void ValidateDeployment(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateWorkload(object, old, {"deployment"}, errors);
  if (const json::object* strategy = ObjectMember(spec, "strategy")) {
    const std::string_view type = StringMember(*strategy, "type");
    const json::object* rolling = ObjectMember(*strategy, "rollingUpdate");
    if (type == "Recreate") {
      if (rolling != nullptr) {
        errors.push_back(
            Forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"));
      }
    } else if (type != "RollingUpdate") {
      errors.push_back(NotSupported("spec.strategy", *strategy, {"Recreate", "RollingUpdate"}));
    } else if (rolling != nullptr) {
      const std::string field = "spec.strategy.rollingUpdate";
      ValidateIntOrPercent(*rolling, "maxUnavailable", field, errors);
      ValidateIntOrPercent(*rolling, "maxSurge", field, errors);
      if (IsZeroAmount(*rolling, "maxUnavailable") && IsZeroAmount(*rolling, "maxSurge")) {
        errors.push_back(Invalid(field + ".maxUnavailable", ValueOr(FindMember(*rolling, "maxUnavailable")),
                                 "may not be 0 when `maxSurge` is 0"));
      }
      ValidateAtMostAll(*rolling, "maxUnavailable", field, errors);
    }
  }
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  ValidateNonNegative(spec, "revisionHistoryLimit", "spec", errors);
  ValidateNonNegative(spec, "progressDeadlineSeconds", "spec", errors);
  const std::int64_t deadline = IntMember(spec, "progressDeadlineSeconds");
  const std::int64_t min_ready = IntMember(spec, "minReadySeconds");
  if (FindMember(spec, "progressDeadlineSeconds") != nullptr && min_ready >= 0 && deadline <= min_ready) {
    errors.push_back(Invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
  }
  ValidateStatusCounts(object,
                       {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
                        "unavailableReplicas"},
                       errors);
}

void ValidateReplicaSet(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  ValidateWorkload(object, old, {"deployment"}, errors);
  ValidateStatusCounts(
      object, {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"}, errors);
}

void ValidateStatefulSet(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  const std::string_view name = StringAt(object, {"metadata", "name"});
  AddInvalid(errors, "metadata.name", name, api::NotDnsLabel(name));
  const std::string_view policy = StringMember(spec, "podManagementPolicy");
  if (policy != "OrderedReady" && policy != "Parallel") {
    errors.push_back(Invalid("spec.podManagementPolicy", json::value(policy), "must be 'OrderedReady' or 'Parallel'"));
  }
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  if (const std::string_view service = StringMember(spec, "serviceName"); !service.empty()) {
    AddInvalid(errors, "spec.serviceName", service, api::NotDnsLabel(service));
  }
  ValidateWorkload(object, old, {"statefulset", true, false, true}, errors);
  if (old == nullptr) return;
  static const std::set<std::string_view> kMutable = {"replicas",
                                                      "ordinals",
                                                      "template",
                                                      "updateStrategy",
                                                      "revisionHistoryLimit",
                                                      "persistentVolumeClaimRetentionPolicy",
                                                      "minReadySeconds"};
  const json::object& old_spec = SpecOf(*old);
  bool has_changed = false;
  for (const json::object* side : {&spec, &old_spec}) {
    for (const auto& pair : *side) {
      if (kMutable.contains(pair.key())) continue;
      has_changed = has_changed || ValueOr(FindMember(spec, pair.key())) != ValueOr(FindMember(old_spec, pair.key()));
    }
  }
  if (has_changed) {
    errors.push_back(Forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
        "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
  }
}

void ValidateDaemonSet(const json::object& object, const json::object* old, Errors& errors) {
  ValidateWorkload(object, old, {"daemonset", false}, errors);
  ValidateNonNegative(SpecOf(object), "minReadySeconds", "spec", errors);
  ValidateNonNegative(SpecOf(object), "revisionHistoryLimit", "spec", errors);
}

void ValidateReplicationController(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  const json::object* selector = ObjectMember(spec, "selector");
  if (selector == nullptr || selector->empty()) errors.push_back(Required("spec.selector"));
  ValidateLabels(spec, "selector", "spec.selector", errors);
  const json::object* pod_template = ObjectMember(spec, "template");
  if (pod_template == nullptr) {
    errors.push_back(Required("spec.template"));
    return;
  }
  const json::object* labels = ObjectAt(*pod_template, {"metadata", "labels"});
  json::object wrapped;
  if (selector != nullptr) wrapped["matchLabels"] = *selector;
  if (!SelectorMatches(wrapped, labels == nullptr ? kEmpty : *labels)) {
    errors.push_back(Invalid("spec.template.metadata.labels",
                             labels == nullptr ? json::value(nullptr) : json::value(*labels),
                             "`selector` does not match template `labels`"));
  }
  ValidatePodSpec(SpecOf(*pod_template), "spec.template.spec", {true, true}, errors);
}

void ValidateNode(const json::object& object, const json::object*, Errors& errors) {
  ValidateTaints(object, errors);
  if (const json::object* status = ObjectMember(object, "status")) {
    ValidateQuantities(*status, "capacity", "status.capacity", false, errors);
    ValidateQuantities(*status, "allocatable", "status.allocatable", false, errors);
  }
}

void ValidateService(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  const std::vector<const json::object*> ports = ObjectsOf(spec, "ports");
  const std::string_view type = StringMember(spec, "type");
  const bool is_headless = StringMember(spec, "clusterIP") == "None";
  if (ports.empty() && !is_headless && type != "ExternalName") errors.push_back(Required("spec.ports"));
  if (type == "ExternalName" && StringMember(spec, "externalName").empty()) {
    errors.push_back(Required("spec.externalName"));
  }
  std::set<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string path = "spec.ports[" + std::to_string(i) + "]";
    const std::string name(StringMember(*ports[i], "name"));
    if (name.empty()) {
      if (ports.size() > 1) errors.push_back(Required(path + ".name"));
    } else {
      AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
      if (!names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    }
    const std::int64_t port = IntMember(*ports[i], "port");
    if (port < 1 || port > 65535) {
      errors.push_back(Invalid(path + ".port", port, "must be between 1 and 65535, inclusive"));
    }
    ValidateOneOf(*ports[i], "protocol", path, {"SCTP", "TCP", "UDP"}, errors);
    if (const json::value* target = FindMember(*ports[i], "targetPort")) {
      if (target->is_string()) {
        AddInvalid(errors, path + ".targetPort", View(target->get_string()),
                   api::NotPortName(View(target->get_string())));
      } else if (IntMember(*ports[i], "targetPort") < 1 || IntMember(*ports[i], "targetPort") > 65535) {
        errors.push_back(Invalid(path + ".targetPort", *target, "must be between 1 and 65535, inclusive"));
      }
    }
    if (!taken.insert(std::to_string(port) + "/" + std::string(StringMember(*ports[i], "protocol"))).second) {
      errors.push_back(Duplicate(path, *ports[i]));
    }
  }
  ValidateLabels(spec, "selector", "spec.selector", errors);
  ValidateOneOf(spec, "sessionAffinity", "spec", {"ClientIP", "None"}, errors);
  ValidateOneOf(spec, "type", "spec", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, errors);
  if (old == nullptr) return;
  const json::value* before = FindPath(*old, {"spec", "clusterIP"});
  if (before != nullptr && type != "ExternalName" && ValueOr(FindMember(spec, "clusterIP")) != *before) {
    errors.push_back(
        Invalid("spec.clusterIPs[0]", json::array{ValueOr(FindMember(spec, "clusterIP"))}, "may not change once set"));
  }
}

void ValidateConfigMap(const json::object& object, const json::object* old, Errors& errors) {
  ValidateKeys(object, "data", errors);
  ValidateKeys(object, "binaryData", errors);
  const json::object* data = ObjectMember(object, "data");
  const json::object* binary = ObjectMember(object, "binaryData");
  if (data != nullptr && binary != nullptr) {
    for (const auto& pair : *data) {
      if (binary->contains(pair.key())) {
        errors.push_back(Invalid("data[" + std::string(pair.key()) + "]", json::value(pair.key()),
                                 "duplicate of key present in binaryData"));
      }
    }
  }
  if (old != nullptr && BoolMember(*old, "immutable")) {
    for (const char* member : {"data", "binaryData"}) {
      if (ValueOr(FindMember(object, member)) != ValueOr(FindMember(*old, member))) {
        errors.push_back(Forbidden(member, "field is immutable when `immutable` is set"));
      }
    }
  }
}

void ValidateSecret(const json::object& object, const json::object* old, Errors& errors) {
  ValidateKeys(object, "data", errors);
  if (old == nullptr) return;
  ValidateImmutable(object, *old, "type", "type", errors);
  if (BoolMember(*old, "immutable") && ValueOr(FindMember(object, "data")) != ValueOr(FindMember(*old, "data"))) {
    errors.push_back(Forbidden("data", "field is immutable when `immutable` is set"));
  }
}

namespace {
const std::vector<std::string_view> kAccessModes = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                    "ReadWriteOncePod"};

void ValidateAccessModes(const json::object& spec, const std::string& owner_field, std::string_view detail,
                         Errors& errors) {
  const std::string field = owner_field + ".accessModes";
  const json::array* modes = ArrayMember(spec, "accessModes");
  if (modes == nullptr || modes->empty()) {
    errors.push_back(Required(field, detail));
    return;
  }
  for (const json::value& mode : *modes) {
    if (mode.is_string() &&
        std::find(kAccessModes.begin(), kAccessModes.end(), View(mode.get_string())) == kAccessModes.end()) {
      errors.push_back(NotSupported(field, mode, kAccessModes));
    }
  }
  if (modes->size() > 1 && std::find(modes->begin(), modes->end(), json::value("ReadWriteOncePod")) != modes->end()) {
    errors.push_back(Forbidden(field, "may not use ReadWriteOncePod with other access modes"));
  }
}
bool IsVolumeSource(std::string_view name, const json::value& value) {
  return value.is_object() && name != "capacity" && name != "claimRef" && name != "nodeAffinity";
}

// The one source of a volume's spec. What a driver needs to grow the volume may be added to it later.
json::object VolumeSourceOf(const json::object& spec) {
  json::object source;
  for (const auto& [name, value] : spec) {
    if (!IsVolumeSource(name, value)) continue;
    source[name] = value;
    if (name == "csi") source[name].get_object().erase("controllerExpandSecretRef");
  }
  return source;
}
}  // namespace

void ValidatePersistentVolume(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateAccessModes(spec, "spec", "", errors);
  const json::object* capacity = ObjectMember(spec, "capacity");
  if (capacity == nullptr || capacity->empty()) errors.push_back(Required("spec.capacity"));
  ValidateQuantities(spec, "capacity", "spec.capacity", true, errors);
  ValidateOneOf(spec, "persistentVolumeReclaimPolicy", "spec", {"Delete", "Recycle", "Retain"}, errors);
  ValidateOneOf(spec, "volumeMode", "spec", {"Block", "Filesystem"}, errors);
  if (const json::object* affinity = ObjectMember(spec, "nodeAffinity")) {
    const json::object* required = ObjectMember(*affinity, "required");
    if (required == nullptr) {
      errors.push_back(Required("spec.nodeAffinity.required", "must specify required node constraints"));
    } else {
      ValidateNodeSelector(*required, "spec.nodeAffinity.required", errors);
    }
  }
  int sources = 0;
  for (const auto& [name, value] : spec) {
    if (!IsVolumeSource(name, value)) continue;
    if (++sources > 1)
      errors.push_back(Forbidden("spec." + std::string(name), "may not specify more than 1 volume type"));
  }
  if (sources == 0) errors.push_back(Required("spec", "must specify a volume type"));
  if (ObjectMember(spec, "local") != nullptr && ObjectMember(spec, "nodeAffinity") == nullptr) {
    errors.push_back(Required("spec.nodeAffinity", "Local volume requires node affinity"));
  }
  if (old == nullptr) return;
  const json::object& old_spec = SpecOf(*old);
  if (VolumeSourceOf(spec) != VolumeSourceOf(old_spec)) {
    errors.push_back(
        Forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"));
  }
  ValidateImmutable(spec, old_spec, "volumeMode", "volumeMode", errors);
  if (ObjectMember(old_spec, "nodeAffinity") != nullptr) {
    ValidateImmutable(spec, old_spec, "nodeAffinity", "nodeAffinity", errors);
  }
}

void ValidateClaimSpecOfVolume(const json::object& spec, const std::string& field, Errors& errors) {
  ValidateAccessModes(spec, field, "at least 1 access mode is required", errors);
  if (const json::object* selector = ObjectMember(spec, "selector")) {
    ValidateLabelSelector(*selector, field + ".selector", errors);
  }
  const json::object* requests = ObjectAt(spec, {"resources", "requests"});
  const std::optional<api::Quantity> storage = requests == nullptr ? std::nullopt : QuantityAt(*requests, "storage");
  if (!storage) {
    errors.push_back(Required(field + ".resources[storage]"));
  } else if (storage->IsZero() || storage->IsNegative()) {
    errors.push_back(
        Invalid(field + ".resources[storage]", *FindMember(*requests, "storage"), "must be greater than zero"));
  }
  if (const std::string_view name = StringMember(spec, "storageClassName"); !name.empty()) {
    AddInvalid(errors, field + ".storageClassName", name, api::NotDnsSubdomain(name));
  }
  ValidateOneOf(spec, "volumeMode", field, {"Block", "Filesystem"}, errors);
}

void ValidatePersistentVolumeClaim(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateClaimSpecOfVolume(spec, "spec", errors);
  if (old == nullptr) return;
  // The binder fills in the volume's name once; of a bound claim the size may be asked to grow.
  json::object now = spec;
  json::object before = SpecOf(*old);
  std::vector<std::string_view> free_members;
  for (const char* member : {"volumeName", "storageClassName"}) {
    if (StringMember(before, member).empty()) free_members.push_back(member);
  }
  if (StringAt(object, {"status", "phase"}) == "Bound") {
    free_members.insert(free_members.end(), {"resources", "volumeAttributesClassName"});
  }
  for (const std::string_view member : free_members) {
    now.erase(member);
    before.erase(member);
  }
  if (now != before) {
    errors.push_back(
        Forbidden("spec",
                  "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                  "for bound claims"));
  }
  const json::object* requests = ObjectAt(object, {"spec", "resources", "requests"});
  const json::object* old_requests = ObjectAt(*old, {"spec", "resources", "requests"});
  const json::object* capacity = ObjectAt(*old, {"status", "capacity"});
  if (requests == nullptr || old_requests == nullptr) return;
  const std::optional<api::Quantity> size = QuantityAt(*requests, "storage");
  const std::optional<api::Quantity> old_size = QuantityAt(*old_requests, "storage");
  if (!size || !old_size || !(*size < *old_size)) return;
  const std::optional<api::Quantity> held = capacity == nullptr ? std::nullopt : QuantityAt(*capacity, "storage");
  if (held && !(*held < *size)) {
    errors.push_back(Forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
}

void ValidatePodDisruptionBudget(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = SpecOf(object);
  if (FindMember(spec, "minAvailable") != nullptr && FindMember(spec, "maxUnavailable") != nullptr) {
    errors.push_back(Invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const char* member : {"minAvailable", "maxUnavailable"}) {
    ValidateIntOrPercent(spec, member, "spec", errors);
    ValidateAtMostAll(spec, member, "spec", errors);
  }
  ValidateOneOf(spec, "unhealthyPodEvictionPolicy", "spec", {"AlwaysAllow", "IfHealthyBudget"}, errors);
  if (const json::object* selector = ObjectMember(spec, "selector")) {
    ValidateLabelSelector(*selector, "spec.selector", errors);
  }
}

void ValidateLease(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = SpecOf(object);
  if (const json::value* duration = FindMember(spec, "leaseDurationSeconds");
      duration != nullptr && IntMember(spec, "leaseDurationSeconds") <= 0) {
    errors.push_back(Invalid("spec.leaseDurationSeconds", *duration, "must be greater than 0"));
  }
  ValidateNonNegative(spec, "leaseTransitions", "spec", errors);
}

void ValidateStorageClass(const json::object& object, const json::object* old, Errors& errors) {
  const std::string provisioner(StringMember(object, "provisioner"));
  if (provisioner.empty()) {
    errors.push_back(Required("provisioner"));
  } else {
    std::string lower = provisioner;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    AddInvalid(errors, "provisioner", provisioner, api::NotQualifiedName(lower));
  }
  ValidateOneOf(object, "reclaimPolicy", "", {"Delete", "Retain"}, errors);
  ValidateOneOf(object, "volumeBindingMode", "", {"Immediate", "WaitForFirstConsumer"}, errors);
  if (old == nullptr) return;
  for (const char* member : {"provisioner", "reclaimPolicy", "volumeBindingMode"}) {
    ValidateImmutable(object, *old, member, member, errors);
  }
  if (ValueOr(FindMember(object, "parameters")) != ValueOr(FindMember(*old, "parameters"))) {
    errors.push_back(Forbidden("parameters", "updates to parameters are forbidden."));
  }
}

void ValidateCsiDriver(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  ValidateOneOf(spec, "fsGroupPolicy", "spec", {"File", "None", "ReadWriteOnceWithFSType"}, errors);
  if (const json::array* modes = ArrayMember(spec, "volumeLifecycleModes")) {
    for (const json::value& mode : *modes) {
      if (mode == json::value("Persistent") || mode == json::value("Ephemeral")) continue;
      errors.push_back(NotSupported("spec.volumeLifecycleModes", mode, {"Persistent", "Ephemeral"}));
    }
  }
  if (old == nullptr) return;
  ValidateImmutable(spec, SpecOf(*old), "attachRequired", "spec.attachedRequired", errors);
  ValidateImmutable(spec, SpecOf(*old), "volumeLifecycleModes", "spec.volumeLifecycleModes", errors);
}

void ValidateCsiNode(const json::object& object, const json::object*, Errors& errors) {
  std::set<std::string> names;
  std::size_t index = 0;
  for (const json::object* driver : ObjectsOf(SpecOf(object), "drivers")) {
    const std::string path = "spec.drivers[" + std::to_string(index++) + "]";
    const std::string name(StringMember(*driver, "name"));
    if (name.empty()) errors.push_back(Required(path + ".name"));
    if (StringMember(*driver, "nodeID").empty()) errors.push_back(Required(path + ".nodeID"));
    if (const json::object* allocatable = ObjectMember(*driver, "allocatable")) {
      ValidateNonNegative(*allocatable, "count", path + ".allocatable", errors);
    }
    if (!names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
  }
}

void ValidateCsiStorageCapacity(const json::object& object, const json::object*, Errors& errors) {
  const std::string_view name = StringMember(object, "storageClassName");
  AddInvalid(errors, "storageClassName", name, api::NotDnsSubdomain(name));
  for (const char* member : {"capacity", "maximumVolumeSize"}) {
    if (const auto amount = QuantityAt(object, member); amount && amount->IsNegative()) {
      errors.push_back(Invalid(member, *FindMember(object, member), "must be greater than or equal to 0"));
    }
  }
}

void ValidateVolumeAttachment(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = SpecOf(object);
  if (StringMember(spec, "attacher").empty()) errors.push_back(Required("spec.attacher"));
  const json::object* source = ObjectMember(spec, "source");
  const bool by_name = source != nullptr && FindMember(*source, "persistentVolumeName") != nullptr;
  const bool is_inline = source != nullptr && FindMember(*source, "inlineVolumeSpec") != nullptr;
  if (by_name == is_inline) {
    errors.push_back(Required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  }
  const std::string_view node = StringMember(spec, "nodeName");
  AddInvalid(errors, "spec.nodeName", node, api::NotDnsSubdomain(node));
  if (old != nullptr) ValidateImmutable(object, *old, "spec", "spec", errors);
}

void ValidatePriorityClass(const json::object& object, const json::object* old, Errors& errors) {
  constexpr std::int64_t kHighestUserPriority = 1000000000;
  const std::string name(StringAt(object, {"metadata", "name"}));
  const std::int64_t value = IntMember(object, "value");
  const bool is_known = (name == "system-node-critical" && value == 2000001000) ||
                        (name == "system-cluster-critical" && value == 2000000000);
  if (name.starts_with("system-")) {
    if (!is_known) {
      errors.push_back(Forbidden(
          "metadata.name", "priority class names with 'system-' prefix are reserved for system use only. error: " +
                               name + " is not a known system priority class"));
    }
  } else if (value > kHighestUserPriority) {
    errors.push_back(Forbidden(
        "value", "maximum allowed value of a user defined priority is " + std::to_string(kHighestUserPriority)));
  }
  ValidateOneOf(object, "preemptionPolicy", "", {"PreemptLowerPriority", "Never"}, errors);
  if (old == nullptr) return;
  if (IntMember(*old, "value") != value) errors.push_back(Forbidden("value", "may not be changed in an update."));
  ValidateImmutable(object, *old, "preemptionPolicy", "preemptionPolicy", errors);
}

void ValidateEvent(const json::object& object, const json::object* old, Errors& errors) {
  if (old != nullptr) return;  // what was let in stays good
  const bool is_new_api = StringMember(object, "apiVersion") == "events.k8s.io/v1";
  const json::object* about = ObjectMember(object, is_new_api ? "regarding" : "involvedObject");
  const std::string about_namespace(about == nullptr ? std::string_view() : StringMember(*about, "namespace"));
  const std::string own(StringAt(object, {"metadata", "namespace"}));
  const bool has_time = !StringMember(object, "eventTime").empty();
  const auto mismatch = [&] {
    errors.push_back(
        Invalid("involvedObject.namespace", json::value(about_namespace), "does not match event.namespace"));
  };
  if (!has_time) {
    const bool is_free = own.empty() || own == "default";
    if (about_namespace.empty() ? !is_free : own != about_namespace) mismatch();
  } else {
    if (about_namespace.empty() && own != "default" && own != "kube-system") mismatch();
    const std::string controller_field = is_new_api ? "reportingController" : "reportingComponent";
    const std::string_view controller = StringMember(object, controller_field);
    if (controller.empty()) errors.push_back(Required(controller_field));
    AddInvalid(errors, controller_field, controller, api::NotQualifiedName(controller));
    struct Text {
      std::string_view member;
      std::string_view name;
      std::size_t bytes_max;
      bool is_required;
    };
    const Text texts[] = {{"reportingInstance", "reportingInstance", 128, true},
                          {"action", "action", 128, true},
                          {"reason", "reason", 128, true},
                          {is_new_api ? "note" : "message", "message", 1024, false}};
    for (const Text& text : texts) {
      const std::size_t bytes = StringMember(object, text.member).size();
      if (bytes == 0 && text.is_required) errors.push_back(Required(std::string(text.name)));
      if (bytes > text.bytes_max) {
        errors.push_back(
            Invalid(std::string(text.name), "", "can have at most " + std::to_string(text.bytes_max) + " characters"));
      }
    }
  }
  if (!is_new_api) return;
  if (const json::object* series = ObjectMember(object, "series")) {
    if (IntMember(*series, "count") < 2) errors.push_back(Invalid("series.count", "", "should be at least 2"));
    if (StringMember(*series, "lastObservedTime").empty()) errors.push_back(Required("series.lastObservedTime"));
  }
  if (!has_time) errors.push_back(Required("eventTime"));
  const std::string type(StringMember(object, "type"));
  if (type != "Normal" && type != "Warning") errors.push_back(Invalid("type", "", "has invalid value: " + type));
  for (const auto& [member, name] : {std::pair<const char*, const char*>{"deprecatedFirstTimestamp", "firstTimestamp"},
                                     {"deprecatedLastTimestamp", "lastTimestamp"}}) {
    if (!StringMember(object, member).empty()) errors.push_back(Invalid(name, "", "needs to be unset"));
  }
  if (IntMember(object, "deprecatedCount") != 0) errors.push_back(Invalid("count", "", "needs to be unset"));
  if (const json::object* source = ObjectMember(object, "deprecatedSource"); source != nullptr && !source->empty()) {
    errors.push_back(Invalid("source", "", "needs to be unset"));
  }
}

}  // namespace berth::apiserver::internal
