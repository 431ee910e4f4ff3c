// SPDX-License-Identifier: Apache-2.0
// Type parameters and what they turn out to be, while an expression is checked. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/languages/cel/type.h"

namespace berth::cel {

class TypeSolver {
 public:
  TypePtr NewVariable() { return TypeParam("_var" + std::to_string(next_variable_++)); }

  // A value of type `from` may stand where `to` is wanted; binds type parameters of either when it may, and none when
  // it may not.
  bool Assign(const TypePtr& from, const TypePtr& to) { return AssignAll({from}, {to}); }
  bool AssignAll(const std::vector<TypePtr>& from, const std::vector<TypePtr>& to);

  // The type with its bound parameters replaced; unbound ones become dyn when `unbound_to_dyn`.
  TypePtr Substitute(const TypePtr& type, bool unbound_to_dyn) const;

  // The same, with the parameters of `names` replaced by `variables`: an overload's own parameters made fresh.
  using Renaming = std::unordered_map<std::string, TypePtr>;
  static TypePtr Rename(const TypePtr& type, const Renaming& names);

  // The more general of two types that can stand for each other.
  static const TypePtr& MostGeneral(const TypePtr& a, const TypePtr& b);

 private:
  const TypePtr* Find(const Type& type) const;
  void Bind(const Type& parameter, TypePtr type);
  void UndoTo(std::size_t mark);
  bool IsAssignableTo(const TypePtr& a, const TypePtr& b);
  bool AreAssignable(const std::vector<TypePtr>& a, const std::vector<TypePtr>& b);
  struct Substitution {
    bool is_valid = false;
    bool was_bound = false;
  };
  Substitution TrySubstitution(const TypePtr& type, const TypePtr& parameter);
  bool IsAbsentFrom(const TypePtr& parameter, const TypePtr& within) const;

  std::unordered_map<std::string, TypePtr> bindings_;
  std::vector<std::pair<std::string, TypePtr>> trail_;  // what bindings were before, null for none
  int next_variable_ = 0;
};

}  // namespace berth::cel
