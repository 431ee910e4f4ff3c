// SPDX-License-Identifier: Apache-2.0
// Label selectors and node selectors: parsing, validation, matching. Plain values; matching is thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/meta.h"
#include "berth/base/expected.h"

namespace berth::api {

enum class SelectorOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kUnknown };

// One requirement of a LabelSelector, a NodeSelectorTerm or a selector text.
struct Requirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;
  std::string unknown_op;  // for kUnknown: the original text
  bool operator==(const Requirement&) const = default;

  // Matches the value of `key`; null if the label is absent. NotIn and DoesNotExist match an absent label. Gt and Lt
  // compare as base-10 int64 and match nothing if one side is not a number. kUnknown matches nothing.
  bool Matches(const std::string* value) const;

  // The checks of upstream's labels.NewRequirement: key, operator, number and form of the values. In upstream a node
  // selector term with an invalid requirement matches nothing, so this is called once when a term is compiled. The
  // error names the invalid part.
  Expected<void> Validate() const;
};

// metav1.LabelSelector; matchLabels are stored as In requirements with one value. A default-constructed selector
// matches everything; an absent one (std::nullopt) matches nothing.
struct LabelSelector {
  std::vector<Requirement> requirements;
  bool operator==(const LabelSelector&) const = default;

  bool Matches(const StringMap& labels) const;
};

// The text form of kubectl and list requests: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1".
Expected<LabelSelector> ParseLabelSelector(std::string_view text);

struct NodeSelectorTerm {
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;  // only metadata.name is supported
  bool operator==(const NodeSelectorTerm&) const = default;

  // All requirements must be valid; those of match_fields must be In or NotIn with exactly one value.
  Expected<void> Validate() const;

  // An empty term matches nothing. Validate() must have succeeded, because in upstream an invalid term matches nothing.
  bool Matches(std::string_view node_name, const StringMap& node_labels) const;
};

// Converts between an operator and its name in manifests.
std::string_view ToString(SelectorOperator op);
SelectorOperator ParseSelectorOperator(std::string_view text);

}  // namespace berth::api
