#include "berth/plugins/helper/node_selector.h"

#include <algorithm>
#include <charconv>

namespace berth::plugins {
namespace {

using api::Requirement;
using api::SelectorOperator;
using framework::NodeIndex;
using framework::ValueId;

bool IsEmpty(const api::NodeSelectorTerm& term) { return term.match_expressions.empty() && term.match_fields.empty(); }

bool IsGoInt64(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return false;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char ch : text) {
    if (ch == '"' || ch == '\\') out += '\\';
    out += ch;
  }
  return out += '"';
}

std::string QuotedList(const std::vector<std::string>& values) {
  if (values.empty()) return "null";
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += Quoted(value);
  }
  return out += ']';
}

// One error a line of upstream's field.ErrorList.
class FieldErrors {
 public:
  void Invalid(const std::string& path, const std::string& value, std::string_view detail) {
    Add(path + ": Invalid value: " + value + ": " + std::string(detail));
  }
  void Add(std::string error) {
    if (std::find(errors_.begin(), errors_.end(), error) == errors_.end()) errors_.push_back(std::move(error));
  }
  std::string Text() const {
    if (errors_.size() == 1) return errors_.front();
    std::string out;
    for (const std::string& error : errors_) out += (out.empty() ? "[" : ", ") + error;
    return out.empty() ? out : out + "]";
  }

 private:
  std::vector<std::string> errors_;
};

constexpr std::string_view kNameFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::size_t kNameLengthMax = 63;

std::string LabelValueError(std::string_view value) {
  std::string detail;
  if (value.size() > kNameLengthMax) detail = "must be no more than 63 bytes";
  if (value.size() <= kNameLengthMax || !api::IsLabelValue(value.substr(0, kNameLengthMax))) {
    if (!detail.empty()) detail += "; ";
    detail +=
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and "
        "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        "'(" +
        std::string(kNameFormat) + ")?')";
  }
  return detail;
}

void CheckExpression(const Requirement& r, const std::string& path, FieldErrors& errors) {
  const std::string values_path = path + ".values";
  if (r.op == SelectorOperator::kUnknown) {
    // The operator's text is not kept; upstream quotes it.
    errors.Add(path +
               ".operator: Unsupported value: supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", "
               "\"Gt\", \"Lt\"");
    return;
  }
  if (!api::IsQualifiedName(r.key)) {
    errors.Invalid(
        path + ".key", Quoted(r.key),
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" +
            std::string(kNameFormat) + "')");
  }
  switch (r.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (r.values.empty()) {
        errors.Invalid(values_path, QuotedList(r.values), "for 'in', 'notin' operators, values set can't be empty");
      }
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!r.values.empty()) {
        errors.Invalid(values_path, QuotedList(r.values), "values set must be empty for exists and does not exist");
      }
      break;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (r.values.size() != 1) {
        errors.Invalid(values_path, QuotedList(r.values), "for 'Gt', 'Lt' operators, exactly one value is required");
      }
      for (std::size_t i = 0; i < r.values.size(); ++i) {
        if (IsGoInt64(r.values[i])) continue;
        errors.Invalid(values_path + "[" + std::to_string(i) + "]", Quoted(r.values[i]),
                       "for 'Gt', 'Lt' operators, the value must be an integer");
      }
      break;
    case SelectorOperator::kUnknown: break;
  }
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    if (api::IsLabelValue(r.values[i])) continue;
    errors.Invalid(values_path + "[" + std::to_string(i) + "][" + r.key + "]", Quoted(r.values[i]),
                   LabelValueError(r.values[i]));
  }
}

void CheckField(const Requirement& r, const std::string& path, FieldErrors& errors) {
  if (r.op != SelectorOperator::kIn && r.op != SelectorOperator::kNotIn) {
    errors.Add(path + ".operator: Unsupported value: " + Quoted(api::ToString(r.op)) +
               ": supported values: \"In\", \"NotIn\"");
  } else if (r.values.size() != 1) {
    errors.Invalid(path + ".values", QuotedList(r.values), "must have one element");
  }
}

// An empty term is in order: it matches nothing.
void CheckTerm(const api::NodeSelectorTerm& term, const std::string& path, FieldErrors& errors) {
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
  FieldErrors errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight != 0) CheckTerm(terms[i].preference, "[" + std::to_string(i) + "]", errors);
  }
  return errors.Text();
}

std::string NodeSelectorErrors(const std::vector<api::NodeSelectorTerm>& terms) {
  FieldErrors errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CheckTerm(terms[i], "nodeSelectorTerms[" + std::to_string(i) + "]", errors);
  }
  return errors.Text();
}

}  // namespace berth::plugins
