// SPDX-License-Identifier: Apache-2.0
// The macros of Kubernetes' CEL environment: has, all, exists, map, cel.bind and their kin.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/languages/cel/ast.h"

namespace berth::cel {

// Makes nodes inside an expansion: their numbers come from the parser and their place is the call's.
class MacroBuilder {
 public:
  // `next_id` gives the number for a node that stands where the call does; `copy_id` that of a node's copy.
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
  // When `expr` is null: the error and the node it is about.
  std::string error;
  ExprId error_at = 0;
};

// Expands a call when its name, form and number of arguments are a macro's. Otherwise the arguments are left alone.
std::optional<MacroResult> ExpandMacro(MacroBuilder& builder, std::string_view function, ExprPtr& target,
                                       std::vector<ExprPtr>& arguments);

}  // namespace berth::cel
