// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/node_selector.h"

#include <algorithm>

#include "berth/base/go_text.h"
#include "berth/plugins/helper/label_selector.h"

namespace berth::plugins {
namespace {

using api::Requirement;
using api::SelectorOperator;
using framework::NodeIndex;
using framework::ValueId;

bool IsEmpty(const api::NodeSelectorTerm& term) { return term.match_expressions.empty() && term.match_fields.empty(); }

void CheckExpression(const Requirement& r, const std::string& path, std::vector<std::string>& errors) {
  if (r.op != SelectorOperator::kUnknown) return AddRequirementErrors(r, path, errors);
  errors.push_back(path + ".operator: Unsupported value: " + GoJson(r.unknown_op) +
                   ": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"");
}

void CheckField(const Requirement& r, const std::string& path, std::vector<std::string>& errors) {
  if (r.op != SelectorOperator::kIn && r.op != SelectorOperator::kNotIn) {
    const std::string_view op = r.op == SelectorOperator::kUnknown ? r.unknown_op : api::ToString(r.op);
    errors.push_back(path + ".operator: Unsupported value: " + GoJson(op) + ": supported values: \"In\", \"NotIn\"");
  } else if (r.values.size() != 1) {
    errors.push_back(path + ".values: Invalid value: " + GoJson(r.values) + ": must have one element");
  }
}

// An empty term is in order: it matches nothing.
void CheckTerm(const api::NodeSelectorTerm& term, const std::string& path, std::vector<std::string>& errors) {
  if (IsEmpty(term) || term.Validate().ok()) return;
  for (std::size_t j = 0; j < term.match_expressions.size(); ++j) {
    CheckExpression(term.match_expressions[j], path + ".matchExpressions[" + std::to_string(j) + "]", errors);
  }
  for (std::size_t j = 0; j < term.match_fields.size(); ++j) {
    CheckField(term.match_fields[j], path + ".matchFields[" + std::to_string(j) + "]", errors);
  }
}

}  // namespace

NodeSelector::NodeSelector(const std::vector<api::NodeSelectorTerm>& terms) {
  for (const api::NodeSelectorTerm& term : terms) {
    if (!IsEmpty(term) && term.Validate().ok()) terms_.push_back(term);
  }
}

bool NodeSelector::Matches(std::string_view node_name, const api::StringMap& labels) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const api::NodeSelectorTerm& term) { return term.Matches(node_name, labels); });
}

BoundRequirement::BoundRequirement(const Requirement& requirement, bool is_field, const framework::NodeTable& nodes) {
  using enum SelectorOperator;
  if (is_field) {
    // Validated: In or NotIn with one value. A node has no field but its name; the others are empty.
    const std::string& value = requirement.values.front();
    if (requirement.key == kNodeNameField) {
      kind_ = requirement.op == kIn ? Kind::kRowIn : Kind::kRowNotIn;
      row_ = nodes.Find(value);
    } else {
      constant_ = value.empty() == (requirement.op == kIn);
    }
    return;
  }
  switch (requirement.op) {
    case kIn: kind_ = Kind::kIn; break;
    case kNotIn: kind_ = Kind::kNotIn; break;
    case kExists: kind_ = Kind::kExists; break;
    case kDoesNotExist: kind_ = Kind::kDoesNotExist; break;
    case kGt:
    case kLt: kind_ = Kind::kCompare; break;
    case kUnknown: return;
  }
  column_ = nodes.LabelColumn(requirement.key);
  requirement_ = &requirement;
  nodes_ = &nodes;
  if (kind_ != Kind::kIn && kind_ != Kind::kNotIn) return;
  for (const std::string& value : requirement.values) {
    const auto id = nodes.FindValue(value);
    if (!id) continue;
    if (first_ == 0) {
      first_ = *id;
    } else {
      others_.push_back(*id);
    }
  }
  std::sort(others_.begin(), others_.end());
}

bool BoundRequirement::HasValue(ValueId id) const {
  return id == first_ || (!others_.empty() && std::binary_search(others_.begin(), others_.end(), id));
}

bool BoundRequirement::Matches(NodeIndex row) const {
  switch (kind_) {
    case Kind::kConstant: return constant_;
    case Kind::kIn: return column_[row] != 0 && HasValue(column_[row]);
    case Kind::kNotIn: return column_[row] == 0 || !HasValue(column_[row]);
    case Kind::kExists: return column_[row] != 0;
    case Kind::kDoesNotExist: return column_[row] == 0;
    case Kind::kRowIn: return row == row_;
    case Kind::kRowNotIn: return row != row_;
    case Kind::kCompare: break;
  }
  const ValueId id = column_[row];
  if (id == 0) return false;
  if (id != compared_) {
    const std::string value(nodes_->Value(id));
    compared_ = id;
    compared_matches_ = requirement_->Matches(&value);
  }
  return compared_matches_;
}

BoundTerm::BoundTerm(const api::NodeSelectorTerm& term, const framework::NodeTable& nodes) {
  requirements_.reserve(term.match_expressions.size() + term.match_fields.size());
  for (const Requirement& r : term.match_expressions) requirements_.emplace_back(r, false, nodes);
  for (const Requirement& r : term.match_fields) requirements_.emplace_back(r, true, nodes);
}

std::string PreferredTermErrors(const std::vector<api::PreferredSchedulingTerm>& terms) {
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight != 0) CheckTerm(terms[i].preference, "[" + std::to_string(i) + "]", errors);
  }
  return GoAggregate(errors);
}

std::string NodeSelectorErrors(const std::vector<api::NodeSelectorTerm>& terms) {
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CheckTerm(terms[i], "nodeSelectorTerms[" + std::to_string(i) + "]", errors);
  }
  return GoAggregate(errors);
}

}  // namespace berth::plugins
