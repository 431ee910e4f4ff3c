// SPDX-License-Identifier: Apache-2.0
// A compiled expression as a tree of steps, and one evaluation of it. The cut into steps, attributes and qualifiers is
// cel-go's, because what is charged, and what is evaluated lazily, follows from it.
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

// The variables of one comprehension while it runs. The accumulator's first value is found when somebody asks for it.
struct Scope {
  Scope* parent = nullptr;
  const FoldStep* fold = nullptr;
  Value accumulated;
  Value first;
  Value second;
  bool is_initialized = false;
  bool is_mutable = false;
  bool is_finished = false;  // the result is being computed, and only the accumulator can be seen
};

struct Evaluation {
  const Activation& activation;
  CostTracker cost;
  WorkLimit work;

  // Also notices that the work has run out.
  bool IsCancelled();
};

// One node of the plan. Immutable once planned, shared by evaluations on any thread.
class Step {
 public:
  explicit Step(ExprId id) : id_(id) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  virtual ExprId id() const { return id_; }
  // Computes the value and charges for it. After cancellation any value comes back.
  Value Eval(Evaluation& evaluation, Scope* scope) const;
  // The value of a constant; null for other steps.
  virtual const Value* Constant() const { return nullptr; }

 private:
  virtual Value Compute(Evaluation& evaluation, Scope* scope) const = 0;
  // What is dropped and charged before the value is pushed.
  virtual void Observe(Evaluation& evaluation, const Value& value) const = 0;

  ExprId id_;
};

}  // namespace berth::cel
