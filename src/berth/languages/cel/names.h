// SPDX-License-Identifier: Apache-2.0
// Names: resolves names in an expression: variables of enclosing comprehensions, variables of the environment, and
// types. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/languages/cel/environment.h"
#include "berth/languages/cel/type.h"

namespace berth::cel {

class Names {
 public:
  struct Name {
    std::string name;
    TypePtr type;
    TypePtr type_value;
  };

  // `environment` must outlive it.
  explicit Names(const Environment& environment) : environment_(environment) {}

  // Opens an inner scope, whose variables hide outer ones of the same name.
  void Open(std::map<std::string, TypePtr> variables) { scopes_.push_back(std::move(variables)); }
  void Close() { scopes_.pop_back(); }

  // The innermost meaning. A leading dot, which selects the environment's names, makes no difference here.
  std::optional<Name> Find(const std::string& raw) const;

 private:
  const Environment& environment_;
  std::vector<std::map<std::string, TypePtr>> scopes_;
};

std::string WithoutDot(std::string_view name);

}  // namespace berth::cel
