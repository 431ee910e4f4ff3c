// SPDX-License-Identifier: Apache-2.0
// What the validation of claims and that of slices share: bounded lists without duplicates, and the names of
// resource.k8s.io. Plain functions of documents, thread-safe.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

FieldError TooMany(std::string field, std::size_t count, std::size_t most);
FieldError TooLong(std::string field, std::size_t bytes_max);

// --- Lists -----------------------------------------------------------------------------------------------------------

// Asks `check` about each object of the list, unless there are too many. `key` (may be null) must differ among them.
template <typename Check, typename Key>
void ValidateList(const json::object& owner, std::string_view list, const std::string& owner_field, std::size_t most,
                  const Check& check, const Key& key, Errors& errors) {
  const std::string field = owner_field + "." + std::string(list);
  const std::vector<const json::object*> elements = ObjectsOf(owner, list);
  if (elements.size() > most) {
    errors.push_back(TooMany(field, elements.size(), most));
    return;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) check(*elements[i], Indexed(field, i));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::string own(key(*elements[i]));
    if (!own.empty() && !seen.insert(own).second) errors.push_back(Duplicate(Indexed(field, i), json::value(own)));
  }
}

inline std::string_view NoKey(const json::object&) { return {}; }
inline std::string_view NameOf(const json::object& object) { return StringMember(object, "name"); }

// The same for a list of strings, which must all differ.
template <typename Check>
void ValidateStrings(const json::object& owner, std::string_view list, const std::string& owner_field, std::size_t most,
                     const Check& check, Errors& errors) {
  const std::string field = owner_field + "." + std::string(list);
  const std::vector<std::string_view> strings = StringsOf(owner, list);
  if (strings.size() > most) {
    errors.push_back(TooMany(field, strings.size(), most));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    check(strings[i], Indexed(field, i));
    if (!seen.insert(strings[i]).second) errors.push_back(Duplicate(Indexed(field, i), json::value(strings[i])));
  }
}

// --- Names and conditions --------------------------------------------------------------------------------------------

// "gpu.example.com".
void ValidateDriver(std::string_view name, const std::string& field, Errors& errors);
// "rack-1/node-7".
void ValidatePoolName(std::string_view name, const std::string& field, Errors& errors);
// "model", "gpu.example.com/model". Upstream takes names with more than one slash without looking at them.
void ValidateAttributeName(std::string_view name, const std::string& field, Errors& errors);
// Of a device and of the result that allocates it.
void ValidateBindingConditions(const json::object& owner, const std::string& path, Errors& errors);

}  // namespace berth::objects::internal
