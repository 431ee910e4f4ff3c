// SPDX-License-Identifier: Apache-2.0
// The syntax tree of an expression, with macros expanded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/languages/cel/value.h"

namespace berth::cel {

// Number of a node, counted from 1 in cel-go's order: its cost tracking depends on these numbers, and one of its
// messages shows one.
using ExprId = std::int64_t;

enum class ExprKind : std::uint8_t { kLiteral, kIdent, kSelect, kCall, kList, kMap, kStruct, kComprehension };

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// A node. Its kind determines which members are used.
struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  ExprId id = 0;
  Value literal;     // kLiteral
  std::string name;  // kIdent; the field of kSelect; the function of kCall; the type of kStruct
  ExprPtr target;    // the operand of kSelect; the receiver of kCall, if it has one; the range of kComprehension
  bool is_presence_test = false;  // kSelect inside has()
  // The arguments of kCall, the elements of kList, or the keys of kMap, whose values are in `values`.
  std::vector<ExprPtr> items;
  std::vector<ExprPtr> values;           // kMap, kStruct
  std::vector<std::string> field_names;  // kStruct
  std::vector<bool> is_optional;         // kList, kMap, kStruct: whether an element or entry was written with ?
  // kComprehension
  std::string iteration_variable;
  std::string iteration_variable2;  // empty unless there are two
  std::string accumulator;
  ExprPtr initial;
  ExprPtr condition;
  ExprPtr step;
  ExprPtr result;

  bool IsCall(std::string_view function) const { return kind == ExprKind::kCall && name == function; }
};

// Calls `visit` for the direct children of a node.
template <typename Visitor>
void ForEachChild(const Expr& expr, Visitor visit) {
  for (const ExprPtr* child : {&expr.target, &expr.initial, &expr.condition, &expr.step, &expr.result}) {
    if (*child != nullptr) visit(**child);
  }
  for (const ExprPtr& item : expr.items) visit(*item);
  for (const ExprPtr& value : expr.values) visit(*value);
}

// Upstream's names of the operators, which messages show.
namespace op {
inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kEquals = "_==_";
inline constexpr std::string_view kNotEquals = "_!=_";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptionalIndex = "_[?_]";
inline constexpr std::string_view kOptionalSelect = "_?._";
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
inline constexpr std::string_view kMapInsert = "cel.@mapInsert";
}  // namespace op

}  // namespace berth::cel
