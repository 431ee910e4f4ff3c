// SPDX-License-Identifier: Apache-2.0
// Rules that the validations of several kinds share, with errors in upstream's words. Functions of their
// arguments: any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/names.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects::internal {

using Errors = std::vector<FieldError>;

// The path of an element: "spec.volumes[2]".
std::string Indexed(const std::string& list, std::size_t index);

// Calls check(element, path) on each of ObjectsOf(owner, list); `field` is the owner's path.
template <typename Check>
void ForEachIn(const json::object& owner, std::string_view list, const std::string& field, const Check& check) {
  const std::vector<const json::object*> elements = ObjectsOf(owner, list);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    check(*elements[i], Indexed(field + "." + std::string(list), i));
  }
}

// Errors in upstream's words.
FieldError Required(std::string field, std::string_view detail = "");
FieldError Invalid(std::string field, const json::value& value, std::string_view detail);
FieldError Forbidden(std::string field, std::string_view detail);
FieldError Duplicate(std::string field, const json::value& value);
FieldError NotFoundValue(std::string field, const json::value& value, std::string_view detail = "");
FieldError NotSupported(std::string field, const json::value& value, const std::vector<std::string_view>& supported);

// One Invalid for each reason; see names.h.
void AddInvalid(Errors& errors, const std::string& field, std::string_view value, const std::vector<std::string>& why);

// The member, or null when it is absent.
json::value ValueOrNull(const json::object& object, std::string_view member);

// Whether other members than these differ; an absent one is as good as null.
bool DiffersBeyond(const std::set<std::string_view>& free_members, const json::object& now, const json::object& before);

// Compares the members of both; `field` is the path.
void ValidateImmutable(const json::object& now, const json::object& before, std::string_view member,
                       const std::string& field, Errors& errors);

// A name or a value that may be empty, and else has to keep to `rule` (see names.h).
using NameRule = std::vector<std::string> (*)(std::string_view);
void ValidateNameMember(const json::object& object, std::string_view member, const std::string& field, NameRule rule,
                        Errors& errors);

// Each string of a list keeps to `rule`.
void ValidateStringsOf(const json::object& object, std::string_view list, const std::string& field, NameRule rule,
                       Errors& errors);

// "name", which must be there, be a DNS label, and differ from those that are in `seen` already.
void ValidateUniqueLabelName(const json::object& object, const std::string& field, std::set<std::string>& seen,
                             Errors& errors);
void ValidatePort(const json::object& object, std::string_view member, const std::string& field, Errors& errors);
void ValidateLabels(const json::object& owner, std::string_view member, const std::string& field, Errors& errors);
void ValidateLabelSelector(const json::object& selector, const std::string& field, Errors& errors);
void ValidateNonNegative(const json::object& object, std::string_view member, const std::string& field, Errors& errors);
void ValidateOneOf(const json::object& object, std::string_view member, const std::string& field,
                   const std::vector<std::string_view>& supported, Errors& errors);

// An integer or a percentage that is not negative.
void ValidateIntOrPercent(const json::object& object, std::string_view member, const std::string& field,
                          Errors& errors);

// Quantities that are not negative, whole where the resource is counted; `field` + "." or "[" + name + "]" is the path.
void ValidateQuantities(const json::object& object, std::string_view member, const std::string& field, bool brackets,
                        Errors& errors);

}  // namespace berth::objects::internal
