// SPDX-License-Identifier: Apache-2.0
// The plan of a compiled expression, which is a tree of steps, and its evaluation. Steps, attributes and qualifiers are
// divided as in cel-go, because charges and lazy evaluation depend on that.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/languages/cel/activation.h"
#include "berth/languages/cel/checker.h"
#include "berth/languages/cel/cost.h"

namespace berth::cel {

class FoldStep;
class Step;
using StepPtr = std::unique_ptr<Step>;

// The variables of a running comprehension. The accumulator is initialised lazily.
struct Scope {
  Scope* parent = nullptr;
  const FoldStep* fold = nullptr;
  Value accumulated;
  Value first;
  Value second;
  bool is_initialized = false;
  bool is_mutable = false;
  bool is_finished = false;  // the result is being computed, where only the accumulator is visible
};

struct Evaluation {
  const Activation& activation;
  CostTracker cost;
  WorkLimit work;

  // Also checks if the work limit is used up.
  bool IsCancelled();
};

// A node of the plan. Immutable after planning, shared by evaluations on any thread.
class Step {
 public:
  explicit Step(ExprId id) : id_(id) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  virtual ExprId id() const { return id_; }
  // Computes the value and charges for it. The result is meaningless after cancellation.
  Value Eval(Evaluation& evaluation, Scope* scope) const;
  // The value of a constant; null for other steps.
  virtual const Value* Constant() const { return nullptr; }

 private:
  virtual Value Compute(Evaluation& evaluation, Scope* scope) const = 0;
  // Drops and charges before the value is pushed.
  virtual void Observe(Evaluation& evaluation, const Value& value) const = 0;

  ExprId id_;
};

}  // namespace berth::cel
