// SPDX-License-Identifier: Apache-2.0
// Follows cel-go's checker/checker.go (v0.26): accepts the same expressions, with the same messages.
#include "berth/languages/cel/checker.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/languages/cel/declarations.h"
#include "berth/languages/cel/names.h"
#include "berth/languages/cel/type_errors.h"
#include "berth/languages/cel/type_solver.h"

namespace berth::cel {
namespace {

bool IsError(const Type& type) { return type.kind == TypeKind::kError; }

TypePtr UnwrapOptional(const TypePtr& type, bool& was_optional) {
  was_optional = IsOptional(*type) && !type->parameters.empty();
  return was_optional ? type->parameters[0] : type;
}

// a.b.c as text; nullopt for other expressions.
std::optional<std::string> QualifiedName(const Expr& expr) {
  if (expr.kind == ExprKind::kIdent) return expr.name;
  if (expr.kind != ExprKind::kSelect || expr.is_presence_test) return std::nullopt;
  auto name = QualifiedName(*expr.target);
  if (name) *name += "." + expr.name;
  return name;
}

bool IsNotBuilt(std::string_view name) { return std::ranges::find(kNotBuilt, name) != kNotBuilt.end(); }

class Checker {
 public:
  Checker(CheckedExpr& checked, const Environment& environment, Issues& issues)
      : checked_(checked),
        environment_(environment),
        names_(environment),
        errors_(checked.parsed, issues, environment.names_container()) {}

  void Run() {
    checked_.types.resize(checked_.parsed.offsets.size());
    CheckNode(*checked_.parsed.root);
    for (TypePtr& type : checked_.types) {
      if (type != nullptr) type = solver_.Substitute(type, true);
    }
  }

 private:
  TypePtr& Slot(const Expr& expr) { return checked_.types[static_cast<std::size_t>(expr.id)]; }
  const TypePtr& TypeOfNode(const Expr& expr) { return Slot(expr) == nullptr ? ErrorType() : Slot(expr); }
  void SetType(const Expr& expr, TypePtr type) {
    if (type->weight > kTypeWeightMax) {
      errors_.Report(expr, "type is too large");
      type = ErrorType();
    }
    Slot(expr) = std::move(type);
  }

  void ReferTo(Expr& expr, const Names::Name& name) {
    SetType(expr, name.type);
    checked_.references[expr.id] = Reference{name.name, name.type_value, {}};
    expr.kind = ExprKind::kIdent;
    expr.name = name.name;
    expr.target = nullptr;
  }

  void CheckNode(Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral: SetType(expr, TypeOfValue(expr.literal)); break;
      case ExprKind::kIdent: CheckIdent(expr); break;
      case ExprKind::kSelect: CheckSelect(expr); break;
      case ExprKind::kCall: CheckCall(expr); break;
      case ExprKind::kList: CheckList(expr); break;
      case ExprKind::kMap: CheckMap(expr); break;
      case ExprKind::kStruct: CheckStruct(expr); break;
      case ExprKind::kComprehension: CheckComprehension(expr); break;
    }
  }

  void CheckIdent(Expr& expr) {
    if (const auto name = names_.Find(expr.name)) return ReferTo(expr, *name);
    errors_.ReportUndeclared(expr, expr.name);
    SetType(expr, ErrorType());
  }

  void CheckSelect(Expr& expr) {
    if (const auto qualified = QualifiedName(expr)) {
      if (const auto name = names_.Find(*qualified)) return ReferTo(expr, *name);
    }
    TypePtr type = CheckField(expr, *expr.target, expr.name, false);
    SetType(expr, expr.is_presence_test ? BoolType() : solver_.Substitute(type, false));
  }

  void CheckOptionalSelect(Expr& expr) {
    TypePtr type = CheckField(expr, *expr.items[0], expr.items[1]->literal.AsString(), true);
    SetType(*expr.items[1], StringType());
    SetType(expr, solver_.Substitute(type, false));
    checked_.references[expr.id] = Reference{{}, nullptr, {"select_optional_field"}};
  }

  TypePtr CheckField(Expr& expr, Expr& operand, const std::string& field, bool is_optional) {
    CheckNode(operand);
    bool was_optional = false;
    const TypePtr target = UnwrapOptional(solver_.Substitute(TypeOfNode(operand), false), was_optional);
    TypePtr type = ErrorType();
    switch (target->kind) {
      case TypeKind::kMap: type = target->parameters[1]; break;
      case TypeKind::kStruct: type = FieldType(expr, *target, field); break;
      case TypeKind::kTypeParam:
        solver_.Assign(DynType(), target);
        type = DynType();
        break;
      default:
        if (!IsDyn(*target) && !IsError(*target)) {
          errors_.Report(expr, "type '" + FormatType(*target) + "' does not support field selection");
        }
        type = DynType();
    }
    return was_optional || is_optional ? OptionalType(type) : type;
  }

