// SPDX-License-Identifier: Apache-2.0
// Attribute: a variable, a computed value or a choice between two attributes, followed by .fields and [indexes].
// Immutable after planning; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/languages/cel/plan.h"

namespace berth::cel {

class Attribute;
using AttributePtr = std::shared_ptr<Attribute>;

// One .field, [index] or the like in an attribute.
struct Qualifier {
  ExprId id = 0;
  Value key;                 // when `attribute` is null
  AttributePtr attribute;    // computes the key
  bool is_computed = false;  // the key is not a variable, and is charged as a separate attribute
  bool is_optional = false;
  bool is_presence_test = false;
};

class Attribute {
 public:
  static AttributePtr Variable(ExprId id, std::string name);
  static AttributePtr Computed(ExprId id, StepPtr operand);
  static AttributePtr Choice(ExprId id, StepPtr condition, AttributePtr if_true, AttributePtr if_false);

  ExprId id() const;
  void AddQualifier(std::shared_ptr<const Qualifier> qualifier);
  // The value, or an error.
  Value Resolve(Evaluation& evaluation, Scope* scope) const;
  void Observe(CostTracker& cost) const;

 private:
  Value Qualify(Evaluation& evaluation, Scope* scope, Value value) const;

  ExprId id_ = 0;
  std::string name_;
  StepPtr operand_;  // the operand of Computed, or the condition of Choice
  AttributePtr if_true_;
  AttributePtr if_false_;
  std::vector<std::shared_ptr<const Qualifier>> qualifiers_;
};

}  // namespace berth::cel
