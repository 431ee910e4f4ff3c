// SPDX-License-Identifier: Apache-2.0
// Selector: which objects a list, a watch or a deletecollection is about: a namespace, labels, fields. Immutable once
// made.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/selector.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/status_error.h"

namespace berth::apiserver {

// One requirement of a field selector.
struct FieldRequirement {
  enum class Subject { kName, kNamespace, kField };
  Subject subject = Subject::kName;
  std::size_t field = 0;  // of ResourceType::selectable_fields
  std::string value;
  bool is_negated = false;
};

struct Selector {
  std::string namespace_name;  // empty: every namespace
  api::LabelSelector labels;
  std::vector<FieldRequirement> fields;

  bool Matches(const objects::StoredObject& object) const;
  // True when nothing but the namespace restricts.
  bool IsEverything() const { return labels.requirements.empty() && fields.empty(); }
  // The name that metadata.name=... asks for: then at most one object matches.
  const std::string* SingleName() const;
};

// "a=b,c!=d,e==f" with \, \= and \\ escaped, as fields.ParseSelector reads it. `stored` is the type whose fields
// objects carry; `rename` maps the request's field names to that type's. 400 for a field that the type does not
// support.
objects::Outcome<std::vector<FieldRequirement>> ParseFieldSelector(std::string_view text,
                                                                   const objects::ResourceType& stored,
                                                                   std::string (*rename)(std::string_view) = nullptr);

// 400 with the reason when it does not parse.
objects::Outcome<api::LabelSelector> ParseLabels(std::string_view text);

}  // namespace berth::apiserver
