// SPDX-License-Identifier: Apache-2.0
// Converts the checked tree to steps like cel-go's interpreter/planner.go and decorators.go (v0.26), including constant
// folding.
#include "berth/languages/cel/planner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/languages/cel/steps.h"

namespace berth::cel {
namespace {

bool IsConversion(std::string_view function) {
  constexpr std::array<std::string_view, 10> kConversions = {"bool", "bytes",  "double",    "duration", "dyn",
                                                             "int",  "string", "timestamp", "type",     "uint"};
  return std::ranges::find(kConversions, function) != kConversions.end();
}

constexpr std::uint64_t kFoldingWorkMax = 1'000'000;

// The value of a step that needs no variables.
Expected<Value> Fold(const Step& step) {
  const Activation nothing;
  Evaluation evaluation{nothing, CostTracker(UINT64_MAX), WorkLimit(kFoldingWorkMax)};
  Value value = step.Eval(evaluation, nullptr);
  if (evaluation.IsCancelled()) return InvalidError(evaluation.cost.cancel_message());
  return value;
}

// The set for "x in [constants]", with numbers under each type that can represent them; null if an element's type is
// not allowed.
std::shared_ptr<Map> MakeSet(const List& list) {
  auto set = std::make_shared<Map>();
  const auto add = [&](const Value& value) { set->Put(value, Value::Bool(true)); };
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    const Value& item = list.at(i);
    if (!IsPrimitive(item)) return nullptr;
    add(item);
    if (item.Is(ValueKind::kDouble)) {
      const double number = item.AsDouble();
      if (const auto whole = DoubleToInt(number); whole && static_cast<double>(*whole) == number)
        add(Value::Int(*whole));
      if (const auto whole = DoubleToUint(number); whole && static_cast<double>(*whole) == number)
        add(Value::Uint(*whole));
    } else if (item.Is(ValueKind::kInt)) {
      add(Value::Double(static_cast<double>(item.AsInt())));
      if (item.AsInt() >= 0) add(Value::Uint(static_cast<std::uint64_t>(item.AsInt())));
    } else if (item.Is(ValueKind::kUint)) {
      add(Value::Double(static_cast<double>(item.AsUint())));
      if (std::in_range<std::int64_t>(item.AsUint())) add(Value::Int(static_cast<std::int64_t>(item.AsUint())));
    }
  }
  return set;
}

class Planner {
 public:
  explicit Planner(const CheckedExpr& checked) : checked_(checked) {}

  Expected<StepPtr> Plan(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral: return Constant(expr.id, expr.literal);
      case ExprKind::kIdent: return PlanIdent(expr);
      case ExprKind::kSelect: return PlanSelect(expr);
      case ExprKind::kCall: return PlanCall(expr);
      case ExprKind::kList: return PlanList(expr);
      case ExprKind::kMap: return PlanMap(expr);
      case ExprKind::kComprehension: return PlanComprehension(expr);
      case ExprKind::kStruct: break;
    }
    return InvalidError("unsupported expression");
  }

 private:
  static StepPtr Constant(ExprId id, Value value) { return std::make_unique<ConstantStep>(id, std::move(value)); }

  Expected<StepPtr> PlanIdent(const Expr& expr) {
    const Reference& reference = checked_.references.at(expr.id);
    if (checked_.TypeOf(expr)->kind != TypeKind::kType) {
      return StepPtr(std::make_unique<AttributeStep>(Attribute::Variable(expr.id, reference.name)));
    }
    // A value of type `type` must be the name of a type. The environment's struct types, some short names and, in
    // upstream, variables are not.
    const TypePtr& type = reference.type_value;
    if (type == nullptr || type->kind == TypeKind::kStruct || reference.name != type->name) {
      return InvalidError("reference to undefined type: " + reference.name);
    }
    return Constant(expr.id, Value::Of(reference.type_value));
  }

