// SPDX-License-Identifier: Apache-2.0
// The functions of the environment: declarations for checking calls, and their implementations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/languages/cel/value.h"

namespace berth::cel {

// Functions of upstream's environment that are not implemented: calling one is a compile error.
inline constexpr std::array<std::string_view, 24> kNotBuilt = {"format",
                                                               "format.byte",
                                                               "format.date",
                                                               "format.datetime",
                                                               "format.dns1035Label",
                                                               "format.dns1035LabelPrefix",
                                                               "format.dns1123Label",
                                                               "format.dns1123LabelPrefix",
                                                               "format.dns1123Subdomain",
                                                               "format.dns1123SubdomainPrefix",
                                                               "format.labelValue",
                                                               "format.named",
                                                               "format.qualifiedName",
                                                               "format.uri",
                                                               "format.uuid",
                                                               "getEscapedPath",
                                                               "getHost",
                                                               "getHostname",
                                                               "getPort",
                                                               "getQuery",
                                                               "getScheme",
                                                               "isURL",
                                                               "url",
                                                               "validate"};

// Implements a call. The arguments are not errors, unless the function accepts errors.
using Implementation = Value (*)(std::span<const Value> arguments, WorkLimit& work);

struct Overload {
  std::string id;
  bool is_member = false;
  std::vector<TypePtr> parameters;
  TypePtr result;
  std::vector<std::string> type_parameters;
  Implementation implementation = nullptr;
  // Upstream binds it as a variadic function: the first argument that is an error ends the call.
  bool stops_at_first_error = false;
};

struct Function {
  std::string name;
  std::vector<Overload> overloads;
  // One implementation for all overloads, for receivers with this trait.
  Implementation singleton = nullptr;
  Trait singleton_trait = Trait::kNone;
  bool has_type_guards = true;

  const Overload* FindOverload(std::string_view id) const;
};

// All functions by name. Immutable.
const std::unordered_map<std::string, Function>& Functions();
const Function* FindFunction(const std::string& name);

// Binds an implementation to an overload, or to all overloads of a function: see the tables in functions_*.h.
struct OverloadBinding {
  std::string_view id;
  Implementation implementation;
  bool stops_at_first_error = false;
};
struct SingletonBinding {
  std::string_view function;
  Implementation implementation;
  Trait trait;
};

}  // namespace berth::cel
