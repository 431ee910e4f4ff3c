// SPDX-License-Identifier: Apache-2.0
// The type checker: determines the type of every node, and what every name and call refers to.
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
  TypePtr type_value;                  // the type that the name denotes; null for a variable
  std::vector<std::string> overloads;  // the overloads that a call may select at run time
};

struct CheckedExpr {
  ParsedExpr parsed;
  std::vector<TypePtr> types;  // by ExprId; null for unused numbers
  std::unordered_map<ExprId, Reference> references;

  const TypePtr& TypeOf(const Expr& expr) const { return types[static_cast<std::size_t>(expr.id)]; }
};

// Returns nullopt when there are issues. Changes the tree: qualified names become one node, and calls of namespaced
// functions lose their target.
std::optional<CheckedExpr> Check(ParsedExpr parsed, const Environment& environment, Issues& issues);

}  // namespace berth::cel