  // The step's attribute; any other step becomes the operand of a new attribute.
  static AttributePtr AttributeOf(StepPtr step) {
    if (const auto* attribute = dynamic_cast<const AttributeStep*>(step.get())) return attribute->attribute();
    const ExprId id = step->id();
    return Attribute::Computed(id, std::move(step));
  }

  // The step with one more qualifier.
  static std::unique_ptr<AttributeStep> Qualified(StepPtr operand, std::shared_ptr<const Qualifier> qualifier) {
    std::unique_ptr<AttributeStep> step;
    if (dynamic_cast<AttributeStep*>(operand.get()) != nullptr) {
      step.reset(static_cast<AttributeStep*>(operand.release()));
    } else {
      step = std::make_unique<AttributeStep>(AttributeOf(std::move(operand)));
    }
    step->attribute()->AddQualifier(std::move(qualifier));
    return step;
  }

  Expected<StepPtr> PlanSelect(const Expr& expr) {
    BERTH_ASSIGN_OR_RETURN(StepPtr operand, Plan(*expr.target));
    auto qualifier = std::make_shared<Qualifier>();
    qualifier->id = expr.id;
    qualifier->key = Value::String(expr.name);
    qualifier->is_presence_test = expr.is_presence_test;
    auto step = Qualified(std::move(operand), std::move(qualifier));
    if (expr.is_presence_test) step->MakePresenceTest();
    return StepPtr(std::move(step));
  }

  Expected<StepPtr> PlanIndex(const Expr& expr, std::vector<StepPtr> arguments, bool is_optional) {
    auto qualifier = std::make_shared<Qualifier>();
    qualifier->id = expr.id;
    qualifier->is_optional = is_optional;
    if (const Value* key = arguments[1]->Constant()) {
      if (!IsPrimitive(*key)) return InvalidError("invalid qualifier type: " + std::string(GoTypeName(*key)));
      qualifier->key = *key;
    } else if (const auto* attribute = dynamic_cast<const AttributeStep*>(arguments[1].get())) {
      qualifier->attribute = attribute->attribute();
    } else {
      qualifier->attribute = Attribute::Computed(expr.id, std::move(arguments[1]));
      qualifier->is_computed = true;
    }
    return StepPtr(Qualified(std::move(arguments[0]), std::move(qualifier)));
  }

  Expected<StepPtr> PlanCall(const Expr& expr) {
    std::vector<StepPtr> arguments;
    if (expr.target != nullptr) {
      BERTH_ASSIGN_OR_RETURN(StepPtr target, Plan(*expr.target));
      arguments.push_back(std::move(target));
    }
    for (const ExprPtr& item : expr.items) {
      BERTH_ASSIGN_OR_RETURN(StepPtr argument, Plan(*item));
      arguments.push_back(std::move(argument));
    }
    const std::string& name = expr.name;
    if (name == op::kAnd || name == op::kOr) {
      return StepPtr(std::make_unique<LogicStep>(expr.id, name == op::kOr, std::move(arguments)));
    }
    if (name == op::kConditional) {
      AttributePtr if_true = AttributeOf(std::move(arguments[1]));
      AttributePtr if_false = AttributeOf(std::move(arguments[2]));
      return StepPtr(std::make_unique<AttributeStep>(
          Attribute::Choice(expr.id, std::move(arguments[0]), std::move(if_true), std::move(if_false))));
    }
    if (name == op::kEquals || name == op::kNotEquals) {
      return StepPtr(std::make_unique<EqualStep>(expr.id, name == op::kNotEquals, std::move(arguments)));
    }
    if (name == op::kIndex) return PlanIndex(expr, std::move(arguments), false);
    if (name == op::kOptionalIndex || name == op::kOptionalSelect) return PlanIndex(expr, std::move(arguments), true);
    return PlanFunction(expr, std::move(arguments));
  }

