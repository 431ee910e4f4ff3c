// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/cluster.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/names.h"
#include "berth/devcluster/objects/custom/custom_schema.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kClusterRules = R"(
@apiextensions
CustomResourceDefinition spec.group! spec.names.plural! spec.names.kind! metadata.name@DefinitionName
  spec.scope!=Cluster|Namespaced spec.versions@OneStoredVersion spec.names.plural?:label spec.names.singular?:label
  spec.versions/ spec.scope^ spec.group^
CustomResourceDefinitionVersion name:label& @CustomSchema subresources.scale*/
CustomResourceSubresourceScale specReplicasPath@ScalePath statusReplicasPath@ScalePath
@authentication
TokenRequest spec.expirationSeconds*@TokenSeconds
@authorization
LocalSubjectAccessReview spec@AccessAttributes spec@Subject spec@OwnNamespace
SelfSubjectAccessReview spec@AccessAttributes
SubjectAccessReview spec@AccessAttributes spec@Subject
@coordination
Lease spec/
LeaseSpec leaseDurationSeconds*>0 leaseTransitions>=0
@core
ConfigMap data@ConfigKeys binaryData@ConfigKeys @OneKindOfData @FrozenData
Event @Event
Secret data@ConfigKeys type^ @FrozenData
Service spec/
ServicePort @ServicePortName port(1..65535) protocol=SCTP|TCP|UDP
  nodePort?(30000..32767){provided port is not in the valid range. The range of valid ports is 30000-32767}
  targetPort*@TargetPort @UniquePort
ServiceSpec @ServiceNeeds ports/ selector@Labels sessionAffinity=ClientIP|None
  type=ClusterIP|ExternalName|LoadBalancer|NodePort clusterIP@ClusterIpKept
@events
Event @Event
@networking
HTTPIngressPath pathType!{pathType must be specified}=Exact|ImplementationSpecific|Prefix@AbsolutePath
HTTPIngressRuleValue paths!/
Ingress spec/
IngressRule http*/
IngressSpec @Backend rules/
@node
RuntimeClass handler! handler^
@rbac
ClusterRole rules/
ClusterRoleBinding roleRef/ subjects/ roleRef@RoleKept
PolicyRule @Rule
Role rules/
RoleBinding roleRef/ subjects/ roleRef@RoleKept
RoleRef apiGroup==rbac.authorization.k8s.io kind@RoleKind name!
Subject name! kind==ServiceAccount|User|Group@AccountNamespace
@scheduling
PriorityClass value@PriorityValue preemptionPolicy=PreemptLowerPriority|Never value@PriorityKept preemptionPolicy^
)";

// --- Configuration ---------------------------------------------------------------------------------------------------

void CheckConfigKeys(const Place& data) {
  for (const auto& pair : data.object()) data.Entry(pair.key()).AddInvalid(pair.key(), api::NotConfigKey(pair.key()));
}

void CheckOneKindOfData(const Place& config) {
  const Place data = config["data"];
  for (const auto& pair : data.object()) {
    if (!Part(config.object(), "binaryData").contains(pair.key())) continue;
    data.Entry(pair.key()).Invalid(json::value(pair.key()), "duplicate of key present in binaryData");
  }
}

void CheckFrozenData(const Place& config) {
  if (!BoolMember(config.old_object(), "immutable")) return;
  for (const char* member : {"data", "binaryData"}) {
    if (!config[member].IsSame()) config[member].Forbidden("field is immutable when `immutable` is set");
  }
}

void CheckPriorityValue(const Place& value) {
  constexpr std::int64_t kHighestUserPriority = 1000000000;
  const std::string name(StringAt(value.root().object(), {"metadata", "name"}));
  const bool is_known = (name == "system-node-critical" && value.number() == 2000001000) ||
                        (name == "system-cluster-critical" && value.number() == 2000000000);
  if (!name.starts_with("system-")) {
    if (value.number() <= kHighestUserPriority) return;
    value.Forbidden("maximum allowed value of a user defined priority is " + std::to_string(kHighestUserPriority));
  } else if (!is_known) {
    value.root()["metadata.name"].Forbidden(
        "priority class names with 'system-' prefix are reserved for system use only. error: " + name +
        " is not a known system priority class");
  }
}

void CheckPriorityKept(const Place& value) {
  if (value.is_update() && IntMember(value.root().old_object(), "value") != value.number()) {
    value.Forbidden("may not be changed in an update.");
  }
}

// --- Services and ingresses ------------------------------------------------------------------------------------------

void CheckServiceNeeds(const Place& spec) {
  const bool is_external = spec["type"].text() == "ExternalName";
  if (spec["ports"].array().empty() && spec["clusterIP"].text() != "None" && !is_external) spec["ports"].Required();
  if (is_external && spec["externalName"].text().empty()) spec["externalName"].Required();
}

void CheckServicePortName(const Place& port) {
  const Place name = port["name"];
  // A lone port needs no name.
  if (name.text().empty() && port.up().array().size() == 1) return;
  if (name.text().empty()) return name.Required();
  name.AddInvalid(name.text(), api::NotDnsLabel(name.text()));
  name.CheckUnique();
}