  TypePtr FieldType(Expr& expr, const Type& type, const std::string& field) {
    const auto* fields = environment_.FindStruct(type.name);
    if (fields == nullptr) {
      errors_.Report(expr, "unexpected failed resolution of '" + type.name + "'");
      return ErrorType();
    }
    if (const auto found = fields->find(field); found != fields->end()) return found->second;
    errors_.Report(expr, "undefined field '" + field + "'");
    return ErrorType();
  }

  void CheckCall(Expr& expr) {
    if (expr.name == op::kOptionalSelect) return CheckOptionalSelect(expr);
    for (const ExprPtr& argument : expr.items) CheckNode(*argument);
    if (expr.target == nullptr) {
      const std::string name = WithoutDot(expr.name);
      const Function* function = FindFunction(name);
      if (function == nullptr) return RefuseCall(expr, expr.name, name);
      expr.name = name;
      return Resolve(expr, *function);
    }
    if (const auto prefix = QualifiedName(*expr.target)) {
      const std::string name = WithoutDot(*prefix + "." + expr.name);
      const Function* function = FindFunction(name);
      if (function != nullptr || IsNotBuilt(name)) {
        expr.target = nullptr;
        if (function == nullptr) return RefuseCall(expr, name, name);
        expr.name = name;
        return Resolve(expr, *function);
      }
    }
    CheckNode(*expr.target);
    const Function* function = FindFunction(expr.name);
    if (function == nullptr) return RefuseCall(expr, expr.name, expr.name);
    Resolve(expr, *function);
  }

  void RefuseCall(Expr& expr, const std::string& written, const std::string& name) {
    if (IsNotBuilt(name)) {
      errors_.Report(expr, "function '" + name + "' is not supported by berth");
    } else {
      errors_.ReportUndeclared(expr, written);
    }
    SetType(expr, ErrorType());
  }

  void Resolve(Expr& expr, const Function& function) {
    std::vector<TypePtr> arguments;
    if (expr.target != nullptr) arguments.push_back(TypeOfNode(*expr.target));
    for (const ExprPtr& item : expr.items) arguments.push_back(TypeOfNode(*item));
    if (function.name == op::kAnd || function.name == op::kOr) return ResolveLogic(expr, function, arguments);
    TypePtr result;
    Reference reference;
    for (const Overload& overload : function.overloads) {
      if (overload.is_member != (expr.target != nullptr)) continue;
      TypePtr overload_result = overload.result;
      if (!TryOverload(overload, arguments, overload_result)) continue;
      reference.overloads.push_back(overload.id);
      overload_result = solver_.Substitute(overload_result, false);
      if (result == nullptr) {
        result = std::move(overload_result);
      } else if (!IsDyn(*result) && !IsSameType(*overload_result, *result, true)) {
        result = DynType();
      }
    }
    if (result == nullptr) {
      ReportNoOverload(expr, function, arguments);
      return SetType(expr, ErrorType());
    }
    SetType(expr, std::move(result));
    checked_.references[expr.id] = std::move(reference);
  }

  bool TryOverload(const Overload& overload, const std::vector<TypePtr>& arguments, TypePtr& result) {
    if (overload.type_parameters.empty()) return solver_.AssignAll(arguments, overload.parameters);
    TypeSolver::Renaming names;
    for (const std::string& name : overload.type_parameters) names[name] = solver_.NewVariable();
    std::vector<TypePtr> parameters;
    for (const TypePtr& parameter : overload.parameters) parameters.push_back(TypeSolver::Rename(parameter, names));
    result = TypeSolver::Rename(overload.result, names);
    return solver_.AssignAll(arguments, parameters);
  }

  void ResolveLogic(Expr& expr, const Function& function, const std::vector<TypePtr>& arguments) {
    bool is_wrong = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (solver_.Assign(arguments[i], BoolType())) continue;
      errors_.ReportMismatch(*expr.items[i], *BoolType(), *arguments[i]);
      is_wrong = true;
    }
    SetType(expr, is_wrong ? ErrorType() : BoolType());
    checked_.references[expr.id] = Reference{{}, nullptr, {function.overloads[0].id}};
  }

  void ReportNoOverload(Expr& expr, const Function& function, const std::vector<TypePtr>& arguments) {
    std::string signature;
    const std::size_t first = expr.target != nullptr ? 1 : 0;
    if (first == 1) signature = FormatType(*solver_.Substitute(arguments[0], true)) + ".";
    signature += "(";
    for (std::size_t i = first; i < arguments.size(); ++i) {
      if (i > first) signature += ", ";
      signature += FormatType(*solver_.Substitute(arguments[i], true));
    }
    errors_.Report(expr, "found no matching overload for '" + function.name + "' applied to '" + signature + ")'");
  }

