// SPDX-License-Identifier: Apache-2.0
// Validation of the kinds that stand alone: nodes, services, configuration, leases, priority classes, events.
#include "berth/devcluster/objects/validate/kinds.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/devcluster/objects/validate/scheduling.h"

namespace berth::objects::internal {
namespace {

void ValidateKeys(const json::object& object, std::string_view member, Errors& errors) {
  for (const auto& pair : Part(object, member)) {
    AddInvalid(errors, std::string(member) + "[" + std::string(pair.key()) + "]", pair.key(),
               api::NotConfigKey(pair.key()));
  }
}

void ValidateServicePort(const json::object& port, const std::string& path, Errors& errors) {
  ValidatePort(port, "port", path, errors);
  ValidateOneOf(port, "protocol", path, {"SCTP", "TCP", "UDP"}, errors);
  constexpr std::int64_t kNodePortMin = 30000;
  constexpr std::int64_t kNodePortMax = 32767;
  const std::int64_t node_port = IntMember(port, "nodePort");
  if (node_port != 0 && (node_port < kNodePortMin || node_port > kNodePortMax)) {
    errors.push_back(Invalid(path + ".nodePort", node_port,
                             "provided port is not in the valid range. The range of valid ports is 30000-32767"));
  }
  const json::value* target = FindMember(port, "targetPort");
  if (target == nullptr) return;
  if (target->is_string()) {
    const std::string_view name = View(target->get_string());
    AddInvalid(errors, path + ".targetPort", name, api::NotPortName(name));
  } else {
    ValidatePort(port, "targetPort", path, errors);
  }
}

// --- Events ----------------------------------------------------------------------------------------------------------

// What an event with an eventTime has to say of its reporter, and how long its texts may be.
void ValidateReport(const json::object& event, bool is_new_api, Errors& errors) {
  const std::string controller_field = is_new_api ? "reportingController" : "reportingComponent";
  const std::string_view controller = StringMember(event, controller_field);
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
    const std::size_t bytes = StringMember(event, text.member).size();
    if (bytes == 0 && text.is_required) errors.push_back(Required(std::string(text.name)));
    if (bytes > text.bytes_max) {
      errors.push_back(
          Invalid(std::string(text.name), "", "can have at most " + std::to_string(text.bytes_max) + " characters"));
    }
  }
}

// What only events.k8s.io asks for; it says the fields' names in core.
void ValidateNewEvent(const json::object& event, Errors& errors) {
  if (const json::object* series = ObjectMember(event, "series")) {
    if (IntMember(*series, "count") < 2) errors.push_back(Invalid("series.count", "", "should be at least 2"));
    if (StringMember(*series, "lastObservedTime").empty()) errors.push_back(Required("series.lastObservedTime"));
  }
  if (StringMember(event, "eventTime").empty()) errors.push_back(Required("eventTime"));
  const std::string type(StringMember(event, "type"));
  if (type != "Normal" && type != "Warning") errors.push_back(Invalid("type", "", "has invalid value: " + type));
  const std::pair<bool, const char*> unset[] = {
      {StringMember(event, "deprecatedFirstTimestamp").empty(), "firstTimestamp"},
      {StringMember(event, "deprecatedLastTimestamp").empty(), "lastTimestamp"},
      {IntMember(event, "deprecatedCount") == 0, "count"},
      {Part(event, "deprecatedSource").empty(), "source"}};
  for (const auto& [is_unset, name] : unset) {
    if (!is_unset) errors.push_back(Invalid(name, "", "needs to be unset"));
  }
}

}  // namespace

void ValidateNode(const json::object& object, const json::object*, Errors& errors) {
  ValidateTaints(object, errors);
  for (const char* member : {"capacity", "allocatable"}) {
    ValidateQuantities(Part(object, "status"), member, std::string("status.") + member, false, errors);
  }
}

