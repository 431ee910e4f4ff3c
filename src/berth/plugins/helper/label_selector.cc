// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/label_selector.h"

#include <charconv>
#include <cstdint>

#include "berth/api/names.h"
#include "berth/base/go_text.h"
#include "berth/base/text.h"

namespace berth::plugins {
namespace {

using api::Requirement;
using api::SelectorOperator;

// strconv.ParseInt accepts it.
bool IsGoInt64(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string RequirementError(const Requirement& requirement) {
  if (requirement.op == SelectorOperator::kUnknown)
    return GoQuoted(requirement.unknown_op) + " is not a valid label selector operator";
  if (requirement.op == SelectorOperator::kGt || requirement.op == SelectorOperator::kLt)
    return GoQuoted(ToString(requirement.op)) + " is not a valid label selector operator";
  std::vector<std::string> errors;
  AddRequirementErrors(requirement, {}, errors);
  return GoAggregate(errors);
}

}  // namespace

void AddRequirementErrors(const Requirement& requirement, const std::string& path, std::vector<std::string>& errors) {
  const std::vector<std::string>& values = requirement.values;
  const std::string prefix = path.empty() ? path : path + '.';
  const std::string at = prefix + "values";
  const auto add = [&errors](const std::string& where, const std::string& value, const std::string& detail) {
    errors.push_back(where + ": Invalid value: " + value + ": " + detail);
  };
  if (const auto why = api::NotQualifiedName(requirement.key); !why.empty())
    add(prefix + "key", GoQuoted(requirement.key), Joined(why, "; "));
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) add(at, GoJson(values), "for 'in', 'notin' operators, values set can't be empty");
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) add(at, GoJson(values), "values set must be empty for exists and does not exist");
      break;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (values.size() != 1) add(at, GoJson(values), "for 'Gt', 'Lt' operators, exactly one value is required");
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (IsGoInt64(values[i])) continue;
        add(at + '[' + std::to_string(i) + ']', GoQuoted(values[i]),
            "for 'Gt', 'Lt' operators, the value must be an integer");
      }
      break;
    case SelectorOperator::kUnknown: break;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto why = api::NotLabelValue(values[i]);
    if (why.empty()) continue;
    add(at + '[' + std::to_string(i) + "][" + requirement.key + ']', GoQuoted(values[i]), Joined(why, "; "));
  }
}

std::string LabelSelectorError(const api::LabelSelector& selector) {
  for (const Requirement& requirement : selector.requirements) {
    // The texts are made for the few selectors that need them.
    const bool is_label_operator = requirement.op != SelectorOperator::kGt && requirement.op != SelectorOperator::kLt;
    if (is_label_operator && requirement.Validate().ok()) continue;
    if (std::string error = RequirementError(requirement); !error.empty()) return error;
  }
  return {};
}

}  // namespace berth::plugins
