// SPDX-License-Identifier: Apache-2.0
// The evaluation of steps, like cel-go's interpreter/interpretable.go (v0.26).
#include "berth/languages/cel/steps.h"

#include <algorithm>
#include <utility>

namespace berth::cel {
namespace {

std::vector<ExprId> Ids(const std::vector<StepPtr>& steps) {
  std::vector<ExprId> ids;
  ids.reserve(steps.size());
  for (const StepPtr& step : steps) ids.push_back(step->id());
  return ids;
}

}  // namespace

const Value* FindVariable(Evaluation& evaluation, Scope* scope, std::string_view name) {
  for (; scope != nullptr; scope = scope->parent) {
    const FoldStep::Parts& parts = scope->fold->parts();
    if (name == parts.accumulator) {
      scope->fold->Initialize(evaluation, *scope);
      return &scope->accumulated;
    }
    if (scope->is_finished) continue;
    if (name == parts.variable) return &scope->first;
    if (!parts.variable2.empty() && name == parts.variable2) return &scope->second;
  }
  return evaluation.activation.Find(name);
}

Value AttributeStep::Compute(Evaluation& evaluation, Scope* scope) const {
  Value value = attribute_->Resolve(evaluation, scope);
  if (is_presence_test_ && value.Is(ValueKind::kOptional)) return Value::Bool(value.AsOptional() != nullptr);
  return value;
}

void AttributeStep::Observe(Evaluation& evaluation, const Value&) const {
  attribute_->Observe(evaluation.cost);
  if (is_presence_test_) evaluation.cost.Refund(1);  // has() is free in Kubernetes
}

Value LogicStep::Compute(Evaluation& evaluation, Scope* scope) const {
  Value error;
  for (const StepPtr& term : terms_) {
    Value value = term->Eval(evaluation, scope);
    if (evaluation.IsCancelled()) return {};
    if (is_or_ ? value.IsTrue() : value.IsFalse()) return value;
    if (!value.Is(ValueKind::kBool) && !error.IsError()) error = value.IsError() ? value : Value::NoSuchOverload();
  }
  return error.IsError() ? error : Value::Bool(!is_or_);
}

void LogicStep::Observe(Evaluation& evaluation, const Value&) const {
  for (const StepPtr& term : terms_) evaluation.cost.Drop(term->id());
}

CallBase::CallBase(ExprId id, std::string function, std::string overload, std::vector<StepPtr> arguments)
    : Step(id), function_(std::move(function)), overload_(std::move(overload)), arguments_(std::move(arguments)) {}

bool CallBase::EvalArguments(Evaluation& evaluation, Scope* scope, bool stops_at_first_error,
                             std::vector<Value>& values, Value& error) const {
  values.reserve(arguments_.size());
  for (const StepPtr& argument : arguments_) {
    values.push_back(argument->Eval(evaluation, scope));
    if (evaluation.IsCancelled()) return false;
    if (values.back().IsError() && !error.IsError()) {
      error = values.back();
      if (stops_at_first_error) return false;
    }
  }
  return !error.IsError();
}

void CallBase::Observe(Evaluation& evaluation, const Value& value) const {
  std::vector<Value> values;
  if (!evaluation.cost.DropArguments(Ids(arguments_), values)) return;
  evaluation.cost.Charge(CallCost(function_, overload_, values, value, evaluation.work));
}

EqualStep::EqualStep(ExprId id, bool is_negated, std::vector<StepPtr> arguments)
    : CallBase(id, std::string(is_negated ? op::kNotEquals : op::kEquals), is_negated ? "not_equals" : "equals",
               std::move(arguments)),
      is_negated_(is_negated) {}

Value EqualStep::Compute(Evaluation& evaluation, Scope* scope) const {
  std::vector<Value> values;
  Value error;
  if (!EvalArguments(evaluation, scope, false, values, error)) return error;
  Value equal = Equals(values[0], values[1], evaluation.work);
  return is_negated_ ? Value::Bool(!equal.IsTrue()) : equal;
}

bool IsRuntimeAssignable(const Type& type, const Value& value) {
  if (IsDyn(type) || type.kind == TypeKind::kTypeParam) return true;
  if (type.name != TypeName(value)) return false;
  if (type.kind == TypeKind::kList) {
    const List& list = *value.AsList();
    return list.size() == 0 || IsRuntimeAssignable(*type.parameters[0], list.at(0));
  }
  if (type.kind == TypeKind::kMap && value.AsMap()->size() > 0) {
    const auto& [key, entry] = value.AsMap()->entries().front();
    return IsRuntimeAssignable(*type.parameters[0], key) && IsRuntimeAssignable(*type.parameters[1], entry);
  }
  return true;
}

CallStep::CallStep(ExprId id, const Function& function, std::string overload, std::vector<StepPtr> arguments)
    : CallBase(id, function.name, std::move(overload), std::move(arguments)),
      declaration_(function),
      takes_errors_(function.name == op::kNotStrictlyFalse) {
  const std::size_t count = this->arguments().size();
  if (function.singleton == nullptr) {
    const auto is_bound = [](const Overload& candidate) { return candidate.implementation != nullptr; };
    bound_ = function.FindOverload(this->overload());
    if (bound_ != nullptr && !is_bound(*bound_)) bound_ = nullptr;
    if (bound_ == nullptr && std::ranges::count_if(function.overloads, is_bound) == 1) {
      bound_ = &*std::ranges::find_if(function.overloads, is_bound);
    }
    stops_at_first_error_ = bound_ == nullptr || bound_->stops_at_first_error;
  }
  if (count > 2) stops_at_first_error_ = true;
}

Value CallStep::Compute(Evaluation& evaluation, Scope* scope) const {
  std::vector<Value> values;
  Value error;
  if (!EvalArguments(evaluation, scope, stops_at_first_error_, values, error)) {
    if (!takes_errors_ || evaluation.IsCancelled()) return error;
  }
  return declaration_.singleton != nullptr ? InvokeSingleton(values, evaluation.work) : Invoke(values, evaluation.work);
}

Value CallStep::InvokeSingleton(std::span<const Value> arguments, WorkLimit& work) const {
  if (HasTrait(arguments[0], declaration_.singleton_trait)) return declaration_.singleton(arguments, work);
  if (HasTrait(arguments[0], Trait::kReceiver)) return Value::NoSuchOverload();
  return Value::Error("no such overload: " + function());
}

bool CallStep::Matches(const Overload& overload, std::span<const Value> arguments) const {
  if (overload.parameters.size() != arguments.size()) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].IsError()) {
      if (!takes_errors_) return false;
    } else if (declaration_.has_type_guards && !IsRuntimeAssignable(*overload.parameters[i], arguments[i])) {
      return false;
    }
  }
  return true;
}

