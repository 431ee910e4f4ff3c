// SPDX-License-Identifier: Apache-2.0
// Finds the type of every node and what every name and call refers to.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "berth/languages/cel/environment.h"
#include "berth/languages/cel/parser.h"

namespace berth::cel {

// What a node refers to.
struct Reference {
  std::string name;                    // of a variable or a type; empty for calls
  TypePtr type_value;                  // the type that a name stands for, null for a variable
  std::vector<std::string> overloads;  // that a call may turn out to be
};

struct CheckedExpr {
  ParsedExpr parsed;
  std::vector<TypePtr> types;  // by ExprId; null for numbers without a node
  std::unordered_map<ExprId, Reference> references;

  const TypePtr& TypeOf(const Expr& expr) const { return types[static_cast<std::size_t>(expr.id)]; }
};

// Nothing when there are issues. Changes the tree: qualified names become one node, calls of functions with a
// namespace lose their target.
std::optional<CheckedExpr> Check(ParsedExpr parsed, const Environment& environment, Issues& issues);

}  // namespace berth::cel