void CheckTargetPort(const Place& port) {
  if (port.value().is_string()) {
    port.AddInvalid(port.text(), api::NotPortName(port.text()));
  } else if (port.number() < 1 || port.number() > 65535) {
    port.Invalid(port.number(), "must be between 1 and 65535, inclusive");
  }
}

void CheckUniquePort(const Place& port) {
  const std::string key = std::to_string(port["port"].number()) + "/" + std::string(port["protocol"].text());
  if (!port.up().up().IsFirst("ports", key)) port.Duplicate(port.value());
}

void CheckClusterIpKept(const Place& address) {
  const Place& spec = address.up();
  if (address.old().is_null() || address.IsSame() || spec["type"].text() == "ExternalName") return;
  spec["clusterIPs[0]"].Invalid(json::array{address.value()}, "may not change once set");
}

void CheckBackend(const Place& spec) {
  if (spec["rules"].array().empty() && !spec.Has("defaultBackend")) {
    spec.Invalid(json::value(spec.object()), "either `defaultBackend` or `rules` must be specified");
  }
}

void CheckAbsolutePath(const Place& type) {
  const Place path = type.up()["path"];
  if (type.text() == "ImplementationSpecific" || path.text().starts_with('/')) return;
  path.Invalid(json::value(path.text()), "must be an absolute path");
}

// --- Roles and questions about access --------------------------------------------------------------------------------

