// SPDX-License-Identifier: Apache-2.0
// The kinds of steps of a plan. Internal to this folder.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/languages/cel/attribute.h"
#include "berth/languages/cel/declarations.h"
#include "berth/languages/cel/plan.h"
#include "berth/languages/cel/regex.h"

namespace berth::cel {

class ConstantStep final : public Step {
 public:
  ConstantStep(ExprId id, Value value) : Step(id), value_(std::move(value)) {}
  const Value* Constant() const override { return &value_; }

 private:
  Value Compute(Evaluation&, Scope*) const override { return value_; }
  void Observe(Evaluation&, const Value&) const override {}

  Value value_;
};

class AttributeStep final : public Step {
 public:
  explicit AttributeStep(AttributePtr attribute) : Step(0), attribute_(std::move(attribute)) {}
  ExprId id() const override { return attribute_->id(); }
  const AttributePtr& attribute() const { return attribute_; }
  // For has(): the value becomes whether the last qualifier found something.
  void MakePresenceTest() { is_presence_test_ = true; }

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation& evaluation, const Value& value) const override;

  AttributePtr attribute_;
  bool is_presence_test_ = false;
};

// && and ||: errors matter only if no term decides the result.
class LogicStep final : public Step {
 public:
  LogicStep(ExprId id, bool is_or, std::vector<StepPtr> terms) : Step(id), is_or_(is_or), terms_(std::move(terms)) {}

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation& evaluation, const Value& value) const override;

  bool is_or_;
  std::vector<StepPtr> terms_;
};

// A step with arguments that is charged as a call.
class CallBase : public Step {
 public:
  CallBase(ExprId id, std::string function, std::string overload, std::vector<StepPtr> arguments);
  const std::string& function() const { return function_; }
  const std::string& overload() const { return overload_; }
  const std::vector<StepPtr>& arguments() const { return arguments_; }
  std::vector<StepPtr> TakeArguments() { return std::move(arguments_); }

 protected:
  // Evaluates all arguments, or up to the first error; `error` becomes the first error.
  bool EvalArguments(Evaluation& evaluation, Scope* scope, bool stops_at_first_error, std::vector<Value>& values,
                     Value& error) const;
  void Observe(Evaluation& evaluation, const Value& value) const override;

 private:
  std::string function_;
  std::string overload_;
  std::vector<StepPtr> arguments_;
};

class EqualStep final : public CallBase {
 public:
  EqualStep(ExprId id, bool is_negated, std::vector<StepPtr> arguments);

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;

  bool is_negated_;
};

// A call of a declared function, which selects the implementation that upstream would.
class CallStep final : public CallBase {
 public:
  CallStep(ExprId id, const Function& function, std::string overload, std::vector<StepPtr> arguments);

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  Value Invoke(std::span<const Value> arguments, WorkLimit& work) const;
  Value InvokeSingleton(std::span<const Value> arguments, WorkLimit& work) const;
  Value NoOverload(std::span<const Value> arguments) const;
  bool Matches(const Overload& overload, std::span<const Value> arguments) const;

  const Function& declaration_;
  const Overload* bound_ = nullptr;  // the only overload; null: the first that matches the arguments
  bool takes_errors_ = false;
  bool stops_at_first_error_ = false;
};

// matches, find and findAll with a constant pattern.
class RegexStep final : public CallBase {
 public:
  RegexStep(CallBase& call, std::shared_ptr<const Pattern> pattern);

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;

  std::shared_ptr<const Pattern> pattern_;
};

class ListStep final : public Step {
 public:
  ListStep(ExprId id, std::vector<StepPtr> items, std::vector<bool> is_optional)
      : Step(id), items_(std::move(items)), is_optional_(std::move(is_optional)) {}
  bool IsConstant() const;

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation& evaluation, const Value& value) const override;

  std::vector<StepPtr> items_;
  std::vector<bool> is_optional_;
};

class MapStep final : public Step {
 public:
  MapStep(ExprId id, std::vector<StepPtr> keys, std::vector<StepPtr> values, std::vector<bool> is_optional)
      : Step(id), keys_(std::move(keys)), values_(std::move(values)), is_optional_(std::move(is_optional)) {}
  bool IsConstant() const;

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation& evaluation, const Value& value) const override;

  std::vector<StepPtr> keys_;
  std::vector<StepPtr> values_;
  std::vector<bool> is_optional_;
};

// x in [constants], with a hash set.
class MemberStep final : public Step {
 public:
  MemberStep(ExprId id, StepPtr item, std::shared_ptr<const Map> set)
      : Step(id), item_(std::move(item)), set_(std::move(set)) {}

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation&, const Value&) const override {}

  StepPtr item_;
  std::shared_ptr<const Map> set_;
};

// optional.or(optional) and optional.orValue(value), whose right side is evaluated lazily.
class OptionalOrStep final : public Step {
 public:
  OptionalOrStep(ExprId id, bool is_value, std::vector<StepPtr> arguments)
      : Step(id), is_value_(is_value), arguments_(std::move(arguments)) {}

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation&, const Value&) const override {}

  bool is_value_;
  std::vector<StepPtr> arguments_;
};

class FoldStep final : public Step {
 public:
  struct Parts {
    StepPtr range;
    StepPtr initial;
    StepPtr condition;
    StepPtr step;
    StepPtr result;
    std::string variable;
    std::string variable2;
    std::string accumulator;
  };
  FoldStep(ExprId id, Parts parts) : Step(id), parts_(std::move(parts)) {}
  const Parts& parts() const { return parts_; }
  // Initialises the accumulator, unless that has been done.
  void Initialize(Evaluation& evaluation, Scope& scope) const;

 private:
  Value Compute(Evaluation& evaluation, Scope* scope) const override;
  void Observe(Evaluation& evaluation, const Value& value) const override;
  // Runs one iteration; returns false when the loop ends.
  bool Round(Evaluation& evaluation, Scope& scope, Value first, Value second) const;

  Parts parts_;
};

// Whether the value matches a parameter of this type, as far as upstream checks at run time: down to the first element.
bool IsRuntimeAssignable(const Type& type, const Value& value);

// The value of a variable visible in a scope; null when there is none.
const Value* FindVariable(Evaluation& evaluation, Scope* scope, std::string_view name);

}  // namespace berth::cel
