// SPDX-License-Identifier: Apache-2.0
// Variables with fields and indexes, like cel-go's interpreter/attributes.go (v0.26).
#include "berth/languages/cel/attribute.h"

#include <algorithm>
#include <utility>

#include "berth/languages/cel/steps.h"

namespace berth::cel {
namespace {

// The result of a qualifier: an error, a value, or nothing.
struct Selected {
  Value value;
  bool is_present = false;
};

Selected Missing(const Value& key, std::string_view what, bool is_test) {
  if (is_test) return {};
  return {Value::Error(std::string(what) + GoString(key)), false};
}

Selected Select(const Value& value, const Value& key, bool is_test) {
  switch (value.kind()) {
    case ValueKind::kError: return {value, false};
    case ValueKind::kMap: {
      const Value* found = value.AsMap()->Select(key);
      if (found != nullptr) return {*found, true};
      return Missing(key, "no such key: ", is_test);
    }
    case ValueKind::kList: {
      const auto index = IndexOf(key);
      if (!index.ok()) return {Value::Error(index.error().message), false};
      const List& list = *value.AsList();
      if (*index >= 0 && static_cast<std::uint64_t>(*index) < list.size()) {
        return {list.at(static_cast<std::uint64_t>(*index)), true};
      }
      return Missing(key, "index out of bounds: ", is_test);
    }
    default: return Missing(key, "no such key: ", is_test);
  }
}

Value Unsupported(std::string_view go_type, const Value& value) {
  return Value::Error("unsupported conversion to ref.Val: (" + std::string(go_type) + ")" + GoString(value));
}

// Upstream converts the content of an optional variable to a Go value and back to a CEL value, which fails for types
// that Go does not have.
Value ThroughGo(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kType: return Value::String(value.AsType()->name);
    case ValueKind::kOptional: {
      const Value* content = &value;
      while (content->Is(ValueKind::kOptional) && content->AsOptional() != nullptr)
        content = content->AsOptional().get();
      return content->Is(ValueKind::kOptional) ? Value() : ThroughGo(*content);
    }
    case ValueKind::kQuantity: return Unsupported("*resource.Quantity", value);
    case ValueKind::kSemver: return Unsupported("semver.Version", value);
    case ValueKind::kIp: return Unsupported("netip.Addr", value);
    case ValueKind::kCidr: return Unsupported("netip.Prefix", value);
    default: return value;
  }
}

// The key of a qualifier, or an error.
Value KeyOf(const Qualifier& qualifier, Evaluation& evaluation, Scope* scope) {
  if (qualifier.attribute == nullptr) return qualifier.key;
  Value key = qualifier.attribute->Resolve(evaluation, scope);
  if (key.IsError() || IsPrimitive(key)) return key;
  return Value::Error("invalid qualifier type: " + std::string(GoTypeName(key)));
}

void Observe(const Qualifier& qualifier, CostTracker& cost, const Value& value) {
  if (qualifier.is_computed) cost.Drop(qualifier.attribute->id());
  cost.Charge(1);
  cost.Push(value, qualifier.id);
}

// Applies one qualifier. The result is empty if an optional qualifier finds nothing.
Selected Apply(const Qualifier& qualifier, bool is_optional, const Value& value, Evaluation& evaluation, Scope* scope) {
  const Value key = KeyOf(qualifier, evaluation, scope);
  Selected selected =
      key.IsError() ? Selected{key, false} : Select(value, key, is_optional || qualifier.is_presence_test);
  const bool failed = selected.value.IsError() && !selected.is_present;
  if (is_optional) {
    if (selected.is_present) Observe(qualifier, evaluation.cost, selected.value);
    return selected;
  }
  if (qualifier.is_presence_test && !failed) selected = {Value::Bool(selected.is_present), true};
  Observe(qualifier, evaluation.cost, selected.value);
  return selected;
}

}  // namespace

AttributePtr Attribute::Variable(ExprId id, std::string name) {
  auto attribute = std::make_shared<Attribute>();
  attribute->id_ = id;
  attribute->name_ = std::move(name);
  return attribute;
}

AttributePtr Attribute::Computed(ExprId id, StepPtr operand) {
  auto attribute = std::make_shared<Attribute>();
  attribute->id_ = id;
  attribute->operand_ = std::move(operand);
  return attribute;
}

AttributePtr Attribute::Choice(ExprId id, StepPtr condition, AttributePtr if_true, AttributePtr if_false) {
  auto attribute = Computed(id, std::move(condition));
  attribute->if_true_ = std::move(if_true);
  attribute->if_false_ = std::move(if_false);
  return attribute;
}

ExprId Attribute::id() const {
  if (if_true_ != nullptr) return if_true_->id() == if_false_->id() ? if_true_->id() : id_;
  return qualifiers_.empty() ? id_ : qualifiers_.back()->id;
}

void Attribute::AddQualifier(std::shared_ptr<const Qualifier> qualifier) {
  if (if_true_ != nullptr) {
    if_true_->AddQualifier(qualifier);
    if_false_->AddQualifier(std::move(qualifier));
  } else {
    qualifiers_.push_back(std::move(qualifier));
  }
}

Value Attribute::Resolve(Evaluation& evaluation, Scope* scope) const {
  if (if_true_ != nullptr) {
    Value chosen = operand_->Eval(evaluation, scope);
    if (chosen.IsTrue()) return if_true_->Resolve(evaluation, scope);
    if (chosen.IsFalse()) return if_false_->Resolve(evaluation, scope);
    return chosen.IsError() ? chosen : Value::NoSuchOverload();
  }
  if (operand_ != nullptr) {
    Value value = operand_->Eval(evaluation, scope);
    return value.IsError() ? value : Qualify(evaluation, scope, std::move(value));
  }
  const Value* variable = FindVariable(evaluation, scope, name_);
  if (variable == nullptr) return Value::Error("no such attribute(s): " + name_);
  return variable->IsError() ? *variable : Qualify(evaluation, scope, *variable);
}

Value Attribute::Qualify(Evaluation& evaluation, Scope* scope, Value value) const {
  bool is_optional = value.Is(ValueKind::kOptional);
  if (is_optional) {
    if (value.AsOptional() == nullptr) return value;
    value = ThroughGo(*value.AsOptional());
  }
  for (const auto& qualifier : qualifiers_) {
    if (evaluation.IsCancelled()) return value;
    is_optional = is_optional || qualifier->is_optional;
    Selected selected = Apply(*qualifier, is_optional, value, evaluation, scope);
    if (!selected.is_present) {
      if (selected.value.IsError()) return selected.value;
      return Value::OptionalNone();
    }
    value = std::move(selected.value);
  }
  return is_optional ? Value::OptionalOf(std::move(value)) : value;
}

void Attribute::Observe(CostTracker& cost) const {
  if (if_true_ != nullptr) {
    cost.Drop(if_false_->id());
    cost.Drop(if_true_->id());
    cost.Drop(operand_->id());
  } else {
    cost.Drop(id());
    cost.Charge(1);
  }
}

}  // namespace berth::cel
