// SPDX-License-Identifier: Apache-2.0
// FieldSet: a set of the fields of one object, as metadata.managedFields names them (FieldsV1). A tree whose nodes are
// path elements: "f:" and a member's name, "k:" and the keys of a list's element as JSON, "v:" and the value of a set's
// element. A plain value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"

namespace berth::objects {

namespace json = codec::json;

// Nesting of a set that a client sends; deeper ones are none.
inline constexpr int kFieldSetDepthMax = 256;

struct FieldSet {
  bool is_member = false;
  std::map<std::string, FieldSet, std::less<>> children;  // none of them empty

  bool IsEmpty() const { return !is_member && children.empty(); }

  // The child, made when absent; the caller makes it a member or gives it children.
  FieldSet& At(std::string_view element);
  const FieldSet* Find(std::string_view element) const;
  // Adds a child unless it is empty.
  void Add(std::string element, FieldSet child);
  // Adds the path of names a.b.c; for what is written down in code.
  FieldSet& WithPath(const std::vector<std::string_view>& names);

  friend bool operator==(const FieldSet& a, const FieldSet& b) {
    return a.is_member == b.is_member && a.children == b.children;
  }
};

FieldSet Union(FieldSet a, const FieldSet& b);
FieldSet Intersection(const FieldSet& a, const FieldSet& b);
// What `a` has and `b` has not.
FieldSet Difference(const FieldSet& a, const FieldSet& b);

// FieldsV1; nullopt for what is none.
json::object ToFieldsV1(const FieldSet& set);
std::optional<FieldSet> FromFieldsV1(const json::object& fields);

// The paths as messages show them, `.spec.containers[name="web"].image`: the members of a node before what is below it.
std::vector<std::string> PathsOf(const FieldSet& set);
// One element of a path, as PathsOf() shows it.
std::string ElementText(std::string_view element);

}  // namespace berth::objects
