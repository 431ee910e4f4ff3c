// SPDX-License-Identifier: Apache-2.0
// The macros of Kubernetes' CEL environment: has, all, exists, map, cel.bind and others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/languages/cel/ast.h"

namespace berth::cel {

// Makes the nodes of an expansion: their numbers come from the parser, their position is the call's.
class MacroBuilder {
 public:
  // `next_id` returns the number for a new node at the call's position; `copy_id` the number for a copy of a node.
  MacroBuilder(std::function<ExprId()> next_id, std::function<ExprId(ExprId)> copy_id)
      : next_id_(std::move(next_id)), copy_id_(std::move(copy_id)) {}

  ExprPtr Literal(Value value);
  ExprPtr Ident(std::string_view name);
  ExprPtr Call(std::string_view function, std::vector<ExprPtr> arguments);
  ExprPtr MemberCall(std::string_view function, ExprPtr target, std::vector<ExprPtr> arguments = {});
  ExprPtr NewList(ExprPtr element = nullptr);
  ExprPtr NewMap();
  ExprPtr PresenceTest(ExprPtr operand, std::string field);
  struct Fold {
    ExprPtr range;
    std::string variable;
    std::string variable2;
    std::string accumulator;
    ExprPtr initial;
    ExprPtr condition;
    ExprPtr step;
    ExprPtr result;
  };
  ExprPtr Comprehension(Fold fold);
  ExprPtr Copy(const Expr& expr);

 private:
  ExprPtr Node(ExprKind kind);

  std::function<ExprId()> next_id_;
  std::function<ExprId(ExprId)> copy_id_;
};

struct MacroResult {
  ExprPtr expr;
  // Set if `expr` is null: the error and its node.
  std::string error;
  ExprId error_at = 0;
};

// Expands a call if its name, form and number of arguments match a macro. Otherwise returns nullopt and leaves the
// arguments alone.
std::optional<MacroResult> ExpandMacro(MacroBuilder& builder, std::string_view function, ExprPtr& target,
                                       std::vector<ExprPtr>& arguments);

}  // namespace berth::cel
