// Validation of pods and pod templates, and of what an update may change in a pod.
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/apiserver/resources_internal.h"

namespace berth::apiserver::internal {
namespace {

const std::vector<std::string_view> kProtocols = {"SCTP", "TCP", "UDP"};
const std::vector<std::string_view> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

std::string Indexed(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

bool Contains(const std::vector<std::string_view>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void ValidatePortRange(const json::object& owner, std::string_view member, const std::string& field, Errors& errors) {
  const std::int64_t port = IntMember(owner, member);
  if (port < 1 || port > 65535) {
    errors.push_back(Invalid(field + "." + std::string(member), port, "must be between 1 and 65535, inclusive"));
  }
}

// --- Resources -------------------------------------------------------------------------------------------------------

bool IsHugePages(std::string_view name) { return name.starts_with("hugepages-"); }
bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}
bool IsContainerResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || IsHugePages(name);
}

void ValidateResourceName(std::string_view name, const std::string& field, Errors& errors) {
  const std::vector<std::string> why = api::NotQualifiedName(name);
  AddInvalid(errors, field, name, why);
  if (name.find('/') != std::string_view::npos || IsContainerResource(name)) return;
  if (why.empty() && name != "pods" && name != "storage" && name != "services") {
    errors.push_back(Invalid(field, json::value(name), "must be a standard resource type or fully qualified"));
  }
  errors.push_back(Invalid(field, json::value(name), "must be a standard resource for containers"));
}

std::optional<api::Quantity> Amount(const json::value& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
  auto parsed = api::Quantity::Parse(text);
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

json::value AsText(const json::value& value) { return value.is_string() ? value : json::value(json::serialize(value)); }

void ValidateResources(const json::object& owner, const std::string& owner_field,
                       const std::set<std::string>& claim_names, Errors& errors) {
  const json::object* resources = ObjectMember(owner, "resources");
  if (resources == nullptr) return;
  const std::string field = owner_field + ".resources";
  const json::object empty;
  const json::object* found_limits = ObjectMember(*resources, "limits");
  const json::object* found_requests = ObjectMember(*resources, "requests");
  const json::object& limits = found_limits == nullptr ? empty : *found_limits;
  const json::object& requests = found_requests == nullptr ? empty : *found_requests;
  for (const auto& pair : limits) {
    ValidateResourceName(pair.key(), field + ".limits[" + std::string(pair.key()) + "]", errors);
  }
  ValidateQuantities(*resources, "limits", field + ".limits", true, errors);
  for (const auto& pair : requests) {
    ValidateResourceName(pair.key(), field + ".requests[" + std::string(pair.key()) + "]", errors);
  }
  ValidateQuantities(*resources, "requests", field + ".requests", true, errors);
  bool has_huge_pages = false;
  bool has_cpu_or_memory = false;
  for (const json::object* list : {&limits, &requests}) {
    for (const auto& pair : *list) {
      has_huge_pages = has_huge_pages || IsHugePages(pair.key());
      has_cpu_or_memory = has_cpu_or_memory || pair.key() == "cpu" || pair.key() == "memory";
    }
  }
  for (const auto& [name, request] : requests) {
    const bool may_overcommit = IsNative(name) && !IsHugePages(name);
    const json::value* limit = FindMember(limits, name);
    const std::optional<api::Quantity> wanted = Amount(request);
    if (limit == nullptr) {
      if (!may_overcommit) {
        errors.push_back(Required(field + ".limits", "Limit must be set for non overcommitable resources"));
      }
      continue;
    }
    const std::optional<api::Quantity> most = Amount(*limit);
    if (!wanted || !most) continue;
    const std::string bound = std::string(name) + " limit of " + std::string(AsText(*limit).get_string());
    if (!may_overcommit && *wanted != *most) {
      errors.push_back(Invalid(field + ".requests", AsText(request), "must be equal to " + bound));
    } else if (*wanted > *most) {
      errors.push_back(Invalid(field + ".requests", AsText(request), "must be less than or equal to " + bound));
    }
  }
  if (has_huge_pages && !has_cpu_or_memory) errors.push_back(Forbidden(field, "HugePages require cpu or memory"));

  std::set<std::pair<std::string, std::string>> seen;
  std::size_t index = 0;
  for (const json::object* claim : ObjectsOf(*resources, "claims")) {
    const std::string path = Indexed(field + ".claims", index++);
    const std::string name(StringMember(*claim, "name"));
    if (name.empty()) {
      errors.push_back(Required(path));
    } else if (!seen.insert({name, std::string(StringMember(*claim, "request"))}).second) {
      errors.push_back(Duplicate(path, json::value(name)));
    } else if (!claim_names.contains(name)) {
      std::string known;
      for (const std::string& each : claim_names) known += (known.empty() ? "" : ", ") + each;
      errors.push_back(
          NotFoundValue(path, json::value(name), "must be one of the names in pod.spec.resourceClaims: " + known));
    }
  }
}

// --- Containers ------------------------------------------------------------------------------------------------------

struct ContainerContext {
  std::set<std::string> names;
  std::set<std::string> volumes;
  std::set<std::string> claims;
  std::set<std::string> host_ports;  // "TCP/10.0.0.1/80"
  bool is_host_network = false;
};

void ValidatePorts(const json::object& container, const std::string& field, ContainerContext& context, bool is_init,
                   Errors& errors) {
  std::set<std::string> names;
  std::size_t index = 0;
  for (const json::object* port : ObjectsOf(container, "ports")) {
    const std::string path = Indexed(field + ".ports", index++);
    if (const std::string name(StringMember(*port, "name")); !name.empty()) {
      const std::vector<std::string> why = api::NotPortName(name);
      AddInvalid(errors, path + ".name", name, why);
      if (why.empty() && !names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    }
    const std::int64_t container_port = IntMember(*port, "containerPort");
    if (container_port == 0) {
      errors.push_back(Required(path + ".containerPort"));
    } else {
      ValidatePortRange(*port, "containerPort", path, errors);
    }
    const std::int64_t host_port = IntMember(*port, "hostPort");
    if (host_port != 0) {
      ValidatePortRange(*port, "hostPort", path, errors);
      if (context.is_host_network && host_port != container_port) {
        errors.push_back(
            Invalid(path + ".hostPort", host_port, "must match `containerPort` when `hostNetwork` is true"));
      }
      const std::string key = std::string(StringMember(*port, "protocol")) + "/" +
                              std::string(StringMember(*port, "hostIP")) + "/" + std::to_string(host_port);
      // Init containers run one after the other and may use the same port again.
      if (!is_init && !context.host_ports.insert(key).second) {
        errors.push_back(Duplicate(path + ".hostPort", json::value(key)));
      }
    }
    ValidateOneOf(*port, "protocol", path, kProtocols, errors);
  }
}

void ValidateEnv(const json::object& container, const std::string& field, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* variable : ObjectsOf(container, "env")) {
    const std::string path = Indexed(field + ".env", index++);
    const std::string_view name = StringMember(*variable, "name");
    if (name.empty()) {
      errors.push_back(Required(path + ".name"));
    } else {
      AddInvalid(errors, path + ".name", name, api::NotEnvVarName(name));
    }
    const json::object* from = ObjectMember(*variable, "valueFrom");
    if (from == nullptr) continue;
    if (from->empty()) {
      errors.push_back(
          Invalid(path + ".valueFrom", "",
                  "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                  "`fileKeyRef`"));
    } else if (!StringMember(*variable, "value").empty()) {
      errors.push_back(Invalid(path + ".valueFrom", "", "may not be specified when `value` is not empty"));
    } else if (from->size() > 1) {
      errors.push_back(Invalid(path + ".valueFrom", "", "may not have more than one field specified at a time"));
    }
  }
}

void ValidateProbe(const json::object& container, std::string_view name, const std::string& field, Errors& errors) {
  const json::object* probe = ObjectMember(container, name);
  if (probe == nullptr) return;
  const std::string path = field + "." + std::string(name);
  int handlers = 0;
  for (const char* handler : {"exec", "httpGet", "tcpSocket", "grpc"}) handlers += probe->contains(handler) ? 1 : 0;
  if (handlers == 0) errors.push_back(Required(path, "must specify a handler type"));
  if (handlers > 1) errors.push_back(Forbidden(path, "may not specify more than 1 handler type"));
  for (const char* member :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    ValidateNonNegative(*probe, member, path, errors);
  }
}

void ValidateContainer(const json::object& container, const std::string& path, ContainerContext& context, bool is_init,
                       Errors& errors) {
  const std::string name(StringMember(container, "name"));
  if (name.empty()) {
    errors.push_back(Required(path + ".name"));
  } else {
    AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
    if (!context.names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
  }
  const std::string_view image = StringMember(container, "image");
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  if (image.empty()) {
    errors.push_back(Required(path + ".image"));
  } else if (is_space(image.front()) || is_space(image.back())) {
    errors.push_back(Invalid(path + ".image", json::value(image), "must not have leading or trailing whitespace"));
  }
  ValidateOneOf(container, "terminationMessagePolicy", path, {"File", "FallbackToLogsOnError"}, errors);
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    ValidateProbe(container, probe, path, errors);
  }
  ValidatePorts(container, path, context, is_init, errors);
  ValidateEnv(container, path, errors);
  std::size_t index = 0;
  for (const json::object* mount : ObjectsOf(container, "volumeMounts")) {
    const std::string mount_path = Indexed(path + ".volumeMounts", index++);
    const std::string volume(StringMember(*mount, "name"));
    if (volume.empty()) errors.push_back(Required(mount_path + ".name"));
    if (!context.volumes.contains(volume)) errors.push_back(NotFoundValue(mount_path + ".name", json::value(volume)));
    if (StringMember(*mount, "mountPath").empty()) errors.push_back(Required(mount_path + ".mountPath"));
  }
  ValidateOneOf(container, "imagePullPolicy", path, {"Always", "IfNotPresent", "Never"}, errors);
  ValidateOneOf(container, "restartPolicy", path, {"Always", "Never", "OnFailure"}, errors);
  ValidateResources(container, path, context.claims, errors);
}

// --- Scheduling ------------------------------------------------------------------------------------------------------

void ValidateTolerations(const json::object& spec, const std::string& field, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* toleration : ObjectsOf(spec, "tolerations")) {
    const std::string path = Indexed(field + ".tolerations", index++);
    const std::string_view key = StringMember(*toleration, "key");
    const std::string_view op = StringMember(*toleration, "operator");
    const std::string_view value = StringMember(*toleration, "value");
    const std::string_view effect = StringMember(*toleration, "effect");
    if (!key.empty()) AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
    if (key.empty() && op != "Exists") {
      errors.push_back(
          Invalid(path + ".operator", json::value(op),
                  "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
    }
    if (FindMember(*toleration, "tolerationSeconds") != nullptr && effect != "NoExecute") {
      errors.push_back(
          Invalid(path + ".effect", json::value(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (op.empty() || op == "Equal") {
      AddInvalid(errors, path + ".operator", value, api::NotLabelValue(value));
    } else if (op == "Exists") {
      if (!value.empty()) {
        errors.push_back(
            Invalid(path + ".operator", json::value(value), "value must be empty when `operator` is 'Exists'"));
      }
    } else {
      errors.push_back(NotSupported(path + ".operator", json::value(op), {"Equal", "Exists"}));
    }
    if (!effect.empty() && !Contains(kEffects, effect)) {
      errors.push_back(NotSupported(path + ".effect", json::value(effect), kEffects));
    }
  }
}

void ValidateNodeRequirement(const json::object& requirement, const std::string& path, bool is_field, Errors& errors) {
  const std::string_view key = StringMember(requirement, "key");
  const std::string_view op = StringMember(requirement, "operator");
  const json::array* values = ArrayMember(requirement, "values");
  const std::size_t count = values == nullptr ? 0 : values->size();
  if (is_field) {
    if (op != "In" && op != "NotIn") {
      errors.push_back(Invalid(path + ".operator", json::value(op), "not a valid selector operator"));
    } else if (count != 1) {
      errors.push_back(Required(path + ".values",
                                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
    }
    if (key != "metadata.name") {
      errors.push_back(Invalid(path + ".key", json::value(key), "not a valid field selector key"));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if (!(*values)[i].is_string()) continue;
        const std::string_view value = View((*values)[i].get_string());
        AddInvalid(errors, Indexed(path + ".values", i), value, api::NotDnsSubdomain(value));
      }
    }
    return;
  }
  if (op == "In" || op == "NotIn") {
    if (count == 0)
      errors.push_back(Required(path + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (count > 0) {
      errors.push_back(
          Forbidden(path + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (count != 1) {
      errors.push_back(Required(path + ".values", "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(Invalid(path + ".operator", json::value(op), "not a valid selector operator"));
  }
  AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
  if (op == "Gt" || op == "Lt") return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(*values)[i].is_string()) continue;
    const std::string_view value = View((*values)[i].get_string());
    AddInvalid(errors, Indexed(path + ".values", i), value, api::NotLabelValue(value));
  }
}

void ValidateNodeTerm(const json::object& term, const std::string& path, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* each : ObjectsOf(term, "matchExpressions")) {
    ValidateNodeRequirement(*each, Indexed(path + ".matchExpressions", index++), false, errors);
  }
  index = 0;
  for (const json::object* each : ObjectsOf(term, "matchFields")) {
    ValidateNodeRequirement(*each, Indexed(path + ".matchFields", index++), true, errors);
  }
}

void ValidateWeight(const json::object& term, const std::string& path, Errors& errors) {
  const std::int64_t weight = IntMember(term, "weight");
  if (weight < 1 || weight > 100) errors.push_back(Invalid(path + ".weight", weight, "must be in the range 1-100"));
}

void ValidateNodeAffinity(const json::object& affinity, const std::string& field, Errors& errors) {
  if (const json::object* required = ObjectMember(affinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
    ValidateNodeSelector(*required, field + ".requiredDuringSchedulingIgnoredDuringExecution", errors);
  }
  std::size_t index = 0;
  for (const json::object* weighted : ObjectsOf(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
    const std::string path = Indexed(field + ".preferredDuringSchedulingIgnoredDuringExecution", index++);
    ValidateWeight(*weighted, path, errors);
    if (const json::object* term = ObjectMember(*weighted, "preference")) {
      ValidateNodeTerm(*term, path + ".preference", errors);
    }
  }
}

void ValidateLabelKeys(const json::object& term, const std::string& path, Errors& errors) {
  const bool has_selector = ObjectMember(term, "labelSelector") != nullptr;
  const json::array* match = ArrayMember(term, "matchLabelKeys");
  const json::array* mismatch = ArrayMember(term, "mismatchLabelKeys");
  const auto check = [&](const json::array* keys, const std::string& field) {
    if (keys == nullptr || keys->empty()) return;
    if (!has_selector) errors.push_back(Forbidden(field, "must not be specified when labelSelector is not set"));
    for (std::size_t i = 0; i < keys->size(); ++i) {
      if (!(*keys)[i].is_string()) continue;
      const std::string_view key = View((*keys)[i].get_string());
      AddInvalid(errors, Indexed(field, i), key, api::NotQualifiedName(key));
    }
  };
  check(match, path + ".matchLabelKeys");
  check(mismatch, path + ".mismatchLabelKeys");
  if (match == nullptr || mismatch == nullptr) return;
  for (std::size_t i = 0; i < match->size(); ++i) {
    if (std::find(mismatch->begin(), mismatch->end(), (*match)[i]) != mismatch->end()) {
      errors.push_back(Invalid(Indexed(path + ".matchLabelKeys", i), (*match)[i],
                               "exists in both matchLabelKeys and mismatchLabelKeys"));
    }
  }
}

void ValidatePodAffinityTerm(const json::object& term, const std::string& path, Errors& errors) {
  if (const json::object* selector = ObjectMember(term, "labelSelector")) {
    ValidateLabelSelector(*selector, path + ".labelSelector", errors);
  }
  if (const json::object* selector = ObjectMember(term, "namespaceSelector")) {
    ValidateLabelSelector(*selector, path + ".namespaceSelector", errors);
  }
  if (const json::array* namespaces = ArrayMember(term, "namespaces")) {
    for (const json::value& each : *namespaces) {
      if (!each.is_string()) continue;
      AddInvalid(errors, path + ".namespace", View(each.get_string()), api::NotDnsLabel(View(each.get_string())));
    }
  }
  ValidateLabelKeys(term, path, errors);
  const std::string_view key = StringMember(term, "topologyKey");
  if (key.empty()) errors.push_back(Required(path + ".topologyKey", "can not be empty"));
  AddInvalid(errors, path + ".topologyKey", key, api::NotQualifiedName(key));
}

void ValidatePodAffinity(const json::object& affinity, const std::string& field, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* term : ObjectsOf(affinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
    ValidatePodAffinityTerm(*term, Indexed(field + ".requiredDuringSchedulingIgnoredDuringExecution", index++), errors);
  }
  index = 0;
  const json::object empty;
  for (const json::object* weighted : ObjectsOf(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
    const std::string path = Indexed(field + ".preferredDuringSchedulingIgnoredDuringExecution", index++);
    ValidateWeight(*weighted, path, errors);
    const json::object* term = ObjectMember(*weighted, "podAffinityTerm");
    ValidatePodAffinityTerm(term == nullptr ? empty : *term, path + ".podAffinityTerm", errors);
  }
}

void ValidateAffinity(const json::object& spec, const std::string& field, Errors& errors) {
  if (const json::object* node = ObjectAt(spec, {"affinity", "nodeAffinity"})) {
    ValidateNodeAffinity(*node, field + ".affinity.nodeAffinity", errors);
  }
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    if (const json::object* pods = ObjectAt(spec, {"affinity", kind})) {
      ValidatePodAffinity(*pods, field + ".affinity." + kind, errors);
    }
  }
}

void ValidateTopologySpread(const json::object& spec, const std::string& field, Errors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t index = 0;
  for (const json::object* constraint : ObjectsOf(spec, "topologySpreadConstraints")) {
    const std::string path = Indexed(field + ".topologySpreadConstraints", index++);
    const std::int64_t skew = IntMember(*constraint, "maxSkew");
    if (skew <= 0) errors.push_back(Invalid(path + ".maxSkew", skew, "must be greater than zero"));
    const std::string key(StringMember(*constraint, "topologyKey"));
    const std::string action(StringMember(*constraint, "whenUnsatisfiable"));
    if (key.empty()) {
      errors.push_back(Required(path + ".topologyKey", "can not be empty"));
    }
    if (action != "DoNotSchedule" && action != "ScheduleAnyway") {
      errors.push_back(
          NotSupported(path + ".whenUnsatisfiable", json::value(action), {"DoNotSchedule", "ScheduleAnyway"}));
    }
    if (!seen.insert({key, action}).second) {
      errors.push_back(
          Duplicate(path + ".{topologyKey, whenUnsatisfiable}", json::value("{" + key + ", " + action + "}")));
    }
    if (FindMember(*constraint, "minDomains") != nullptr) {
      const std::int64_t domains = IntMember(*constraint, "minDomains");
      if (domains <= 0) errors.push_back(Invalid(path + ".minDomains", domains, "must be greater than zero"));
      if (action != "DoNotSchedule") {
        errors.push_back(Invalid(path + ".minDomains", domains,
                                 "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + action));
      }
    }
    ValidateOneOf(*constraint, "nodeAffinityPolicy", path, {"Honor", "Ignore"}, errors);
    ValidateOneOf(*constraint, "nodeTaintsPolicy", path, {"Honor", "Ignore"}, errors);
    ValidateLabelKeys(*constraint, path, errors);
    if (const json::object* selector = ObjectMember(*constraint, "labelSelector")) {
      ValidateLabelSelector(*selector, path + ".labelSelector", errors);
    }
  }
}

// --- The pod ---------------------------------------------------------------------------------------------------------

// Members that a volume's source must have; `said_of` is the path that upstream reports, which is not always the
// field's.
struct NeededField {
  const char* source;
  const char* member;
  const char* said_of;
};
constexpr NeededField kNeededFields[] = {
    {"persistentVolumeClaim", "claimName", "persistentVolumeClaim.claimName"},
    {"secret", "secretName", "secret.secretName"},
    {"configMap", "name", "configMap.name"},
    {"hostPath", "path", "hostPath.path"},
    {"gcePersistentDisk", "pdName", "persistentDisk.pdName"},
    {"awsElasticBlockStore", "volumeID", "awsElasticBlockStore.volumeID"},
    {"azureDisk", "diskName", "azureDisk.diskName"},
    {"azureDisk", "diskURI", "azureDisk.diskURI"},
    {"iscsi", "targetPortal", "iscsi.targetPortal"},
    {"iscsi", "iqn", "iscsi.iqn"},
    {"rbd", "image", "rbd.image"},
    {"nfs", "server", "nfs.server"},
    {"nfs", "path", "nfs.path"},
    {"cinder", "volumeID", "cinder.volumeID"},
    {"csi", "driver", "csi.driver"},
};

void ValidateVolumeSource(const json::object& volume, const std::string& path, Errors& errors) {
  for (const NeededField& needed : kNeededFields) {
    const json::object* source = ObjectMember(volume, needed.source);
    if (source != nullptr && StringMember(*source, needed.member).empty()) {
      errors.push_back(Required(path + "." + needed.said_of));
    }
  }
  if (const json::object* rbd = ObjectMember(volume, "rbd")) {
    const json::array* monitors = ArrayMember(*rbd, "monitors");
    if (monitors == nullptr || monitors->empty()) errors.push_back(Required(path + ".rbd.monitors"));
  }
  if (const json::object* ephemeral = ObjectMember(volume, "ephemeral")) {
    const std::string field = path + ".ephemeral.volumeClaimTemplate";
    const json::object* claim = ObjectMember(*ephemeral, "volumeClaimTemplate");
    const json::object empty;
    if (claim == nullptr) {
      errors.push_back(Required(field));
    } else {
      const json::object* spec = ObjectMember(*claim, "spec");
      ValidateClaimSpecOfVolume(spec == nullptr ? empty : *spec, field + ".spec", errors);
    }
  }
}

void ValidateVolumes(const json::object& spec, const std::string& field, ContainerContext& context, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* volume : ObjectsOf(spec, "volumes")) {
    const std::string path = Indexed(field + ".volumes", index++);
    const std::string name(StringMember(*volume, "name"));
    if (name.empty()) {
      errors.push_back(Required(path + ".name"));
    } else {
      AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
      if (!context.volumes.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    }
    bool has_source = false;
    for (const auto& [member, source] : *volume) {
      if (member == "name" || !source.is_object()) continue;
      if (has_source) {
        errors.push_back(Forbidden(path + "." + std::string(member), "may not specify more than 1 volume type"));
      }
      has_source = true;
    }
    ValidateVolumeSource(*volume, path, errors);
  }
}

void ValidateClaims(const json::object& spec, const std::string& field, ContainerContext& context, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* claim : ObjectsOf(spec, "resourceClaims")) {
    const std::string path = Indexed(field + ".resourceClaims", index++);
    const std::string name(StringMember(*claim, "name"));
    if (name.empty()) {
      errors.push_back(Required(path + ".name"));
    } else if (!context.claims.insert(name).second) {
      errors.push_back(Duplicate(path + ".name", json::value(name)));
    } else {
      AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
    }
    const bool by_name = FindMember(*claim, "resourceClaimName") != nullptr;
    const bool by_template = FindMember(*claim, "resourceClaimTemplateName") != nullptr;
    for (const char* member : {"resourceClaimName", "resourceClaimTemplateName"}) {
      if (FindMember(*claim, member) == nullptr) continue;
      AddInvalid(errors, path + "." + member, StringMember(*claim, member),
                 api::NotDnsSubdomain(StringMember(*claim, member)));
    }
    if (by_name && by_template) {
      errors.push_back(
          Invalid(path, *claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    } else if (!by_name && !by_template) {
      errors.push_back(Invalid(path, *claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
  }
}

void ValidateGates(const json::object& spec, const std::string& field, Errors& errors) {
  std::set<std::string> seen;
  std::size_t index = 0;
  for (const json::object* gate : ObjectsOf(spec, "schedulingGates")) {
    const std::string path = Indexed(field + ".schedulingGates", index++);
    const std::string name(StringMember(*gate, "name"));
    AddInvalid(errors, path, name, api::NotQualifiedName(name));
    if (!seen.insert(name).second) errors.push_back(Duplicate(path, json::value(name)));
  }
}

void ValidateNameMember(const json::object& spec, std::string_view member, const std::string& field,
                        std::vector<std::string> (*rule)(std::string_view), Errors& errors) {
  const std::string_view name = StringMember(spec, member);
  if (!name.empty()) AddInvalid(errors, field + "." + std::string(member), name, rule(name));
}

// Go's zero values and absent fields are one: an update that writes "" where there was nothing changes nothing.
bool IsZero(const json::value& value) {
  if (value.is_null()) return true;
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  return false;
}

bool SameDocument(const json::value& a, const json::value& b) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.get_object()) {
      const json::value* other = b.get_object().if_contains(key);
      if (other == nullptr ? !IsZero(value) : !SameDocument(value, *other)) return false;
    }
    for (const auto& [key, value] : b.get_object()) {
      if (!a.get_object().contains(key) && !IsZero(value)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    const json::array& left = a.get_array();
    const json::array& right = b.get_array();
    return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(), SameDocument);
  }
  return a == b;
}

bool SameMember(const json::object& a, const json::object& b, std::string_view member) {
  static const json::value kAbsent;
  const json::value* left = FindMember(a, member);
  const json::value* right = FindMember(b, member);
  if (left == nullptr) return right == nullptr || IsZero(*right);
  return right == nullptr ? IsZero(*left) : SameDocument(*left, *right);
}

void CopyMember(json::object& to, const json::object& from, std::string_view member) {
  if (const json::value* value = FindMember(from, member)) {
    const json::value copy = *value;
    to[member] = copy;
  } else {
    to.erase(member);
  }
}

// Every old toleration must still be there; only its seconds may differ.
void ValidateTolerationsKept(const json::object& spec, const json::object& old_spec, Errors& errors) {
  for (const json::object* old : ObjectsOf(old_spec, "tolerations")) {
    bool is_kept = false;
    for (const json::object* now : ObjectsOf(spec, "tolerations")) {
      json::object munged = *now;
      CopyMember(munged, *old, "tolerationSeconds");
      is_kept = is_kept || SameDocument(munged, *old);
    }
    if (is_kept) continue;
    errors.push_back(
        Forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void ValidateGatesOnlyDeleted(const json::object& spec, const json::object& old_spec, Errors& errors) {
  std::size_t index = 0;
  for (const json::object* gate : ObjectsOf(spec, "schedulingGates")) {
    const std::string path = Indexed("spec.schedulingGates", index++) + ".name";
    const std::string name(StringMember(*gate, "name"));
    const auto old_gates = ObjectsOf(old_spec, "schedulingGates");
    const bool is_old = std::any_of(old_gates.begin(), old_gates.end(),
                                    [&](const json::object* old) { return StringMember(*old, "name") == name; });
    if (!is_old) {
      errors.push_back(Forbidden(path, "only deletion is allowed, but found new scheduling gate '" + name + "'"));
    }
  }
}

bool TermOnlyGrew(const json::object& term, const json::object& old_term) {
  for (const char* list : {"matchExpressions", "matchFields"}) {
    const auto now = ObjectsOf(term, list);
    const auto before = ObjectsOf(old_term, list);
    if (now.size() < before.size()) return false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!SameDocument(*now[i], *before[i])) return false;
    }
  }
  return true;
}

// A gated pod may still be narrowed down: more node selector entries, more node affinity expressions. Puts the old
// values into `munged` and reports what is no narrowing.
void AcceptGatedNarrowing(json::object& munged, const json::object& old_spec, Errors& errors) {
  if (!SameMember(munged, old_spec, "nodeSelector")) {
    const json::object empty;
    const json::object* now = ObjectMember(munged, "nodeSelector");
    const json::object* before = ObjectMember(old_spec, "nodeSelector");
    for (const auto& [key, value] : before == nullptr ? empty : *before) {
      const json::value* kept = now == nullptr ? nullptr : now->if_contains(key);
      if (kept == nullptr || *kept != value) {
        errors.push_back(Invalid("spec.nodeSelector", now == nullptr ? json::value(nullptr) : json::value(*now),
                                 "only additions are allowed to spec.nodeSelector (no mutations or deletions)"));
        break;
      }
    }
    CopyMember(munged, old_spec, "nodeSelector");
  }
  const json::object empty;
  const json::object* now = ObjectAt(munged, {"affinity", "nodeAffinity"});
  const json::object* before = ObjectAt(old_spec, {"affinity", "nodeAffinity"});
  if (SameDocument(now == nullptr ? empty : *now, before == nullptr ? empty : *before)) return;
  const std::string path =
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const auto terms_of = [](const json::object* affinity) {
    const json::object* required =
        affinity == nullptr ? nullptr : ObjectMember(*affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    return required == nullptr ? std::vector<const json::object*>() : ObjectsOf(*required, "nodeSelectorTerms");
  };
  const auto terms = terms_of(now);
  const auto old_terms = terms_of(before);
  if (!old_terms.empty() && terms.size() != old_terms.size()) {
    const json::value* shown =
        now == nullptr ? nullptr
                       : FindPath(*now, {"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
    errors.push_back(Invalid(path, shown == nullptr ? json::value(nullptr) : *shown,
                             "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
  } else {
    for (std::size_t i = 0; i < old_terms.size(); ++i) {
      if (TermOnlyGrew(*terms[i], *old_terms[i])) continue;
      errors.push_back(Invalid(Indexed(path, i), *terms[i], "only additions are allowed (no mutations or deletions)"));
    }
  }
  json::object& affinity = MutableObject(munged, "affinity");
  if (before == nullptr) {
    affinity.erase("nodeAffinity");
  } else {
    const json::object copy = *before;
    affinity["nodeAffinity"] = copy;
  }
  if (affinity.empty()) munged.erase("affinity");
}

void ValidatePodSpecUpdate(const json::object& spec, const json::object& old_spec, Errors& errors) {
  for (const char* list : {"containers", "initContainers"}) {
    if (ObjectsOf(spec, list).size() != ObjectsOf(old_spec, list).size()) {
      errors.push_back(Forbidden(std::string("spec.") + list, "pod updates may not add or remove containers"));
      return;
    }
  }
  const json::value* deadline = FindMember(spec, "activeDeadlineSeconds");
  const json::value* old_deadline = FindMember(old_spec, "activeDeadlineSeconds");
  if (deadline != nullptr && old_deadline != nullptr &&
      IntMember(old_spec, "activeDeadlineSeconds") < IntMember(spec, "activeDeadlineSeconds")) {
    errors.push_back(Invalid("spec.activeDeadlineSeconds", *deadline, "must be less than or equal to previous value"));
    return;
  }
  if (deadline == nullptr && old_deadline != nullptr) {
    errors.push_back(
        Invalid("spec.activeDeadlineSeconds", nullptr, "must not update from a positive integer to nil value"));
  }
  ValidateTolerationsKept(spec, old_spec, errors);
  ValidateGatesOnlyDeleted(spec, old_spec, errors);

  if (SameDocument(spec, old_spec)) return;
  json::object munged = spec;
  for (const char* list : {"containers", "initContainers"}) {
    const auto old_containers = ObjectsOf(old_spec, list);
    std::size_t index = 0;
    for (json::object* container : MutableObjectsOf(munged, list)) {
      CopyMember(*container, *old_containers[index++], "image");
    }
  }
  for (const char* member : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) {
    CopyMember(munged, old_spec, member);
  }
  if (IntMember(old_spec, "terminationGracePeriodSeconds") < 0 &&
      IntMember(munged, "terminationGracePeriodSeconds") == 1) {
    CopyMember(munged, old_spec, "terminationGracePeriodSeconds");
  }
  if (!ObjectsOf(old_spec, "schedulingGates").empty()) AcceptGatedNarrowing(munged, old_spec, errors);
  if (SameDocument(munged, old_spec)) return;
  std::string changed;
  for (const auto& pair : munged) {
    if (!SameMember(munged, old_spec, pair.key())) changed += "\n spec." + std::string(pair.key()) + " changed";
  }
  for (const auto& pair : old_spec) {
    if (!munged.contains(pair.key()) && !SameMember(munged, old_spec, pair.key())) {
      changed += "\n spec." + std::string(pair.key()) + " removed";
    }
  }
  errors.push_back(Forbidden(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
      "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)" +
          changed));
}

// The claims that were made for the pod.
void ValidateClaimStatuses(const json::object& status, const json::object& spec, Errors& errors) {
  std::set<std::string> known;
  for (const json::object* claim : ObjectsOf(spec, "resourceClaims")) known.emplace(StringMember(*claim, "name"));
  std::set<std::string> seen;
  std::size_t index = 0;
  for (const json::object* claim : ObjectsOf(status, "resourceClaimStatuses")) {
    const std::string path = Indexed("status.resourceClaimStatuses", index++);
    const std::string name(StringMember(*claim, "name"));
    if (!known.contains(name)) {
      errors.push_back(
          Invalid(path + ".name", json::value(name), "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!seen.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    if (FindMember(*claim, "resourceClaimName") == nullptr) continue;
    const std::string_view made = StringMember(*claim, "resourceClaimName");
    AddInvalid(errors, path + ".resourceClaimName", made, api::NotDnsSubdomain(made));
  }
}

// The claim that the scheduler made for extended resources that devices stand for.
void ValidateExtendedClaimStatus(const json::object& status, const json::object& spec, Errors& errors) {
  const json::object* claim = ObjectMember(status, "extendedResourceClaimStatus");
  if (claim == nullptr) return;
  const std::string field = "status.extendedResourceClaimStatus";
  const std::vector<const json::object*> mappings = ObjectsOf(*claim, "requestMappings");
  if (mappings.empty()) {
    errors.push_back(Required(field + ".requestMappings", "at least one request mapping is required"));
  }
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const std::string path = Indexed(field + ".requestMappings", i);
    const std::string_view wanted = StringMember(*mappings[i], "containerName");
    const std::string_view resource = StringMember(*mappings[i], "resourceName");
    const json::object* container = nullptr;
    for (const char* list : {"initContainers", "containers"}) {
      for (const json::object* each : ObjectsOf(spec, list)) {
        if (StringMember(*each, "name") == wanted) container = each;
      }
    }
    if (container == nullptr) {
      errors.push_back(Invalid(path + ".containerName", json::value(wanted),
                               "must match the name of an entry in spec.initContainers.name or spec.containers.name"));
    } else if (const json::object* requests = ObjectAt(*container, {"resources", "requests"});
               requests == nullptr || FindMember(*requests, resource) == nullptr) {
      errors.push_back(Invalid(path + ".resourceName", json::value(resource),
                               "must match the extended resource name of an entry in "
                               "spec.initContainers.resources.requests or spec.containers.resources.requests"));
    }
    const std::string_view request = StringMember(*mappings[i], "requestName");
    AddInvalid(errors, field + ".requestName", request, api::NotDnsLabel(request));
  }
  const std::string_view name = StringMember(*claim, "resourceClaimName");
  if (name.empty()) {
    errors.push_back(Required(field + ".resourceClaimName"));
  } else {
    AddInvalid(errors, field + ".resourceClaimName", name, api::NotDnsSubdomain(name));
  }
}

}  // namespace

void ValidateNodeSelector(const json::object& selector, const std::string& field, Errors& errors) {
  const std::string path = field + ".nodeSelectorTerms";
  const std::vector<const json::object*> terms = ObjectsOf(selector, "nodeSelectorTerms");
  if (terms.empty()) errors.push_back(Required(path, "must have at least one node selector term"));
  for (std::size_t i = 0; i < terms.size(); ++i) ValidateNodeTerm(*terms[i], Indexed(path, i), errors);
}

void ValidatePodSpec(const json::object& spec, const std::string& field, const PodSpecRules& rules, Errors& errors) {
  ContainerContext context;
  context.is_host_network = BoolMember(spec, "hostNetwork");
  ValidateVolumes(spec, field, context, errors);
  ValidateClaims(spec, field, context, errors);
  const std::vector<const json::object*> containers = ObjectsOf(spec, "containers");
  if (containers.empty()) errors.push_back(Required(field + ".containers"));
  for (std::size_t i = 0; i < containers.size(); ++i) {
    ValidateContainer(*containers[i], Indexed(field + ".containers", i), context, false, errors);
  }
  std::size_t index = 0;
  for (const json::object* container : ObjectsOf(spec, "initContainers")) {
    ValidateContainer(*container, Indexed(field + ".initContainers", index++), context, true, errors);
  }
  ValidateResources(spec, field, context.claims, errors);
  ValidateOneOf(spec, "restartPolicy", field, {"Always", "OnFailure", "Never"}, errors);
  ValidateOneOf(spec, "dnsPolicy", field, {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, errors);
  ValidateLabels(spec, "nodeSelector", field + ".nodeSelector", errors);
  ValidateAffinity(spec, field, errors);
  index = 0;
  for (const json::object* gate : ObjectsOf(spec, "readinessGates")) {
    const std::string_view type = StringMember(*gate, "conditionType");
    AddInvalid(errors, Indexed(field + ".readinessGates", index++) + ".conditionType", type,
               api::NotQualifiedName(type));
  }
  ValidateTopologySpread(spec, field, errors);
  ValidateGates(spec, field, errors);
  ValidateTolerations(spec, field, errors);
  if (const std::string_view os = StringAt(spec, {"os", "name"}); !os.empty() && os != "linux" && os != "windows") {
    errors.push_back(NotSupported(field + ".os", json::value(os), {"linux", "windows"}));
  }
  for (const char* member : {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"}) {
    ValidateNameMember(spec, member, field, api::NotDnsSubdomain, errors);
  }
  ValidateNameMember(spec, "hostname", field, api::NotDnsLabel, errors);
  ValidateNameMember(spec, "subdomain", field, api::NotDnsLabel, errors);
  ValidateOneOf(spec, "preemptionPolicy", field, {"PreemptLowerPriority", "Never"}, errors);
  if (const json::value* deadline = FindMember(spec, "activeDeadlineSeconds")) {
    const std::int64_t seconds = IntMember(spec, "activeDeadlineSeconds");
    if (seconds < 1 || seconds > std::numeric_limits<std::int32_t>::max()) {
      errors.push_back(
          Invalid(field + ".activeDeadlineSeconds", *deadline, "must be between 1 and 2147483647, inclusive"));
    }
  }
  if (!rules.is_template) return;
  if (rules.must_restart_always) {
    if (const std::string_view policy = StringMember(spec, "restartPolicy");
        !policy.empty() && policy != "Always" && (policy == "Never" || policy == "OnFailure")) {
      errors.push_back(NotSupported(field + ".restartPolicy", json::value(policy), {"Always"}));
    }
    if (FindMember(spec, "activeDeadlineSeconds") != nullptr) {
      errors.push_back(
          Forbidden(field + ".activeDeadlineSeconds", "activeDeadlineSeconds in ReplicaSet is not Supported"));
    }
  }
}

void ValidateTaints(const json::object& node, Errors& errors) {
  const json::object* spec = ObjectMember(node, "spec");
  if (spec == nullptr) return;
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t index = 0;
  for (const json::object* taint : ObjectsOf(*spec, "taints")) {
    // Upstream reports taints below metadata, although they are in spec.
    const std::string path = Indexed("metadata.taints", index++);
    const std::string key(StringMember(*taint, "key"));
    const std::string value(StringMember(*taint, "value"));
    const std::string effect(StringMember(*taint, "effect"));
    AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
    AddInvalid(errors, path + ".value", value, api::NotLabelValue(value));
    if (effect.empty()) {
      errors.push_back(Required(path + ".effect"));
    } else if (!Contains(kEffects, effect)) {
      errors.push_back(NotSupported(path + ".effect", json::value(effect), kEffects));
    }
    if (!seen.insert({key, effect}).second) {
      FieldError error = Duplicate(path, *taint);
      error.message += ": taints must be unique by key and effect pair";
      errors.push_back(std::move(error));
    }
  }
}

void ValidatePod(const json::object& pod, const json::object* old, Errors& errors) {
  static const json::object kEmpty;
  const json::object* found = ObjectMember(pod, "spec");
  const json::object& spec = found == nullptr ? kEmpty : *found;
  const json::object* old_found = old == nullptr ? nullptr : ObjectMember(*old, "spec");
  // A status update, a label: nothing of the spec is to be looked at again.
  if (old_found == nullptr || spec != *old_found) ValidatePodSpec(spec, "spec", {}, errors);
  if (old == nullptr) {
    if (!ObjectsOf(spec, "ephemeralContainers").empty()) {
      errors.push_back(Forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if (!StringMember(spec, "nodeName").empty() && !ObjectsOf(spec, "schedulingGates").empty()) {
      errors.push_back(Forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
    }
  } else if (old_found != nullptr) {
    ValidatePodSpecUpdate(spec, *old_found, errors);
  }
  const json::object* status = ObjectMember(pod, "status");
  if (status == nullptr) return;
  ValidateNameMember(*status, "nominatedNodeName", "status", api::NotDnsSubdomain, errors);
  std::size_t index = 0;
  for (const json::object* condition : ObjectsOf(*status, "conditions")) {
    const std::string_view type = StringMember(*condition, "type");
    AddInvalid(errors, Indexed("status.conditions", index++) + ".Type", type, api::NotQualifiedName(type));
  }
  ValidateClaimStatuses(*status, spec, errors);
  ValidateExtendedClaimStatus(*status, spec, errors);
}

}  // namespace berth::apiserver::internal