  Expected<StepPtr> PlanFunction(const Expr& expr, std::vector<StepPtr> arguments) {
    const Reference& reference = checked_.references.at(expr.id);
    const std::string overload = reference.overloads.size() == 1 ? reference.overloads[0] : std::string();
    if ((expr.name == "or" || expr.name == "orValue") && arguments.size() == 2) {
      return StepPtr(std::make_unique<OptionalOrStep>(expr.id, expr.name == "orValue", std::move(arguments)));
    }
    if (overload == "in_list" && arguments[1]->Constant() != nullptr) {
      const List& list = *arguments[1]->Constant()->AsList();
      if (list.size() == 0) return Constant(expr.id, Value::Bool(false));
      if (auto set = MakeSet(list)) {
        return StepPtr(std::make_unique<MemberStep>(expr.id, std::move(arguments[0]), std::move(set)));
      }
    }
    const bool has_constant = arguments.size() == 1 && arguments[0]->Constant() != nullptr;
    const Function* function = FindFunction(expr.name);
    auto call = std::make_unique<CallStep>(expr.id, *function, overload, std::move(arguments));
    if (has_constant && IsConversion(expr.name)) {
      BERTH_ASSIGN_OR_RETURN(Value value, Fold(*call));
      if (value.IsError()) return InvalidError(value.ErrorMessage());
      return Constant(expr.id, std::move(value));
    }
    const bool is_regex = expr.name == "matches" || expr.name == "find" || expr.name == "findAll";
    if (is_regex && call->arguments().size() >= 2) {
      const Value* pattern = call->arguments()[1]->Constant();
      if (pattern != nullptr && pattern->Is(ValueKind::kString)) {
        BERTH_ASSIGN_OR_RETURN(auto compiled, CompilePattern(pattern->AsString()));
        return StepPtr(std::make_unique<RegexStep>(*call, std::move(compiled)));
      }
    }
    return StepPtr(std::move(call));
  }

  Expected<std::vector<StepPtr>> PlanAll(const std::vector<ExprPtr>& items) {
    std::vector<StepPtr> steps;
    for (const ExprPtr& item : items) {
      BERTH_ASSIGN_OR_RETURN(StepPtr step, Plan(*item));
      steps.push_back(std::move(step));
    }
    return steps;
  }

  template <typename Literal>
  static Expected<StepPtr> Folded(std::unique_ptr<Literal> literal) {
    if (!literal->IsConstant()) return StepPtr(std::move(literal));
    BERTH_ASSIGN_OR_RETURN(Value value, Fold(*literal));
    return Constant(literal->id(), std::move(value));
  }

  Expected<StepPtr> PlanList(const Expr& expr) {
    BERTH_ASSIGN_OR_RETURN(auto items, PlanAll(expr.items));
    return Folded(std::make_unique<ListStep>(expr.id, std::move(items), expr.is_optional));
  }

  Expected<StepPtr> PlanMap(const Expr& expr) {
    BERTH_ASSIGN_OR_RETURN(auto keys, PlanAll(expr.items));
    BERTH_ASSIGN_OR_RETURN(auto values, PlanAll(expr.values));
    return Folded(std::make_unique<MapStep>(expr.id, std::move(keys), std::move(values), expr.is_optional));
  }

  Expected<StepPtr> PlanComprehension(const Expr& expr) {
    FoldStep::Parts parts;
    BERTH_ASSIGN_OR_RETURN(parts.initial, Plan(*expr.initial));
    BERTH_ASSIGN_OR_RETURN(parts.range, Plan(*expr.target));
    BERTH_ASSIGN_OR_RETURN(parts.condition, Plan(*expr.condition));
    BERTH_ASSIGN_OR_RETURN(parts.step, Plan(*expr.step));
    BERTH_ASSIGN_OR_RETURN(parts.result, Plan(*expr.result));
    parts.variable = expr.iteration_variable;
    parts.variable2 = expr.iteration_variable2;
    parts.accumulator = expr.accumulator;
    return StepPtr(std::make_unique<FoldStep>(expr.id, std::move(parts)));
  }

  const CheckedExpr& checked_;
};

}  // namespace

Expected<StepPtr> MakePlan(const CheckedExpr& checked) { return Planner(checked).Plan(*checked.parsed.root); }

}  // namespace berth::cel
