// SPDX-License-Identifier: Apache-2.0
// Unification: the type parameters of an expression and their bindings during checking. Not thread-safe.
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

  // Whether a value of type `from` may be used where `to` is wanted. On success binds type parameters of either type;
  // on failure binds none.
  bool Assign(const TypePtr& from, const TypePtr& to) { return AssignAll({from}, {to}); }
  bool AssignAll(const std::vector<TypePtr>& from, const std::vector<TypePtr>& to);

  // The type with bound parameters replaced; unbound ones become dyn if `unbound_to_dyn`.
  TypePtr Substitute(const TypePtr& type, bool unbound_to_dyn) const;

  // The same with the parameters `names` replaced by `variables`: makes fresh copies of an overload's own parameters.
  using Renaming = std::unordered_map<std::string, TypePtr>;
  static TypePtr Rename(const TypePtr& type, const Renaming& names);

  // The more general of two types that are assignable to each other.
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
  std::vector<std::pair<std::string, TypePtr>> trail_;  // previous bindings, for undo; null for none
  int next_variable_ = 0;
};

}  // namespace berth::cel