void ValidateService(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const std::size_t port_count = ObjectsOf(spec, "ports").size();
  const std::string_view type = StringMember(spec, "type");
  const bool is_headless = StringMember(spec, "clusterIP") == "None";
  if (port_count == 0 && !is_headless && type != "ExternalName") errors.push_back(Required("spec.ports"));
  if (type == "ExternalName" && StringMember(spec, "externalName").empty()) {
    errors.push_back(Required("spec.externalName"));
  }
  std::set<std::string> names;
  std::set<std::string> taken;
  ForEachIn(spec, "ports", "spec", [&](const json::object& port, const std::string& path) {
    // A lone port needs no name.
    if (port_count > 1 || !StringMember(port, "name").empty()) ValidateUniqueLabelName(port, path, names, errors);
    ValidateServicePort(port, path, errors);
    const std::string number = std::to_string(IntMember(port, "port"));
    if (!taken.insert(number + "/" + std::string(StringMember(port, "protocol"))).second) {
      errors.push_back(Duplicate(path, port));
    }
  });
  ValidateLabels(spec, "selector", "spec.selector", errors);
  ValidateOneOf(spec, "sessionAffinity", "spec", {"ClientIP", "None"}, errors);
  ValidateOneOf(spec, "type", "spec", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, errors);
  if (old == nullptr) return;
  const json::value* before = FindPath(*old, {"spec", "clusterIP"});
  if (before != nullptr && type != "ExternalName" && ValueOrNull(spec, "clusterIP") != *before) {
    errors.push_back(
        Invalid("spec.clusterIPs[0]", json::array{ValueOrNull(spec, "clusterIP")}, "may not change once set"));
  }
}

void ValidateConfigMap(const json::object& object, const json::object* old, Errors& errors) {
  ValidateKeys(object, "data", errors);
  ValidateKeys(object, "binaryData", errors);
  const json::object& binary = Part(object, "binaryData");
  for (const auto& pair : Part(object, "data")) {
    if (!binary.contains(pair.key())) continue;
    errors.push_back(Invalid("data[" + std::string(pair.key()) + "]", json::value(pair.key()),
                             "duplicate of key present in binaryData"));
  }
  if (old != nullptr && BoolMember(*old, "immutable")) {
    for (const char* member : {"data", "binaryData"}) {
      if (ValueOrNull(object, member) != ValueOrNull(*old, member)) {
        errors.push_back(Forbidden(member, "field is immutable when `immutable` is set"));
      }
    }
  }
}

void ValidateSecret(const json::object& object, const json::object* old, Errors& errors) {
  ValidateKeys(object, "data", errors);
  if (old == nullptr) return;
  ValidateImmutable(object, *old, "type", "type", errors);
  if (BoolMember(*old, "immutable") && ValueOrNull(object, "data") != ValueOrNull(*old, "data")) {
    errors.push_back(Forbidden("data", "field is immutable when `immutable` is set"));
  }
}

void ValidateLease(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  if (const json::value* duration = FindMember(spec, "leaseDurationSeconds");
      duration != nullptr && IntMember(spec, "leaseDurationSeconds") <= 0) {
    errors.push_back(Invalid("spec.leaseDurationSeconds", *duration, "must be greater than 0"));
  }
  ValidateNonNegative(spec, "leaseTransitions", "spec", errors);
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

void ValidateRuntimeClass(const json::object& object, const json::object* old, Errors& errors) {
  if (StringMember(object, "handler").empty()) errors.push_back(Required("handler"));
  if (old != nullptr) ValidateImmutable(object, *old, "handler", "handler", errors);
}

void ValidateEvent(const json::object& object, const json::object* old, Errors& errors) {
  if (old != nullptr) return;  // what was let in stays good
  const bool is_new_api = StringMember(object, "apiVersion") == "events.k8s.io/v1";
  const std::string_view about = StringMember(Part(object, is_new_api ? "regarding" : "involvedObject"), "namespace");
  const std::string_view own = StringAt(object, {"metadata", "namespace"});
  const bool has_time = !StringMember(object, "eventTime").empty();
  // Events about objects without a namespace live in "default", those with a time in "kube-system" as well.
  const bool is_free = own == "default" || own == (has_time ? "kube-system" : "");
  const bool is_match = about.empty() ? is_free : has_time || own == about;
  if (!is_match) {
    errors.push_back(Invalid("involvedObject.namespace", json::value(about), "does not match event.namespace"));
  }
  if (has_time) ValidateReport(object, is_new_api, errors);
  if (is_new_api) ValidateNewEvent(object, errors);
}

}  // namespace berth::objects::internal
