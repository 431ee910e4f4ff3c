// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/device.h"

#include <algorithm>

#include "berth/api/names.h"
#include "berth/base/text.h"

namespace berth::objects::internal {
namespace {

constexpr std::size_t kConditionsMax = 4;
constexpr std::size_t kDriverBytesMax = 63;
constexpr std::size_t kIdBytesMax = 32;
constexpr std::size_t kPoolBytesMax = 253;

void ValidateIdentifier(std::string_view id, const std::string& field, Errors& errors) {
  if (id.size() > kIdBytesMax) errors.push_back(TooLong(field, kIdBytesMax));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool is_good = !id.empty() && is_letter(id.front());
  for (const char c : id) is_good = is_good && (is_letter(c) || (c >= '0' && c <= '9'));
  if (is_good) return;
  errors.push_back(Invalid(field, json::value(id),
                           "a valid C identifier must start with alphabetic character or '_', followed by a string of "
                           "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used "
                           "for validation is '[A-Za-z_][A-Za-z0-9_]*')"));
}

}  // namespace

FieldError TooMany(std::string field, std::size_t count, std::size_t most) {
  return {std::move(field), "FieldValueTooMany",
          "Too many: " + std::to_string(count) + ": must have at most " + std::to_string(most) + " items"};
}

FieldError TooLong(std::string field, std::size_t bytes_max) {
  return {std::move(field), "FieldValueTooLong",
          "Too long: may not be more than " + std::to_string(bytes_max) + " bytes"};
}

void ValidateDriver(std::string_view name, const std::string& field, Errors& errors) {
  if (name.empty()) {
    errors.push_back(Required(field));
    return;
  }
  if (name.size() > kDriverBytesMax) errors.push_back(TooLong(field, kDriverBytesMax));
  AddInvalid(errors, field, name, api::NotDnsSubdomain(LowerCase(name)));
}

void ValidatePoolName(std::string_view name, const std::string& field, Errors& errors) {
  if (name.empty()) {
    errors.push_back(Required(field));
    return;
  }
  if (name.size() > kPoolBytesMax) errors.push_back(TooLong(field, kPoolBytesMax));
  while (true) {
    const std::size_t slash = name.find('/');
    AddInvalid(errors, field, name.substr(0, slash), api::NotDnsSubdomain(name.substr(0, slash)));
    if (slash == std::string_view::npos) return;
    name.remove_prefix(slash + 1);
  }
}

void ValidateAttributeName(std::string_view name, const std::string& field, Errors& errors) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return ValidateIdentifier(name, field, errors);
  const std::string_view domain = name.substr(0, slash);
  const std::string_view id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return;
  if (domain.empty()) {
    errors.push_back(Invalid(field, "", "the domain must not be empty"));
  } else {
    ValidateDriver(domain, field, errors);
  }
  if (id.empty()) {
    errors.push_back(Invalid(field, "", "the name must not be empty"));
  } else {
    ValidateIdentifier(id, field, errors);
  }
}

void ValidateBindingConditions(const json::object& owner, const std::string& path, Errors& errors) {
  const std::vector<std::string_view> conditions = StringsOf(owner, "bindingConditions");
  const std::vector<std::string_view> failures = StringsOf(owner, "bindingFailureConditions");
  const auto check = [&](std::string_view name, const std::string& field) {
    AddInvalid(errors, field, name, api::NotQualifiedName(name));
  };
  ValidateStrings(owner, "bindingConditions", path, kConditionsMax, check, errors);
  ValidateStrings(owner, "bindingFailureConditions", path, kConditionsMax, check, errors);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (std::find(conditions.begin(), conditions.end(), failures[i]) == conditions.end()) continue;
    errors.push_back(Invalid(Indexed(path + ".bindingFailureConditions", i), json::value(failures[i]),
                             "bindingFailureConditions must not overlap with bindingConditions"));
  }
  if (conditions.empty() && !failures.empty()) {
    errors.push_back(Invalid(path + ".bindingConditions", json::array(),
                             "bindingConditions are required to use bindingFailureConditions"));
  }
  if (failures.empty() && !conditions.empty()) {
    errors.push_back(Invalid(path + ".bindingFailureConditions", json::array(),
                             "bindingFailureConditions are required to use bindingConditions"));
  }
}

}  // namespace berth::objects::internal
