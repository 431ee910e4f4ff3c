// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/macros.h"

#include <array>
#include <utility>

namespace berth::cel {
namespace {

constexpr std::string_view kAccumulator = "@result";
constexpr std::string_view kOldAccumulator = "__result__";
constexpr std::string_view kUnused = "#unused";
constexpr std::string_view kSortInput = "@__sortBy_input__";

using Arguments = std::vector<ExprPtr>;

// The arguments of a call from left to right: node numbers are assigned in this order.
template <typename... Parts>
Arguments Args(Parts... parts) {
  Arguments arguments;
  (arguments.push_back(std::move(parts)), ...);
  return arguments;
}

MacroResult Done(ExprPtr expr) { return {std::move(expr), {}, 0}; }
MacroResult Fail(const Expr& at, std::string error) { return {nullptr, std::move(error), at.id}; }

bool IsAccumulator(std::string_view name) { return name == kAccumulator || name == kOldAccumulator; }

MacroResult ExpandHas(MacroBuilder& b, Arguments& arguments) {
  Expr& argument = *arguments[0];
  if (argument.kind != ExprKind::kSelect) return Fail(argument, "invalid argument to has() macro");
  return Done(b.PresenceTest(std::move(argument.target), argument.name));
}

// The one or two variables of a comprehension, which are its first arguments.
struct Variables {
  std::string first;
  std::string second;
};

// Reads the variables; sets `error` if they are not simple names.
std::optional<Variables> TakeVariables(const Arguments& arguments, std::size_t count, std::string_view no_name,
                                       MacroResult& error) {
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i]->kind != ExprKind::kIdent) {
      error = Fail(*arguments[i], std::string(no_name));
      return std::nullopt;
    }
  }
  if (count == 2 && arguments[0]->name == arguments[1]->name) {
    error = Fail(*arguments[1], "duplicate variable name: " + arguments[0]->name);
    return std::nullopt;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (IsAccumulator(arguments[i]->name)) {
      error = Fail(*arguments[i], "iteration variable overwrites accumulator variable");
      return std::nullopt;
    }
  }
  return Variables{arguments[0]->name, count == 2 ? arguments[1]->name : std::string()};
}

enum class Quantifier : std::uint8_t { kAll, kExists, kExistsOne };

MacroResult ExpandQuantifier(MacroBuilder& b, Quantifier kind, ExprPtr target, Arguments& arguments) {
  MacroResult error;
  const auto variables = TakeVariables(arguments, arguments.size() - 1, "argument must be a simple name", error);
  if (!variables) return error;
  MacroBuilder::Fold fold{
      std::move(target), variables->first, variables->second, std::string(kAccumulator), {}, {}, {}, {}};
  ExprPtr& predicate = arguments.back();
  switch (kind) {
    case Quantifier::kAll: {
      fold.initial = b.Literal(Value::Bool(true));
      fold.condition = b.Call(op::kNotStrictlyFalse, Args(b.Ident(kAccumulator)));
      ExprPtr accumulated = b.Ident(kAccumulator);
      fold.step = b.Call(op::kAnd, Args(std::move(accumulated), std::move(predicate)));
      fold.result = b.Ident(kAccumulator);
      break;
    }
    case Quantifier::kExists: {
      fold.initial = b.Literal(Value::Bool(false));
      fold.condition = b.Call(op::kNotStrictlyFalse, Args(b.Call(op::kNot, Args(b.Ident(kAccumulator)))));
      ExprPtr accumulated = b.Ident(kAccumulator);
      fold.step = b.Call(op::kOr, Args(std::move(accumulated), std::move(predicate)));
      fold.result = b.Ident(kAccumulator);
      break;
    }
    case Quantifier::kExistsOne: {
      fold.initial = b.Literal(Value::Int(0));
      fold.condition = b.Literal(Value::Bool(true));
      ExprPtr counted = b.Ident(kAccumulator);
      ExprPtr one = b.Literal(Value::Int(1));
      ExprPtr sum = b.Call(op::kAdd, Args(std::move(counted), std::move(one)));
      ExprPtr same = b.Ident(kAccumulator);
      fold.step = b.Call(op::kConditional, Args(std::move(predicate), std::move(sum), std::move(same)));
      ExprPtr total = b.Ident(kAccumulator);
      ExprPtr wanted = b.Literal(Value::Int(1));
      fold.result = b.Call(op::kEquals, Args(std::move(total), std::move(wanted)));
      break;
    }
  }
  return Done(b.Comprehension(std::move(fold)));
}