void CheckRule(const Place& rule) {
  const auto is_missing = [&](std::string_view member) { return rule[member].array().empty(); };
  if (is_missing("verbs")) rule["verbs"].Required("verbs must contain at least one value");
  if (!is_missing("nonResourceURLs")) {
    const Place urls = rule["nonResourceURLs"];
    if (StringMember(rule.root().object(), "kind") == "Role") {
      urls.Invalid("namespaced rules cannot apply to non-resource URLs");
    }
    if (!is_missing("apiGroups") || !is_missing("resources") || !is_missing("resourceNames")) {
      urls.Invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (is_missing("apiGroups")) rule["apiGroups"].Required("resource rules must supply at least one api group");
  if (is_missing("resources")) rule["resources"].Required("resource rules must supply at least one resource");
}

bool IsNamespaced(const Place& part_of_binding) {
  return StringMember(part_of_binding.root().object(), "kind") == "RoleBinding";
}

void CheckRoleKind(const Place& kind) {
  std::vector<std::string_view> kinds = {"ClusterRole"};
  if (IsNamespaced(kind)) kinds = {"Role", "ClusterRole"};
  if (kind.text() != "ClusterRole" && kind.text() != kinds.front()) kind.NotSupported(json::value(kind.text()), kinds);
}

void CheckRoleKept(const Place& role) {
  if (role.is_update() && role.object() != role.old_object()) {
    role.Invalid(json::value(role.object()), "cannot change roleRef");
  }
}

void CheckAccountNamespace(const Place& kind) {
  const Place own = kind.up()["namespace"];
  if (kind.text() == "ServiceAccount" && !IsNamespaced(kind) && own.text().empty()) own.Required();
}

void CheckAccessAttributes(const Place& spec) {
  if (spec.Has("resourceAttributes") == spec.Has("nonResourceAttributes")) {
    spec.Invalid(spec["nonResourceAttributes"].value(),
                 "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
}

void CheckSubject(const Place& spec) {
  if (spec["user"].text().empty() && spec["groups"].array().empty()) {
    spec["user"].Invalid("", "at least one of user or group must be specified");
  }
}

// A LocalSubjectAccessReview asks about its own namespace.
void CheckOwnNamespace(const Place& spec) {
  const Place asked = spec["resourceAttributes.namespace"];
  if (spec.Has("nonResourceAttributes")) {
    spec["nonResourceAttributes"].Invalid("disallowed on this kind of request");
  } else if (asked.text() != StringAt(spec.root().object(), {"metadata", "namespace"})) {
    asked.Invalid(json::value(asked.text()), "must match metadata.namespace");
  }
}

void CheckTokenSeconds(const Place& seconds) {
  constexpr std::int64_t kTokenSecondsMin = 600;
  constexpr std::int64_t kTokenSecondsMax = std::int64_t{1} << 32;
  if (!seconds.value().is_int64()) return;
  if (seconds.number() < kTokenSecondsMin) {
    seconds.Invalid("may not specify a duration less than 10 minutes");
  } else if (seconds.number() > kTokenSecondsMax) {
    seconds.Invalid("may not specify a duration larger than 2^32 seconds");
  }
}

// --- Custom resources ------------------------------------------------------------------------------------------------

void CheckDefinitionName(const Place& name) {
  const json::object& spec = Part(name.root().object(), "spec");
  const std::string plural(StringAt(spec, {"names", "plural"}));
  if (name.text() == plural + '.' + std::string(StringMember(spec, "group"))) return;
  name.Invalid(json::value(name.text()), "must be spec.names.plural+\".\"+spec.group");
}

void CheckOneStoredVersion(const Place& versions) {
  std::size_t stored = 0;
  versions.ForEach([&](const Place& version) { stored += version["storage"].flag() ? 1 : 0; });
  if (stored != 1) versions.Invalid("must have exactly one version marked as storage version");
}

void CheckCustomSchema(const Place& version) {
  const Place schema = version["schema.openAPIV3Schema"];
  if (!schema.is_set()) return schema.Required("schemas are required");
  for (FieldError& each : CheckStructural(schema.object(), schema.Path())) version.errors().push_back(std::move(each));
}

void CheckScalePath(const Place& path) {
  const std::string root = path.step() == "specReplicasPath" ? ".spec" : ".status";
  if (path.text().starts_with(root + '.')) return;
  path.Invalid(json::value(path.text()), "should be a json path under " + root);
}

// --- Events ----------------------------------------------------------------------------------------------------------

// What an event with an eventTime has to say of its reporter, and how long its texts may be.
void CheckReport(const Place& event, bool is_new_api) {
  const Place controller = event[is_new_api ? "reportingController" : "reportingComponent"];
  if (controller.text().empty()) controller.Required();
  controller.AddInvalid(controller.text(), api::NotQualifiedName(controller.text()));
  constexpr std::size_t kShortMax = 128;
  constexpr std::size_t kNoteMax = 1024;
  for (const char* member : {"reportingInstance", "action", "reason", "message"}) {
    const bool is_note = member == std::string_view("message");
    const std::size_t most = is_note ? kNoteMax : kShortMax;
    // Errors name the fields as core has them.
    const std::size_t bytes = event[is_note && is_new_api ? "note" : member].text().size();
    if (bytes == 0 && !is_note) event[member].Required();
    if (bytes > most) event[member].Invalid("", "can have at most " + std::to_string(most) + " characters");
  }
}

// What only events.k8s.io asks for; it says the fields' names in core.
void CheckNewEvent(const Place& event) {
  if (event.Has("series")) {
    if (event["series.count"].number() < 2) event["series.count"].Invalid("", "should be at least 2");
    const Place last = event["series.lastObservedTime"];
    if (last.text().empty()) last.Required();
  }
  if (event["eventTime"].text().empty()) event["eventTime"].Required();
  const std::string type(event["type"].text());
  if (type != "Normal" && type != "Warning") event["type"].Invalid("", "has invalid value: " + type);
  const std::pair<bool, const char*> unset[] = {{event["deprecatedFirstTimestamp"].text().empty(), "firstTimestamp"},
                                                {event["deprecatedLastTimestamp"].text().empty(), "lastTimestamp"},
                                                {event["deprecatedCount"].number() == 0, "count"},
                                                {event["deprecatedSource"].object().empty(), "source"}};
  for (const auto& [is_unset, name] : unset) {
    if (!is_unset) event[name].Invalid("", "needs to be unset");
  }
}

void CheckEvent(const Place& event) {
  if (event.is_update()) return;  // what was let in stays good
  const bool is_new_api = event["apiVersion"].text() == "events.k8s.io/v1";
  const std::string_view about = event[is_new_api ? "regarding.namespace" : "involvedObject.namespace"].text();
  const std::string_view own = event["metadata.namespace"].text();
  const bool has_time = !event["eventTime"].text().empty();
  // Events about objects without a namespace live in "default", those with a time in "kube-system" as well.
  const bool is_free = own == "default" || own == (has_time ? "kube-system" : "");
  const bool is_match = about.empty() ? is_free : has_time || own == about;
  if (!is_match) event["involvedObject.namespace"].Invalid(json::value(about), "does not match event.namespace");
  if (has_time) CheckReport(event, is_new_api);
  if (is_new_api) CheckNewEvent(event);
}

}  // namespace

RuleSet ClusterRules() {
  return {kClusterRules,
          {{"AbsolutePath", CheckAbsolutePath},
           {"AccessAttributes", CheckAccessAttributes},
           {"AccountNamespace", CheckAccountNamespace},
           {"Backend", CheckBackend},
           {"ClusterIpKept", CheckClusterIpKept},
           {"ConfigKeys", CheckConfigKeys},
           {"CustomSchema", CheckCustomSchema},
           {"DefinitionName", CheckDefinitionName},
           {"Event", CheckEvent},
           {"FrozenData", CheckFrozenData},
           {"OneKindOfData", CheckOneKindOfData},
           {"OneStoredVersion", CheckOneStoredVersion},
           {"OwnNamespace", CheckOwnNamespace},
           {"PriorityKept", CheckPriorityKept},
           {"PriorityValue", CheckPriorityValue},
           {"RoleKept", CheckRoleKept},
           {"RoleKind", CheckRoleKind},
           {"Rule", CheckRule},
           {"ScalePath", CheckScalePath},
           {"ServiceNeeds", CheckServiceNeeds},
           {"ServicePortName", CheckServicePortName},
           {"Subject", CheckSubject},
           {"TargetPort", CheckTargetPort},
           {"TokenSeconds", CheckTokenSeconds},
           {"UniquePort", CheckUniquePort}}};
}

}  // namespace berth::objects::internal
