// SPDX-License-Identifier: Apache-2.0
// The algorithm of cel-go's checker/types.go (v0.26), which determines what expressions compile.
#include "berth/languages/cel/type_solver.h"

namespace berth::cel {
namespace {

bool IsParam(const Type& type) { return type.kind == TypeKind::kTypeParam; }
bool IsDynOrError(const Type& type) { return IsDyn(type) || type.kind == TypeKind::kError; }

bool IsNullable(const Type& type) {
  switch (type.kind) {
    case TypeKind::kOpaque:
    case TypeKind::kStruct:
    case TypeKind::kAny:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp: return true;
    default: return IsAssignable(type, *NullType());
  }
}

bool IsEqualOrLessSpecific(const Type& a, const Type& b) {
  if (IsDyn(a) || IsParam(a)) return true;
  if (IsDyn(b) || IsParam(b)) return false;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TypeKind::kOpaque:
      if (a.name != b.name || a.parameters.size() != b.parameters.size()) return false;
      [[fallthrough]];
    case TypeKind::kList:
    case TypeKind::kMap:
      for (std::size_t i = 0; i < a.parameters.size(); ++i) {
        if (!IsEqualOrLessSpecific(*a.parameters[i], *b.parameters[i])) return false;
      }
      return true;
    case TypeKind::kType: return true;
    default: return IsSameType(a, b, true);
  }
}

template <typename Replace>
TypePtr WithParameters(const TypePtr& type, Replace replace) {
  std::vector<TypePtr> parameters;
  parameters.reserve(type->parameters.size());
  bool is_changed = false;
  for (const TypePtr& parameter : type->parameters) {
    parameters.push_back(replace(parameter));
    is_changed = is_changed || parameters.back() != parameter;
  }
  if (!is_changed) return type;
  switch (type->kind) {
    case TypeKind::kList: return ListType(parameters[0]);
    case TypeKind::kMap: return MapType(parameters[0], parameters[1]);
    case TypeKind::kType: return TypeOf(parameters[0]);
    default: return OpaqueType(type->name, std::move(parameters));
  }
}

}  // namespace

const TypePtr* TypeSolver::Find(const Type& type) const {
  if (!IsParam(type)) return nullptr;
  const auto found = bindings_.find(type.name);
  return found == bindings_.end() ? nullptr : &found->second;
}

void TypeSolver::Bind(const Type& parameter, TypePtr type) {
  TypePtr& slot = bindings_[parameter.name];
  trail_.emplace_back(parameter.name, slot);
  slot = std::move(type);
}

void TypeSolver::UndoTo(std::size_t mark) {
  while (trail_.size() > mark) {
    auto& [name, before] = trail_.back();
    if (before == nullptr) {
      bindings_.erase(name);
    } else {
      bindings_[name] = std::move(before);
    }
    trail_.pop_back();
  }
}

bool TypeSolver::AssignAll(const std::vector<TypePtr>& from, const std::vector<TypePtr>& to) {
  trail_.clear();
  if (AreAssignable(from, to)) return true;
  UndoTo(0);
  return false;
}

bool TypeSolver::AreAssignable(const std::vector<TypePtr>& a, const std::vector<TypePtr>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!IsAssignableTo(a[i], b[i])) return false;
  }
  return true;
}

bool TypeSolver::IsAssignableTo(const TypePtr& a, const TypePtr& b) {
  if (a->weight > kTypeWeightMax || b->weight > kTypeWeightMax) return false;
  if (IsParam(*b)) {
    const auto [is_valid, was_bound] = TrySubstitution(a, b);
    if (is_valid) return true;
    if (was_bound) return false;
  }
  if (IsParam(*a)) return TrySubstitution(b, a).is_valid;
  if (IsDynOrError(*a) || IsDynOrError(*b)) return true;
  if (a->kind == TypeKind::kNull) return IsNullable(*b);
  if (b->kind == TypeKind::kNull) return IsNullable(*a);
  switch (a->kind) {
    case TypeKind::kType: return b->kind == TypeKind::kType;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap: return a->kind == b->kind && a->name == b->name && AreAssignable(a->parameters, b->parameters);
    default: return IsAssignable(*b, *a);
  }
}

TypeSolver::Substitution TypeSolver::TrySubstitution(const TypePtr& type, const TypePtr& parameter) {
  if (type->kind == parameter->kind && IsSameType(*type, *parameter, true)) return {true, true};
  if (const TypePtr* found = Find(*parameter)) {
    const TypePtr bound = *found;
    if (type->kind == bound->kind && IsSameType(*type, *bound, true)) return {true, true};
    if (!IsAssignableTo(type, bound)) return {false, true};
    const TypePtr& general = MostGeneral(type, bound);
    if (IsAbsentFrom(parameter, general)) Bind(*parameter, general);
    return {true, true};
  }
  if (!IsAbsentFrom(parameter, type)) return {false, false};
  Bind(*parameter, type);
  return {true, false};
}

bool TypeSolver::IsAbsentFrom(const TypePtr& parameter, const TypePtr& within) const {
  if (IsSameType(*parameter, *within, true)) return false;
  if (IsParam(*within)) {
    const TypePtr* bound = Find(*within);
    return bound == nullptr || IsAbsentFrom(parameter, *bound);
  }
  for (const TypePtr& inner : within->parameters) {
    if (!IsAbsentFrom(parameter, inner)) return false;
  }
  return true;
}

const TypePtr& TypeSolver::MostGeneral(const TypePtr& a, const TypePtr& b) {
  return IsEqualOrLessSpecific(*a, *b) ? a : b;
}

TypePtr TypeSolver::Substitute(const TypePtr& type, bool unbound_to_dyn) const {
  if (const TypePtr* bound = Find(*type)) return Substitute(*bound, unbound_to_dyn);
  if (IsParam(*type)) return unbound_to_dyn ? DynType() : type;
  if (type->parameters.empty() || type->weight > kTypeWeightMax) return type;
  return WithParameters(type, [&](const TypePtr& parameter) { return Substitute(parameter, unbound_to_dyn); });
}

TypePtr TypeSolver::Rename(const TypePtr& type, const Renaming& names) {
  if (IsParam(*type)) {
    const auto found = names.find(type->name);
    return found == names.end() ? type : found->second;
  }
  if (type->parameters.empty()) return type;
  return WithParameters(type, [&](const TypePtr& parameter) { return Rename(parameter, names); });
}

}  // namespace berth::cel
