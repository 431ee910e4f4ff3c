// SPDX-License-Identifier: Apache-2.0
// Environment: the variables that an expression may use, and the types of their fields, in addition to CEL's functions.
// Built once and then read-only; programs do not refer to it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/languages/cel/type.h"

namespace berth::cel {

class Environment {
 public:
  // Declares a variable; activations must set it.
  void AddVariable(std::string_view name, TypePtr type) { variables_[std::string(name)] = std::move(type); }
  // Declares the fields of a struct type. Its values are maps with string keys.
  void AddStruct(std::string_view name, std::map<std::string, TypePtr> fields) {
    structs_[std::string(name)] = std::move(fields);
  }

  // Errors about unknown names say in which container they were looked for, as cel-go before 0.33 does.
  void NameContainer(bool is_named) { names_container_ = is_named; }
  bool names_container() const { return names_container_; }

  // Null when there is no such variable.
  TypePtr FindVariable(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second;
  }
  const std::map<std::string, TypePtr>* FindStruct(const std::string& name) const {
    const auto found = structs_.find(name);
    return found == structs_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, TypePtr> variables_;
  std::map<std::string, std::map<std::string, TypePtr>> structs_;
  bool names_container_ = true;
};

}  // namespace berth::cel
