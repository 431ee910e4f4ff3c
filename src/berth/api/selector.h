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
  std::string unknown_op;  // of kUnknown: how the object spells it
  bool operator==(const Requirement&) const = default;

  // Against the value under `key`; null when the label is absent. NotIn and DoesNotExist match an absent label. Gt and
  // Lt compare as base-10 int64 and match nothing where either side is none. kUnknown matches nothing.
  bool Matches(const std::string* value) const;

  // What upstream's labels.NewRequirement checks: key, operator, number and form of the values. Upstream lets a node
  // selector term with an invalid requirement match nothing; who compiles a term asks this once. The error names the
  // culprit.
  Expected<void> Validate() const;
};

// metav1.LabelSelector: matchLabels are held as In requirements with one value. A default-constructed one matches
// everything; an absent selector (std::optional without value) matches nothing.
struct LabelSelector {
  std::vector<Requirement> requirements;
  bool operator==(const LabelSelector&) const = default;

  bool Matches(const StringMap& labels) const;
};

// The text form of kubectl and list requests: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1". Errors say what and where.
Expected<LabelSelector> ParseLabelSelector(std::string_view text);

struct NodeSelectorTerm {
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;  // metadata.name is the only field
  bool operator==(const NodeSelectorTerm&) const = default;

  // All requirements are valid; of match_fields, each is In or NotIn with exactly one value.
  Expected<void> Validate() const;

  // An empty term matches nothing. Requires Validate() to have passed: an invalid term matches nothing upstream.
  bool Matches(std::string_view node_name, const StringMap& node_labels) const;
};

// The name of an operator as manifests spell it, and back.
std::string_view ToString(SelectorOperator op);
SelectorOperator ParseSelectorOperator(std::string_view text);

}  // namespace berth::api