  // The type of an element or value; with ? that of the optional's content.
  TypePtr ContentType(const Expr& expr, bool is_optional) {
    TypePtr type = TypeOfNode(expr);
    if (!is_optional) return type;
    bool was_optional = false;
    type = UnwrapOptional(type, was_optional);
    if (!was_optional && !IsDyn(*type)) errors_.ReportMismatch(expr, *OptionalType(type), *type);
    return type;
  }

  // The common type of list elements. Validators report differing types later.
  TypePtr Join(const TypePtr& previous, const TypePtr& current) {
    if (previous == nullptr) return current;
    return solver_.Assign(previous, current) ? TypeSolver::MostGeneral(previous, current) : DynType();
  }

  void CheckList(Expr& expr) {
    TypePtr element;
    for (std::size_t i = 0; i < expr.items.size(); ++i) {
      CheckNode(*expr.items[i]);
      element = Join(element, ContentType(*expr.items[i], expr.is_optional[i]));
    }
    SetType(expr, ListType(element == nullptr ? solver_.NewVariable() : element));
  }

  void CheckMap(Expr& expr) {
    TypePtr key;
    TypePtr value;
    for (std::size_t i = 0; i < expr.items.size(); ++i) {
      CheckNode(*expr.items[i]);
      key = Join(key, TypeOfNode(*expr.items[i]));
      CheckNode(*expr.values[i]);
      value = Join(value, ContentType(*expr.values[i], expr.is_optional[i]));
    }
    if (key == nullptr) {
      key = solver_.NewVariable();
      value = solver_.NewVariable();
    }
    SetType(expr, MapType(key, value));
  }

  // Structs cannot be constructed: the environment's are inputs, and protobuf messages are not implemented.
  void CheckStruct(Expr& expr) {
    const auto name = names_.Find(expr.name);
    if (!name) {
      errors_.ReportUndeclared(expr, expr.name);
    } else if (name->type->kind != TypeKind::kType) {
      errors_.Report(expr, "'" + TypeString(*name->type) + "' is not a type");
    } else {
      errors_.Report(expr, "'" + name->name + "' is not a message type");
    }
    for (const ExprPtr& value : expr.values) CheckNode(*value);
    SetType(expr, ErrorType());
  }

  void CheckComprehension(Expr& expr) {
    CheckNode(*expr.target);
    CheckNode(*expr.initial);
    const TypePtr range = solver_.Substitute(TypeOfNode(*expr.target), false);
    const TypePtr accumulated = TypeOfNode(*expr.initial);
    const bool has_two = !expr.iteration_variable2.empty();
    TypePtr first = DynType();
    TypePtr second = DynType();
    switch (range->kind) {
      case TypeKind::kList:
        first = has_two ? IntType() : range->parameters[0];
        second = range->parameters[0];
        break;
      case TypeKind::kMap:
        first = range->parameters[0];
        second = range->parameters[1];
        break;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kTypeParam: solver_.Assign(DynType(), range); break;
      default:
        errors_.Report(*expr.target, "expression of type '" + FormatType(*range) +
                                         "' cannot be range of a comprehension (must be list, map, or dynamic)");
        first = second = ErrorType();
    }
    names_.Open({{expr.accumulator, accumulated}});
    std::map<std::string, TypePtr> variables = {{expr.iteration_variable, first}};
    if (has_two) variables[expr.iteration_variable2] = second;
    names_.Open(std::move(variables));
    CheckNode(*expr.condition);
    RequireType(*expr.condition, BoolType());
    CheckNode(*expr.step);
    RequireType(*expr.step, accumulated);
    names_.Close();
    CheckNode(*expr.result);
    names_.Close();
    SetType(expr, solver_.Substitute(TypeOfNode(*expr.result), false));
  }

  void RequireType(const Expr& expr, const TypePtr& type) {
    if (!solver_.Assign(type, TypeOfNode(expr))) errors_.ReportMismatch(expr, *type, *TypeOfNode(expr));
  }

  CheckedExpr& checked_;
  const Environment& environment_;
  Names names_;
  TypeErrors errors_;
  TypeSolver solver_;
};

}  // namespace

std::optional<CheckedExpr> Check(ParsedExpr parsed, const Environment& environment, Issues& issues) {
  CheckedExpr checked{std::move(parsed), {}, {}};
  Checker(checked, environment, issues).Run();
  if (!issues.empty()) return std::nullopt;
  return checked;
}

}  // namespace berth::cel
