// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/node_selector.h"

#include <algorithm>

#include "berth/base/go_text.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/label_selector.h"

namespace berth::plugins {
namespace {

using api::Requirement;
using api::SelectorOperator;
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

void BoundKey::Add(const Requirement& requirement, const NodeTable& nodes) {
  using enum SelectorOperator;
  must_be_absent_ |= requirement.op == kDoesNotExist;
  must_be_present_ |= requirement.op != kDoesNotExist && requirement.op != kNotIn;
  switch (requirement.op) {
    case kExists:
    case kDoesNotExist: break;
    case kIn:
    case kNotIn: {
      Values values;
      for (const std::string& value : requirement.values) {
        if (const auto id = nodes.FindValue(value)) values.push_back(*id);
      }
      if (requirement.op == kIn) {
        Intersect(std::move(values));
      } else {
        none_of_.insert(none_of_.end(), values.begin(), values.end());
      }
      break;
    }
    case kGt:
    case kLt: {
      nodes_ = &nodes;
      const Requirement*& strictest = requirement.op == kGt ? above_ : below_;
      // A requirement whose own value the strictest so far lets through is stricter still.
      if (!requirement.Validate().ok()) {
        Intersect({});
      } else if (strictest == nullptr || strictest->Matches(&requirement.values.front())) {
        strictest = &requirement;
      }
      break;
    }
    case kUnknown: Intersect({}); break;
  }
}

void BoundKey::Intersect(Values values) {
  std::sort(values.begin(), values.end());
  if (!one_of_) {
    one_of_ = std::move(values);
    return;
  }
  const auto is_missing = [&values](ValueId id) { return !std::binary_search(values.begin(), values.end(), id); };
  one_of_->erase(std::remove_if(one_of_->begin(), one_of_->end(), is_missing), one_of_->end());
}

void BoundKey::Finish() {
  std::sort(none_of_.begin(), none_of_.end());
  none_of_.erase(std::unique(none_of_.begin(), none_of_.end()), none_of_.end());
}

bool BoundKey::Matches(NodeIndex row) const {
  const ValueId id = column_[row];
  if (id == 0) return !must_be_present_;
  if (must_be_absent_) return false;
  if (one_of_ && !std::binary_search(one_of_->begin(), one_of_->end(), id)) return false;
  if (!none_of_.empty() && std::binary_search(none_of_.begin(), none_of_.end(), id)) return false;
  if (nodes_ == nullptr) return true;
  if (id != compared_) {
    const std::string value(nodes_->Value(id));
    compared_ = id;
    compared_matches_ =
        (above_ == nullptr || above_->Matches(&value)) && (below_ == nullptr || below_->Matches(&value));
  }
  return compared_matches_;
}

BoundTerm::BoundTerm(const api::NodeSelectorTerm& term, const NodeTable& nodes) {
  for (const Requirement& requirement : term.match_fields) AddField(requirement, nodes);
  AddLabels(term.match_expressions, nodes);
}

BoundTerm::BoundTerm(const std::vector<Requirement>& requirements, const NodeTable& nodes) {
  AddLabels(requirements, nodes);
}

// The requirement is valid: In or NotIn with one value. The only field of a node is its name; any other is empty.
void BoundTerm::AddField(const Requirement& requirement, const NodeTable& nodes) {
  const std::string& value = requirement.values.front();
  const bool is_in = requirement.op == SelectorOperator::kIn;
  if (requirement.key != kNodeNameField) {
    is_void_ |= value.empty() != is_in;
    return;
  }
  const NodeIndex row = nodes.Find(value);
  if (is_in) {
    is_void_ |= row == kNoNode || (only_row_ && *only_row_ != row);
    only_row_ = row;
  } else if (row != kNoNode && std::find(other_rows_.begin(), other_rows_.end(), row) == other_rows_.end()) {
    other_rows_.push_back(row);
  }
}

void BoundTerm::AddLabels(const std::vector<Requirement>& requirements, const NodeTable& nodes) {
  // All labels that no node has share a column.
  const ValueId* const nowhere = nodes.LabelColumn({}).data();
  for (const Requirement& requirement : requirements) {
    if (is_void_) return;
    const std::span<const ValueId> column = nodes.LabelColumn(requirement.key);
    if (column.data() == nowhere && !requirement.key.empty()) {
      is_void_ = requirement.op != SelectorOperator::kNotIn && requirement.op != SelectorOperator::kDoesNotExist;
      continue;
    }
    auto key = std::find_if(keys_.begin(), keys_.end(), [column](const BoundKey& it) { return it.IsAbout(column); });
    if (key == keys_.end()) key = keys_.emplace(keys_.end(), column);
    key->Add(requirement, nodes);
  }
  for (BoundKey& key : keys_) {
    key.Finish();
    is_void_ |= key.IsVoid();
  }
}

std::vector<BoundTerm> BindTerms(const std::vector<api::NodeSelectorTerm>& terms, const NodeTable& nodes) {
  std::vector<BoundTerm> bound;
  for (const api::NodeSelectorTerm& term : terms) {
    bound.emplace_back(term, nodes);
    if (bound.back().IsVoid()) bound.pop_back();
  }
  return bound;
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
