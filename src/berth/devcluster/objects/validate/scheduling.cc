// SPDX-License-Identifier: Apache-2.0
// Validation of what decides where a pod may run: tolerations and taints, node selectors, affinity, topology spread,
// scheduling gates.
#include "berth/devcluster/objects/validate/scheduling.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void ValidateToleration(const json::object& toleration, const std::string& path, Errors& errors) {
  const std::string_view key = StringMember(toleration, "key");
  const std::string_view op = StringMember(toleration, "operator");
  const std::string_view value = StringMember(toleration, "value");
  const std::string_view effect = StringMember(toleration, "effect");
  if (!key.empty()) AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
  if (key.empty() && op != "Exists") {
    errors.push_back(
        Invalid(path + ".operator", json::value(op),
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
  }
  if (FindMember(toleration, "tolerationSeconds") != nullptr && effect != "NoExecute") {
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
  ValidateOneOf(toleration, "effect", path, kTaintEffects, errors);
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

void ValidateFieldRequirement(const json::object& requirement, const std::string& path, Errors& errors) {
  const std::string_view key = StringMember(requirement, "key");
  const std::string_view op = StringMember(requirement, "operator");
  const json::array* values = ArrayMember(requirement, "values");
  if (op != "In" && op != "NotIn") {
    errors.push_back(Invalid(path + ".operator", json::value(op), "not a valid selector operator"));
  } else if (values == nullptr || values->size() != 1) {
    errors.push_back(Required(path + ".values",
                              "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  }
  if (key != "metadata.name") {
    errors.push_back(Invalid(path + ".key", json::value(key), "not a valid field selector key"));
  } else {
    ValidateStringsOf(requirement, "values", path, api::NotDnsSubdomain, errors);
  }
}

void ValidateLabelRequirement(const json::object& requirement, const std::string& path, Errors& errors) {
  const std::string_view key = StringMember(requirement, "key");
  const std::string_view op = StringMember(requirement, "operator");
  const json::array* values = ArrayMember(requirement, "values");
  const std::size_t count = values == nullptr ? 0 : values->size();
  const bool compares = op == "Gt" || op == "Lt";
  if (op == "In" || op == "NotIn") {
    if (count == 0) {
      errors.push_back(Required(path + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (count > 0) {
      errors.push_back(
          Forbidden(path + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (compares) {
    if (count != 1) {
      errors.push_back(Required(path + ".values", "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(Invalid(path + ".operator", json::value(op), "not a valid selector operator"));
  }
  AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
  if (!compares) ValidateStringsOf(requirement, "values", path, api::NotLabelValue, errors);
}

void ValidateNodeTerm(const json::object& term, const std::string& field, Errors& errors) {
  ForEachIn(term, "matchExpressions", field, [&](const json::object& requirement, const std::string& path) {
    ValidateLabelRequirement(requirement, path, errors);
  });
  ForEachIn(term, "matchFields", field, [&](const json::object& requirement, const std::string& path) {
    ValidateFieldRequirement(requirement, path, errors);
  });
}

void ValidateWeight(const json::object& term, const std::string& path, Errors& errors) {
  const std::int64_t weight = IntMember(term, "weight");
  if (weight < 1 || weight > 100) errors.push_back(Invalid(path + ".weight", weight, "must be in the range 1-100"));
}

void ValidateNodeAffinity(const json::object& affinity, const std::string& field, Errors& errors) {
  if (const json::object* required = ObjectMember(affinity, kRequired)) {
    ValidateNodeSelector(*required, field + "." + kRequired, errors);
  }
  ForEachIn(affinity, kPreferred, field, [&](const json::object& weighted, const std::string& path) {
    ValidateWeight(weighted, path, errors);
    ValidateNodeTerm(Part(weighted, "preference"), path + ".preference", errors);
  });
}

// --- Pods ------------------------------------------------------------------------------------------------------------

void ValidateLabelKeys(const json::object& term, const std::string& path, Errors& errors) {
  const bool has_selector = ObjectMember(term, "labelSelector") != nullptr;
  for (const char* member : {"matchLabelKeys", "mismatchLabelKeys"}) {
    const json::array* keys = ArrayMember(term, member);
    if (keys == nullptr || keys->empty()) continue;
    if (!has_selector) {
      errors.push_back(Forbidden(path + "." + member, "must not be specified when labelSelector is not set"));
    }
    ValidateStringsOf(term, member, path, api::NotQualifiedName, errors);
  }
  const json::array* match = ArrayMember(term, "matchLabelKeys");
  const json::array* mismatch = ArrayMember(term, "mismatchLabelKeys");
  if (match == nullptr || mismatch == nullptr) return;
  for (std::size_t i = 0; i < match->size(); ++i) {
    if (std::find(mismatch->begin(), mismatch->end(), (*match)[i]) != mismatch->end()) {
      errors.push_back(Invalid(Indexed(path + ".matchLabelKeys", i), (*match)[i],
                               "exists in both matchLabelKeys and mismatchLabelKeys"));
    }
  }
}

void ValidatePodAffinityTerm(const json::object& term, const std::string& path, Errors& errors) {
  for (const char* member : {"labelSelector", "namespaceSelector"}) {
    if (const json::object* selector = ObjectMember(term, member)) {
      ValidateLabelSelector(*selector, path + "." + member, errors);
    }
  }
  // Upstream names the one namespace, not its place in the list.
  for (const std::string_view each : StringsOf(term, "namespaces")) {
    AddInvalid(errors, path + ".namespace", each, api::NotDnsLabel(each));
  }
  ValidateLabelKeys(term, path, errors);
  const std::string_view key = StringMember(term, "topologyKey");
  if (key.empty()) errors.push_back(Required(path + ".topologyKey", "can not be empty"));
  AddInvalid(errors, path + ".topologyKey", key, api::NotQualifiedName(key));
}

void ValidatePodAffinity(const json::object& affinity, const std::string& field, Errors& errors) {
  ForEachIn(affinity, kRequired, field,
            [&](const json::object& term, const std::string& path) { ValidatePodAffinityTerm(term, path, errors); });
  ForEachIn(affinity, kPreferred, field, [&](const json::object& weighted, const std::string& path) {
    ValidateWeight(weighted, path, errors);
    ValidatePodAffinityTerm(Part(weighted, "podAffinityTerm"), path + ".podAffinityTerm", errors);
  });
}

void ValidateSpreadConstraint(const json::object& constraint, const std::string& path,
                              std::set<std::pair<std::string, std::string>>& seen, Errors& errors) {
  const std::int64_t skew = IntMember(constraint, "maxSkew");
  if (skew <= 0) errors.push_back(Invalid(path + ".maxSkew", skew, "must be greater than zero"));
  const std::string key(StringMember(constraint, "topologyKey"));
  const std::string action(StringMember(constraint, "whenUnsatisfiable"));
  if (key.empty()) errors.push_back(Required(path + ".topologyKey", "can not be empty"));
  if (action != "DoNotSchedule" && action != "ScheduleAnyway") {
    errors.push_back(
        NotSupported(path + ".whenUnsatisfiable", json::value(action), {"DoNotSchedule", "ScheduleAnyway"}));
  }
  if (!seen.insert({key, action}).second) {
    errors.push_back(
        Duplicate(path + ".{topologyKey, whenUnsatisfiable}", json::value("{" + key + ", " + action + "}")));
  }
  if (FindMember(constraint, "minDomains") != nullptr) {
    const std::int64_t domains = IntMember(constraint, "minDomains");
    if (domains <= 0) errors.push_back(Invalid(path + ".minDomains", domains, "must be greater than zero"));
    if (action != "DoNotSchedule") {
      errors.push_back(Invalid(path + ".minDomains", domains,
                               "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + action));
    }
  }
  ValidateOneOf(constraint, "nodeAffinityPolicy", path, {"Honor", "Ignore"}, errors);
  ValidateOneOf(constraint, "nodeTaintsPolicy", path, {"Honor", "Ignore"}, errors);
  ValidateLabelKeys(constraint, path, errors);
  ValidateLabelSelector(Part(constraint, "labelSelector"), path + ".labelSelector", errors);
}

}  // namespace

void ValidateNodeSelector(const json::object& selector, const std::string& field, Errors& errors) {
  if (ObjectsOf(selector, "nodeSelectorTerms").empty()) {
    errors.push_back(Required(field + ".nodeSelectorTerms", "must have at least one node selector term"));
  }
  ForEachIn(selector, "nodeSelectorTerms", field,
            [&](const json::object& term, const std::string& path) { ValidateNodeTerm(term, path, errors); });
}

void ValidateTolerations(const json::object& spec, const std::string& field, Errors& errors) {
  ForEachIn(spec, "tolerations", field, [&](const json::object& toleration, const std::string& path) {
    ValidateToleration(toleration, path, errors);
  });
}

void ValidateAffinity(const json::object& spec, const std::string& field, Errors& errors) {
  const json::object& affinity = Part(spec, "affinity");
  ValidateNodeAffinity(Part(affinity, "nodeAffinity"), field + ".affinity.nodeAffinity", errors);
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    ValidatePodAffinity(Part(affinity, kind), field + ".affinity." + kind, errors);
  }
}

void ValidateTopologySpread(const json::object& spec, const std::string& field, Errors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  ForEachIn(spec, "topologySpreadConstraints", field, [&](const json::object& constraint, const std::string& path) {
    ValidateSpreadConstraint(constraint, path, seen, errors);
  });
}

void ValidateSchedulingGates(const json::object& spec, const std::string& field, Errors& errors) {
  std::set<std::string> seen;
  ForEachIn(spec, "schedulingGates", field, [&](const json::object& gate, const std::string& path) {
    const std::string name(StringMember(gate, "name"));
    AddInvalid(errors, path, name, api::NotQualifiedName(name));
    if (!seen.insert(name).second) errors.push_back(Duplicate(path, json::value(name)));
  });
}

void ValidateTaints(const json::object& node, Errors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  // Upstream reports taints below metadata, although they are in spec.
  ForEachIn(Part(node, "spec"), "taints", "metadata", [&](const json::object& taint, const std::string& path) {
    const std::string key(StringMember(taint, "key"));
    const std::string value(StringMember(taint, "value"));
    const std::string effect(StringMember(taint, "effect"));
    AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
    AddInvalid(errors, path + ".value", value, api::NotLabelValue(value));
    if (effect.empty()) errors.push_back(Required(path + ".effect"));
    ValidateOneOf(taint, "effect", path, kTaintEffects, errors);
    if (!seen.insert({key, effect}).second) {
      FieldError error = Duplicate(path, taint);
      error.message += ": taints must be unique by key and effect pair";
      errors.push_back(std::move(error));
    }
  });
}

}  // namespace berth::objects::internal