Value CallStep::NoOverload(std::span<const Value> arguments) const {
  std::string signature;
  for (const Value& argument : arguments) {
    if (!signature.empty()) signature += ", ";
    signature += TypeName(argument);
  }
  return Value::Error("no such overload: " + function() + "(" + signature + ")");
}

Value CallStep::Invoke(std::span<const Value> arguments, WorkLimit& work) const {
  if (bound_ != nullptr) {
    return Matches(*bound_, arguments) ? bound_->implementation(arguments, work) : NoOverload(arguments);
  }
  for (const Overload& overload : declaration_.overloads) {
    if (overload.implementation != nullptr && Matches(overload, arguments))
      return overload.implementation(arguments, work);
  }
  return NoOverload(arguments);
}

RegexStep::RegexStep(CallBase& call, std::shared_ptr<const Pattern> pattern)
    : CallBase(call.id(), call.function(), call.overload(), call.TakeArguments()), pattern_(std::move(pattern)) {}

Value RegexStep::Compute(Evaluation& evaluation, Scope* scope) const {
  std::vector<Value> values;
  Value error;
  if (!EvalArguments(evaluation, scope, true, values, error)) return error;
  return ApplyPattern(*pattern_, function(), values, evaluation.work);
}

bool ListStep::IsConstant() const {
  return std::ranges::all_of(items_, [](const StepPtr& item) { return item->Constant() != nullptr; });
}

Value ListStep::Compute(Evaluation& evaluation, Scope* scope) const {
  std::vector<Value> items;
  items.reserve(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Value item = items_[i]->Eval(evaluation, scope);
    if (item.IsError() || evaluation.IsCancelled()) return item;
    if (is_optional_[i]) {
      if (!item.Is(ValueKind::kOptional)) {
        return Value::Error("cannot initialize optional list element from non-optional value " + GoString(item));
      }
      if (item.AsOptional() == nullptr) continue;
      item = Value(*item.AsOptional());
    }
    items.push_back(std::move(item));
  }
  return Value::OfList(std::move(items));
}

void ListStep::Observe(Evaluation& evaluation, const Value&) const {
  std::vector<Value> values;
  static_cast<void>(evaluation.cost.DropArguments(Ids(items_), values));  // charged even if values are missing
  evaluation.cost.Charge(kListCreateCost);
}

bool MapStep::IsConstant() const {
  const auto is_constant = [](const StepPtr& step) { return step->Constant() != nullptr; };
  return std::ranges::all_of(keys_, is_constant) && std::ranges::all_of(values_, is_constant);
}

