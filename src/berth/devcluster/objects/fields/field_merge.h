// SPDX-License-Identifier: Apache-2.0
// What server-side apply does with documents and sets of their fields: merge, compare, remove. Pure functions, any
// thread; each costs what the documents hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/fields/field_set.h"
#include "berth/devcluster/objects/fields/field_type.h"

namespace berth::objects {

// The most errors that are reported of one configuration.
inline constexpr std::size_t kFieldErrorsMax = 20;

// What is wrong with an applied configuration, each as `.spec.replicas: expected numeric (int or float), got string`:
// fields that the kind does not have, values of another type, elements that have no or the same identity.
std::vector<std::string> CheckConfiguration(const FieldType& type, const json::object& configuration);

// `live` with what `applied` says. Elements of lists that have identities keep the order of `live`, and those that both
// have the order of `applied`.
json::object MergeConfiguration(const FieldType& type, const json::object& live, const json::object& applied);

// The fields that a configuration speaks of.
FieldSet FieldsOf(const FieldType& type, const json::object& document);

struct FieldChanges {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
FieldChanges CompareFields(const FieldType& type, const json::object& before, const json::object& after);

// The document without these fields. What is empty without them goes, too.
json::object WithoutFields(const FieldType& type, const json::object& document, const FieldSet& fields);

// `set` with each declared member above one of its fields: such a member goes with what is below it.
FieldSet WithDeclaredMembers(const FieldType& type, FieldSet set);

// What an object of the kind has before anybody says anything: the members that Go's types always have.
json::object BareObject(const FieldType& type);

}  // namespace berth::objects
