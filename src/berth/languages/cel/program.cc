// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/program.h"

#include <utility>

#include "berth/languages/cel/planner.h"
#include "berth/languages/cel/steps.h"

namespace berth::cel {
namespace {

// Limit on values that an evaluation may traverse: far more than the cost limits of Kubernetes allow, so that only
// values of extreme size are stopped by it.
constexpr std::uint64_t kWorkMax = 20'000'000;

// Checks the tree beyond the type checker: cel-go's validators.
class Validator {
 public:
  Validator(const CheckedExpr& checked, Issues& issues) : checked_(checked), issues_(issues) {}

  void Visit(const Expr& expr) {
    if (expr.kind == ExprKind::kCall) VisitCall(expr);
    if (expr.kind == ExprKind::kList) VisitList(expr);
    if (expr.kind == ExprKind::kMap) VisitMap(expr);
    ForEachChild(expr, [this](const Expr& child) { Visit(child); });
  }

 private:
  void Report(const Expr& at, std::string message) {
    issues_.Report(checked_.parsed.OffsetOf(at.id), std::move(message));
  }

  // Checks the first argument of a call if it is a constant.
  void VisitCall(const Expr& expr) {
    if (expr.items.empty() || expr.items[0]->kind != ExprKind::kLiteral) return;
    const Value& literal = expr.items[0]->literal;
    if (expr.name == "matches" && literal.Is(ValueKind::kString)) {
      if (!CompilePattern(literal.AsString()).ok()) Report(*expr.items[0], "invalid matches argument");
    } else if (expr.name == "duration" || expr.name == "timestamp") {
      WorkLimit work(1000);
      bool is_valid = false;
      for (const Overload& overload : FindFunction(expr.name)->overloads) {
        is_valid = is_valid || (IsRuntimeAssignable(*overload.parameters[0], literal) &&
                                !overload.implementation(std::span(&literal, 1), work).IsError());
      }
      if (!is_valid) Report(*expr.items[0], "invalid " + expr.name + " argument");
    }
  }

  TypePtr ContentType(const Expr& expr, bool is_optional) const {
    const TypePtr& type = checked_.TypeOf(expr);
    return is_optional && !type->parameters.empty() ? type->parameters[0] : type;
  }

  bool Compare(const Expr& at, TypePtr& expected, TypePtr found) {
    if (expected == nullptr) {
      expected = std::move(found);
      return true;
    }
    if (IsSameType(*expected, *found, false)) return true;
    Report(at, "expected type '" + FormatType(*expected) + "' but found '" + FormatType(*found) + "'");
    return false;
  }

  void VisitList(const Expr& expr) {
    TypePtr element;
    for (std::size_t i = 0; i < expr.items.size(); ++i) {
      if (!Compare(*expr.items[i], element, ContentType(*expr.items[i], expr.is_optional[i]))) return;
    }
  }

  void VisitMap(const Expr& expr) {
    TypePtr key;
    TypePtr value;
    for (std::size_t i = 0; i < expr.items.size(); ++i) {
      Compare(*expr.items[i], key, checked_.TypeOf(*expr.items[i]));
      Compare(*expr.values[i], value, ContentType(*expr.values[i], expr.is_optional[i]));
    }
  }

  const CheckedExpr& checked_;
  Issues& issues_;
};

Expected<CheckedExpr> ParseAndCheck(const Environment& environment, std::string_view text) {
  const Source source(text);
  Issues issues(source);
  const auto failure = [&] { return InvalidError("compilation failed: " + issues.ToString()); };
  auto parsed = Parse(source, issues);
  if (!parsed) return failure();
  auto checked = Check(std::move(*parsed), environment, issues);
  if (!checked) return failure();
  Validator(*checked, issues).Visit(*checked->parsed.root);
  if (!issues.empty()) return failure();
  return std::move(*checked);
}

}  // namespace

Program::Program(std::shared_ptr<const Step> root, TypePtr output_type)
    : root_(std::move(root)), output_type_(std::move(output_type)) {}

Expected<Program> Program::Compile(const Environment& environment, std::string_view text, const TypeCheck& check_type) {
  if (text.size() > kExpressionBytesMax) {
    return InvalidError("compilation failed: the expression has " + std::to_string(text.size()) + " bytes, more than " +
                        std::to_string(kExpressionBytesMax));
  }
  BERTH_ASSIGN_OR_RETURN(const CheckedExpr checked, ParseAndCheck(environment, text));
  const TypePtr& type = checked.TypeOf(*checked.parsed.root);
  if (check_type) BERTH_RETURN_IF_ERROR(check_type(*type));
  auto plan = MakePlan(checked);
  if (!plan.ok()) return InvalidError("program instantiation failed: " + plan.error().message);
  return Program(std::move(*plan), type);
}

EvaluationResult Program::Evaluate(const Activation& activation, std::uint64_t cost_limit) const {
  Evaluation evaluation{activation, CostTracker(cost_limit), WorkLimit(kWorkMax, cost_limit)};
  Value value = root_->Eval(evaluation, nullptr);
  const std::uint64_t cost = evaluation.cost.cost();
  if (evaluation.IsCancelled()) return {InvalidError(evaluation.cost.cancel_message()), cost};
  if (value.IsError()) return {InvalidError(value.ErrorMessage()), cost};
  return {std::move(value), cost};
}

}  // namespace berth::cel