Value MapStep::Compute(Evaluation& evaluation, Scope* scope) const {
  auto map = std::make_shared<Map>();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    Value key = keys_[i]->Eval(evaluation, scope);
    if (key.IsError() || evaluation.IsCancelled()) return key;
    Value value = values_[i]->Eval(evaluation, scope);
    if (value.IsError() || evaluation.IsCancelled()) return value;
    if (!IsHashable(key)) {
      evaluation.cost.Cancel(UnhashablePanic(key));
      return {};
    }
    if (is_optional_[i]) {
      if (!value.Is(ValueKind::kOptional)) {
        return Value::Error("cannot initialize optional entry '" + GoString(key) + "' from non-optional value " +
                            GoString(value));
      }
      if (value.AsOptional() == nullptr) {
        map->Erase(key);
        continue;
      }
      value = Value(*value.AsOptional());
    }
    map->Put(key, std::move(value));
  }
  return Value::Of(std::move(map));
}

void MapStep::Observe(Evaluation& evaluation, const Value&) const {
  std::vector<ExprId> ids;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    ids.push_back(keys_[i]->id());
    ids.push_back(values_[i]->id());
  }
  std::vector<Value> values;
  static_cast<void>(evaluation.cost.DropArguments(ids, values));  // charged even if values are missing
  evaluation.cost.Charge(kMapCreateCost);
}

Value MemberStep::Compute(Evaluation& evaluation, Scope* scope) const {
  Value item = item_->Eval(evaluation, scope);
  if (item.IsError() || evaluation.IsCancelled()) return item;
  if (!IsHashable(item)) evaluation.cost.Cancel(UnhashablePanic(item));
  return Value::Bool(set_->FindSame(item));
}

Value OptionalOrStep::Compute(Evaluation& evaluation, Scope* scope) const {
  Value left = arguments_[0]->Eval(evaluation, scope);
  if (!left.Is(ValueKind::kOptional) || evaluation.IsCancelled()) return left;
  if (left.AsOptional() == nullptr) return arguments_[1]->Eval(evaluation, scope);
  return is_value_ ? Value(*left.AsOptional()) : left;
}

void FoldStep::Initialize(Evaluation& evaluation, Scope& scope) const {
  if (scope.is_initialized) return;
  scope.is_initialized = true;
  Value initial = parts_.initial->Eval(evaluation, scope.parent);
  // An accumulator that starts as an empty list or map is built in place.
  if (initial.Is(ValueKind::kList) && initial.AsList()->size() == 0) {
    auto list = std::make_shared<List>();
    list->set_mutable(true);
    list->set_named(parts_.accumulator != "@result");
    initial = Value::Of(std::move(list));
    scope.is_mutable = true;
  } else if (initial.Is(ValueKind::kMap) && initial.AsMap()->size() == 0) {
    auto map = std::make_shared<Map>();
    map->set_mutable(true);
    initial = Value::Of(std::move(map));
    scope.is_mutable = true;
  }
  scope.accumulated = std::move(initial);
}

bool FoldStep::Round(Evaluation& evaluation, Scope& scope, Value first, Value second) const {
  scope.first = std::move(first);
  scope.second = std::move(second);
  if (parts_.condition->Eval(evaluation, &scope).IsFalse() || evaluation.IsCancelled()) return false;
  scope.accumulated = parts_.step->Eval(evaluation, &scope);
  scope.is_initialized = true;
  return !evaluation.IsCancelled();
}

Value FoldStep::Compute(Evaluation& evaluation, Scope* parent) const {
  Scope scope;
  scope.parent = parent;
  scope.fold = this;
  const Value range = parts_.range->Eval(evaluation, parent);
  if (range.IsError() || evaluation.IsCancelled()) return range;
  const bool has_two = !parts_.variable2.empty();
  if (range.Is(ValueKind::kList)) {
    // The range may grow during the iteration; its initial length counts.
    const std::uint64_t size = range.AsList()->size();
    for (std::uint64_t i = 0; i < size; ++i) {
      const Value& item = range.AsList()->at(i);
      const bool goes_on = has_two ? Round(evaluation, scope, Value::Int(static_cast<std::int64_t>(i)), item)
                                   : Round(evaluation, scope, item, Value());
      if (!goes_on) break;
    }
  } else if (range.Is(ValueKind::kMap)) {
    const std::size_t size = range.AsMap()->size();
    for (std::size_t i = 0; i < size; ++i) {
      const auto [key, value] = range.AsMap()->entries()[i];
      if (!Round(evaluation, scope, key, has_two ? value : Value())) break;
    }
  } else if (has_two) {
    return Value::Error("unsupported comprehension range type: " + std::string(GoTypeName(range)));
  } else {
    return Value::Error("got '" + std::string(GoTypeName(range)) + "', expected iterable type");
  }
  if (evaluation.IsCancelled()) return {};
  scope.is_finished = true;
  Value result = parts_.result->Eval(evaluation, &scope);
  if (scope.is_mutable) {
    if (result.Is(ValueKind::kList)) result.AsList()->set_mutable(false);
    if (result.Is(ValueKind::kMap)) result.AsMap()->set_mutable(false);
  }
  return result;
}

void FoldStep::Observe(Evaluation& evaluation, const Value&) const { evaluation.cost.Drop(parts_.range->id()); }

}  // namespace berth::cel
