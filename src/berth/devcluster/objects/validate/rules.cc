// SPDX-License-Identifier: Apache-2.0
// The vocabulary of validation: errors in upstream's words, and checks that many kinds share.
#include "berth/devcluster/objects/validate/rules.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

std::string WithDetail(std::string message, std::string_view detail) {
  if (!detail.empty()) message += ": " + std::string(detail);
  return message;
}

}  // namespace

std::string Indexed(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

FieldError Required(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueRequired", WithDetail("Required value", detail)};
}

FieldError Invalid(std::string field, const json::value& value, std::string_view detail) {
  return {std::move(field), "FieldValueInvalid", WithDetail("Invalid value: " + json::serialize(value), detail)};
}

FieldError Forbidden(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueForbidden", WithDetail("Forbidden", detail)};
}

FieldError Duplicate(std::string field, const json::value& value) {
  return {std::move(field), "FieldValueDuplicate", "Duplicate value: " + json::serialize(value)};
}

FieldError NotFoundValue(std::string field, const json::value& value, std::string_view detail) {
  return {std::move(field), "FieldValueNotFound", WithDetail("Not found: " + json::serialize(value), detail)};
}

FieldError NotSupported(std::string field, const json::value& value, const std::vector<std::string_view>& supported) {
  std::string list;
  for (const std::string_view each : supported) list += (list.empty() ? "\"" : ", \"") + std::string(each) + "\"";
  return {std::move(field), "FieldValueNotSupported",
          "Unsupported value: " + json::serialize(value) + ": supported values: " + list};
}

void AddInvalid(Errors& errors, const std::string& field, std::string_view value, const std::vector<std::string>& why) {
  for (const std::string& each : why) errors.push_back(Invalid(field, json::value(value), each));
}

json::value ValueOrNull(const json::object& object, std::string_view member) {
  const json::value* value = FindMember(object, member);
  return value == nullptr ? json::value(nullptr) : *value;
}

bool DiffersBeyond(const std::set<std::string_view>& free_members, const json::object& now,
                   const json::object& before) {
  for (const json::object* side : {&now, &before}) {
    for (const auto& pair : *side) {
      if (free_members.contains(pair.key())) continue;
      if (ValueOrNull(now, pair.key()) != ValueOrNull(before, pair.key())) return true;
    }
  }
  return false;
}

void ValidateImmutable(const json::object& now, const json::object& before, std::string_view member,
                       const std::string& field, Errors& errors) {
  const json::value value = ValueOrNull(now, member);
  if (value != ValueOrNull(before, member)) errors.push_back(Invalid(field, value, "field is immutable"));
}

void ValidateNameMember(const json::object& object, std::string_view member, const std::string& field, NameRule rule,
                        Errors& errors) {
  const std::string_view name = StringMember(object, member);
  if (!name.empty()) AddInvalid(errors, field + "." + std::string(member), name, rule(name));
}

void ValidateUniqueLabelName(const json::object& object, const std::string& field, std::set<std::string>& seen,
                             Errors& errors) {
  const std::string name(StringMember(object, "name"));
  if (name.empty()) {
    errors.push_back(Required(field + ".name"));
    return;
  }
  AddInvalid(errors, field + ".name", name, api::NotDnsLabel(name));
  if (!seen.insert(name).second) errors.push_back(Duplicate(field + ".name", json::value(name)));
}

void ValidatePort(const json::object& object, std::string_view member, const std::string& field, Errors& errors) {
  const std::int64_t port = IntMember(object, member);
  if (port < 1 || port > 65535) {
    errors.push_back(Invalid(field + "." + std::string(member), port, "must be between 1 and 65535, inclusive"));
  }
}

void ValidateLabels(const json::object& owner, std::string_view member, const std::string& field, Errors& errors) {
  const json::object* labels = ObjectMember(owner, member);
  if (labels == nullptr) return;
  for (const auto& [key, value] : *labels) {
    AddInvalid(errors, field, key, api::NotQualifiedName(key));
    if (value.is_string())
      AddInvalid(errors, field, View(value.get_string()), api::NotLabelValue(View(value.get_string())));
  }
}

void ValidateLabelSelector(const json::object& selector, const std::string& field, Errors& errors) {
  ValidateLabels(selector, "matchLabels", field + ".matchLabels", errors);
  ForEachIn(selector, "matchExpressions", field, [&](const json::object& requirement, const std::string& path) {
    const std::string_view op = StringMember(requirement, "operator");
    const json::array* values = ArrayMember(requirement, "values");
    const bool has_values = values != nullptr && !values->empty();
    if (op == "In" || op == "NotIn") {
      if (!has_values) {
        errors.push_back(Required(path + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
      }
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (has_values) {
        errors.push_back(
            Forbidden(path + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else {
      errors.push_back(Invalid(path + ".operator", json::value(op), "not a valid selector operator"));
    }
    const std::string_view key = StringMember(requirement, "key");
    AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
    ValidateStringsOf(requirement, "values", path, api::NotLabelValue, errors);
  });
}

void ValidateStringsOf(const json::object& object, std::string_view list, const std::string& field, NameRule rule,
                       Errors& errors) {
  const json::array* values = ArrayMember(object, list);
  for (std::size_t i = 0; values != nullptr && i < values->size(); ++i) {
    if (!(*values)[i].is_string()) continue;
    const std::string_view value = View((*values)[i].get_string());
    AddInvalid(errors, Indexed(field + "." + std::string(list), i), value, rule(value));
  }
}

void ValidateNonNegative(const json::object& object, std::string_view member, const std::string& field,
                         Errors& errors) {
  if (IntMember(object, member) < 0) {
    errors.push_back(Invalid(field + "." + std::string(member), *FindMember(object, member), kNotNegative));
  }
}

void ValidateOneOf(const json::object& object, std::string_view member, const std::string& field,
                   const std::vector<std::string_view>& supported, Errors& errors) {
  const std::string_view value = StringMember(object, member);
  if (value.empty() || std::find(supported.begin(), supported.end(), value) != supported.end()) return;
  const std::string path = field.empty() ? std::string(member) : field + "." + std::string(member);
  errors.push_back(NotSupported(path, json::value(value), supported));
}

void ValidateIntOrPercent(const json::object& object, std::string_view member, const std::string& field,
                          Errors& errors) {
  const json::value* value = FindMember(object, member);
  if (value == nullptr) return;
  const std::string path = field + "." + std::string(member);
  if (value->is_string()) {
    const std::string_view text = View(value->get_string());
    AddInvalid(errors, path, text, api::NotPercent(text));
  } else {
    ValidateNonNegative(object, member, field, errors);
  }
}

void ValidateQuantities(const json::object& object, std::string_view member, const std::string& field, bool brackets,
                        Errors& errors) {
  const json::object* list = ObjectMember(object, member);
  if (list == nullptr) return;
  for (const auto& [name, value] : *list) {
    const std::string path = field + (brackets ? "[" : ".") + std::string(name) + (brackets ? "]" : "");
    const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
    const auto amount = api::Quantity::Parse(text);
    if (!amount.ok()) continue;  // refused before as undecodable
    if (amount->IsNegative()) errors.push_back(Invalid(path, json::value(text), kNotNegative));
    const std::string_view key = name;
    const bool is_counted = key == "pods" || (key.find('/') != std::string_view::npos &&
                                              key.find("kubernetes.io/") == std::string_view::npos);
    if (is_counted && amount->MilliValue() % 1000 != 0) {
      errors.push_back(Invalid(path, json::value(text), "must be an integer"));
    }
  }
}

}  // namespace berth::objects::internal