// accumulator + [element], or the accumulator unchanged where `filter` (may be null) is false.
ExprPtr AppendStep(MacroBuilder& b, ExprPtr element, ExprPtr filter) {
  ExprPtr accumulated = b.Ident(kAccumulator);
  ExprPtr list = b.NewList(std::move(element));
  ExprPtr step = b.Call(op::kAdd, Args(std::move(accumulated), std::move(list)));
  if (filter == nullptr) return step;
  ExprPtr same = b.Ident(kAccumulator);
  return b.Call(op::kConditional, Args(std::move(filter), std::move(step), std::move(same)));
}

MacroResult ExpandMap(MacroBuilder& b, ExprPtr target, Arguments& arguments) {
  MacroResult error;
  const auto variables = TakeVariables(arguments, 1, "argument is not an identifier", error);
  if (!variables) return error;
  MacroBuilder::Fold fold{std::move(target), variables->first, {}, std::string(kAccumulator), {}, {}, {}, {}};
  fold.initial = b.NewList();
  fold.condition = b.Literal(Value::Bool(true));
  fold.step = AppendStep(b, std::move(arguments.back()), arguments.size() == 3 ? std::move(arguments[1]) : nullptr);
  fold.result = b.Ident(kAccumulator);
  return Done(b.Comprehension(std::move(fold)));
}

MacroResult ExpandFilter(MacroBuilder& b, ExprPtr target, Arguments& arguments) {
  MacroResult error;
  const auto variables = TakeVariables(arguments, 1, "argument is not an identifier", error);
  if (!variables) return error;
  MacroBuilder::Fold fold{std::move(target), variables->first, {}, std::string(kAccumulator), {}, {}, {}, {}};
  fold.initial = b.NewList();
  fold.condition = b.Literal(Value::Bool(true));
  fold.step = AppendStep(b, std::move(arguments[0]), std::move(arguments[1]));
  fold.result = b.Ident(kAccumulator);
  return Done(b.Comprehension(std::move(fold)));
}

enum class Transform : std::uint8_t { kList, kMap, kMapEntry };

// transformList, transformMap, transformMapEntry: two variables, an optional filter, and the new value of each entry.
MacroResult ExpandTransform(MacroBuilder& b, Transform kind, ExprPtr target, Arguments& arguments) {
  MacroResult error;
  const auto variables = TakeVariables(arguments, 2, "argument must be a simple name", error);
  if (!variables) return error;
  ExprPtr filter = arguments.size() == 4 ? std::move(arguments[2]) : nullptr;
  MacroBuilder::Fold fold{
      std::move(target), variables->first, variables->second, std::string(kAccumulator), {}, {}, {}, {}};
  if (kind == Transform::kList) {
    fold.step = AppendStep(b, std::move(arguments.back()), std::move(filter));
  } else {
    ExprPtr accumulated = b.Ident(kAccumulator);
    Arguments inserted = Args(std::move(accumulated));
    if (kind == Transform::kMap) inserted.push_back(b.Ident(variables->first));
    inserted.push_back(std::move(arguments.back()));
    fold.step = b.Call(op::kMapInsert, std::move(inserted));
    if (filter != nullptr) {
      ExprPtr same = b.Ident(kAccumulator);
      fold.step = b.Call(op::kConditional, Args(std::move(filter), std::move(fold.step), std::move(same)));
    }
  }
  fold.initial = kind == Transform::kList ? b.NewList() : b.NewMap();
  fold.condition = b.Literal(Value::Bool(true));
  fold.result = b.Ident(kAccumulator);
  return Done(b.Comprehension(std::move(fold)));
}

