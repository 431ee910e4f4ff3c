// SPDX-License-Identifier: Apache-2.0
// Names: what a name in an expression stands for where it is written: a variable of a comprehension around it, one of
// the environment, or a type. One thread at a time.
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

  // A scope within those that are open, with variables that hide others of their names.
  void Open(std::map<std::string, TypePtr> variables) { scopes_.push_back(std::move(variables)); }
  void Close() { scopes_.pop_back(); }

  // The innermost meaning. A leading dot, which asks for the environment's names, changes nothing here.
  std::optional<Name> Find(const std::string& raw) const;

 private:
  const Environment& environment_;
  std::vector<std::map<std::string, TypePtr>> scopes_;
};

std::string WithoutDot(std::string_view name);

}  // namespace berth::cel
