// SPDX-License-Identifier: Apache-2.0
// The functions of the environment: their declarations, by which calls are checked, and what carries them out.
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

// Functions of upstream's environment that are not built here: a call of one is an error of the compilation.
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

// Carries a call out. The arguments are no errors, unless the function says that it takes them.
using Implementation = Value (*)(std::span<const Value> arguments, WorkLimit& work);

struct Overload {
  std::string id;
  bool is_member = false;
  std::vector<TypePtr> parameters;
  TypePtr result;
  std::vector<std::string> type_parameters;
  Implementation implementation = nullptr;
  // Upstream binds it as a function of any number of arguments: the first argument that is an error ends the call.
  bool stops_at_first_error = false;
};

struct Function {
  std::string name;
  std::vector<Overload> overloads;
  // One implementation for all overloads, for receivers with a trait.
  Implementation singleton = nullptr;
  Trait singleton_trait = Trait::kNone;
  bool has_type_guards = true;

  const Overload* FindOverload(std::string_view id) const;
};

// By name. Made once, immutable.
const std::unordered_map<std::string, Function>& Functions();
const Function* FindFunction(const std::string& name);

// What carries out an overload, or all of a function's: tables in the functions_*.h files.
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