// Binds a variable to an expression: a comprehension over an empty list, whose accumulator is the variable.
ExprPtr Bind(MacroBuilder& b, std::string variable, ExprPtr range, ExprPtr initial, ExprPtr body) {
  MacroBuilder::Fold fold{std::move(range), std::string(kUnused), {}, variable, std::move(initial), {}, {},
                          std::move(body)};
  fold.condition = b.Literal(Value::Bool(false));
  fold.step = b.Ident(variable);
  return b.Comprehension(std::move(fold));
}

MacroResult ExpandBind(MacroBuilder& b, Arguments& arguments) {
  if (arguments[0]->kind != ExprKind::kIdent) {
    return Fail(*arguments[0], "cel.bind() variable names must be simple identifiers");
  }
  ExprPtr range = b.NewList();
  return Done(Bind(b, arguments[0]->name, std::move(range), std::move(arguments[1]), std::move(arguments[2])));
}

MacroResult ExpandOptional(MacroBuilder& b, bool is_flat, ExprPtr target, Arguments& arguments) {
  if (arguments[0]->kind != ExprKind::kIdent) {
    return Fail(*arguments[0],
                std::string(is_flat ? "optFlatMap" : "optMap") + "() variable name must be a simple identifier");
  }
  const Expr& original = *target;
  ExprPtr has_value = b.MemberCall("hasValue", std::move(target));
  ExprPtr range = b.NewList();
  ExprPtr value = b.MemberCall("value", b.Copy(original));
  ExprPtr mapped = Bind(b, arguments[0]->name, std::move(range), std::move(value), std::move(arguments[1]));
  if (!is_flat) mapped = b.Call("optional.of", Args(std::move(mapped)));
  ExprPtr none = b.Call("optional.none", {});
  return Done(b.Call(op::kConditional, Args(std::move(has_value), std::move(mapped), std::move(none))));
}

MacroResult ExpandSortBy(MacroBuilder& b, ExprPtr target, Arguments& arguments) {
  ExprPtr variable = b.Ident(kSortInput);
  if (target->kind == ExprKind::kLiteral || target->kind == ExprKind::kMap || target->kind == ExprKind::kStruct) {
    return Fail(*target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
  }
  MacroResult keys = ExpandMap(b, b.Copy(*variable), arguments);
  if (keys.expr == nullptr) return keys;
  ExprPtr input = b.Copy(*variable);
  ExprPtr sorted = b.MemberCall("@sortByAssociatedKeys", std::move(input), Args(std::move(keys.expr)));
  MacroBuilder::Fold fold{b.NewList(), std::string(kUnused), {}, std::string(kSortInput), std::move(target), {}, {},
                          {}};
  fold.condition = b.Literal(Value::Bool(false));
  fold.step = std::move(variable);
  fold.result = std::move(sorted);
  return Done(b.Comprehension(std::move(fold)));
}

}  // namespace

ExprPtr MacroBuilder::Node(ExprKind kind) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->id = next_id_();
  return expr;
}

ExprPtr MacroBuilder::Literal(Value value) {
  ExprPtr expr = Node(ExprKind::kLiteral);
  expr->literal = std::move(value);
  return expr;
}

ExprPtr MacroBuilder::Ident(std::string_view name) {
  ExprPtr expr = Node(ExprKind::kIdent);
  expr->name = name;
  return expr;
}

ExprPtr MacroBuilder::Call(std::string_view function, std::vector<ExprPtr> arguments) {
  ExprPtr expr = Node(ExprKind::kCall);
  expr->name = function;
  expr->items = std::move(arguments);
  return expr;
}

ExprPtr MacroBuilder::MemberCall(std::string_view function, ExprPtr target, std::vector<ExprPtr> arguments) {
  ExprPtr expr = Call(function, std::move(arguments));
  expr->target = std::move(target);
  return expr;
}

ExprPtr MacroBuilder::NewList(ExprPtr element) {
  ExprPtr expr = Node(ExprKind::kList);
  if (element != nullptr) {
    expr->items.push_back(std::move(element));
    expr->is_optional.push_back(false);
  }
  return expr;
}

ExprPtr MacroBuilder::NewMap() { return Node(ExprKind::kMap); }

ExprPtr MacroBuilder::PresenceTest(ExprPtr operand, std::string field) {
  ExprPtr expr = Node(ExprKind::kSelect);
  expr->target = std::move(operand);
  expr->name = std::move(field);
  expr->is_presence_test = true;
  return expr;
}

ExprPtr MacroBuilder::Comprehension(Fold fold) {
  ExprPtr expr = Node(ExprKind::kComprehension);
  expr->target = std::move(fold.range);
  expr->iteration_variable = std::move(fold.variable);
  expr->iteration_variable2 = std::move(fold.variable2);
  expr->accumulator = std::move(fold.accumulator);
  expr->initial = std::move(fold.initial);
  expr->condition = std::move(fold.condition);
  expr->step = std::move(fold.step);
  expr->result = std::move(fold.result);
  return expr;
}

ExprPtr MacroBuilder::Copy(const Expr& expr) {
  auto copy = std::make_unique<Expr>();
  copy->kind = expr.kind;
  copy->id = copy_id_(expr.id);
  copy->literal = expr.literal;
  copy->name = expr.name;
  copy->is_presence_test = expr.is_presence_test;
  copy->field_names = expr.field_names;
  copy->is_optional = expr.is_optional;
  copy->iteration_variable = expr.iteration_variable;
  copy->iteration_variable2 = expr.iteration_variable2;
  copy->accumulator = expr.accumulator;
  const auto copy_child = [&](const ExprPtr& child) { return child == nullptr ? nullptr : Copy(*child); };
  if (expr.kind == ExprKind::kMap || expr.kind == ExprKind::kStruct) {
    for (std::size_t i = 0; i < expr.values.size(); ++i) {
      next_id_();  // for the entry
      if (expr.kind == ExprKind::kMap) copy->items.push_back(Copy(*expr.items[i]));
      copy->values.push_back(Copy(*expr.values[i]));
    }
    return copy;
  }
  if (expr.kind != ExprKind::kCall) copy->target = copy_child(expr.target);
  for (const ExprPtr& item : expr.items) copy->items.push_back(Copy(*item));
  if (expr.kind == ExprKind::kCall) copy->target = copy_child(expr.target);
  copy->initial = copy_child(expr.initial);
  copy->condition = copy_child(expr.condition);
  copy->step = copy_child(expr.step);
  copy->result = copy_child(expr.result);
  return copy;
}

std::optional<MacroResult> ExpandMacro(MacroBuilder& builder, std::string_view function, ExprPtr& target,
                                       std::vector<ExprPtr>& arguments) {
  const std::size_t count = arguments.size();
  if (target == nullptr) {
    if (function == "has" && count == 1) return ExpandHas(builder, arguments);
    return std::nullopt;
  }
  if (count < 2 || count > 4) return std::nullopt;
  if (count <= 3) {
    if (function == "all") return ExpandQuantifier(builder, Quantifier::kAll, std::move(target), arguments);
    if (function == "exists") return ExpandQuantifier(builder, Quantifier::kExists, std::move(target), arguments);
    if (function == "exists_one" || (function == "existsOne" && count == 3)) {
      return ExpandQuantifier(builder, Quantifier::kExistsOne, std::move(target), arguments);
    }
    if (function == "map") return ExpandMap(builder, std::move(target), arguments);
  }
  if (count == 2) {
    if (function == "filter") return ExpandFilter(builder, std::move(target), arguments);
    if (function == "optMap") return ExpandOptional(builder, false, std::move(target), arguments);
    if (function == "optFlatMap") return ExpandOptional(builder, true, std::move(target), arguments);
    if (function == "sortBy") return ExpandSortBy(builder, std::move(target), arguments);
    return std::nullopt;
  }
  if (function == "transformList") return ExpandTransform(builder, Transform::kList, std::move(target), arguments);
  if (function == "transformMap") return ExpandTransform(builder, Transform::kMap, std::move(target), arguments);
  if (function == "transformMapEntry")
    return ExpandTransform(builder, Transform::kMapEntry, std::move(target), arguments);
  if (function == "bind" && count == 3 && target->kind == ExprKind::kIdent && target->name == "cel") {
    return ExpandBind(builder, arguments);
  }
  return std::nullopt;
}

}  // namespace berth::cel
