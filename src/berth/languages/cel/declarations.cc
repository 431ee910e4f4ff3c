// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/declarations.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/languages/cel/declarations_table.h"
#include "berth/languages/cel/functions_core.h"
#include "berth/languages/cel/functions_kubernetes.h"
#include "berth/languages/cel/functions_lists.h"
#include "berth/languages/cel/functions_net.h"
#include "berth/languages/cel/functions_strings.h"
#include "berth/languages/cel/functions_time.h"
#include "berth/languages/cel/regex.h"

namespace berth::cel {
namespace {

std::string_view TakeWord(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

void CollectParameters(const Type& type, std::set<std::string>& names) {
  if (type.kind == TypeKind::kTypeParam) names.insert(type.name);
  for (const TypePtr& parameter : type.parameters) CollectParameters(*parameter, names);
}

// Parses a line such as "startsWith starts_with_string .(string,string) bool".
void AddDeclaration(std::string_view line, std::unordered_map<std::string, Function>& functions) {
  const std::string name(TakeWord(line));
  Overload overload;
  overload.id = TakeWord(line);
  std::string_view parameters = TakeWord(line);
  overload.result = ParseType(line);
  overload.is_member = parameters.starts_with('.');
  if (overload.is_member) parameters.remove_prefix(1);
  if (parameters != "()") overload.parameters = ParseType("list" + std::string(parameters))->parameters;
  std::set<std::string> names;
  CollectParameters(*overload.result, names);
  for (const TypePtr& parameter : overload.parameters) CollectParameters(*parameter, names);
  overload.type_parameters.assign(names.begin(), names.end());
  Function& function = functions[name];
  function.name = name;
  function.overloads.push_back(std::move(overload));
}

// The implementation of overloads that steps of the evaluator handle, and of those of authorizers, for which no
// environment has a variable: a call is "no such overload" for any value.
Value NoOverload(std::span<const Value>, WorkLimit&) { return Value::NoSuchOverload(); }

void Bind(std::unordered_map<std::string, Function>& functions) {
  std::unordered_map<std::string_view, OverloadBinding> bindings;
  for (const auto table : {ConversionBindings(), StringBindings(), ListBindings(), KubernetesBindings(), TimeBindings(),
                           NetBindings(), RegexBindings()}) {
    for (const OverloadBinding& binding : table) bindings.emplace(binding.id, binding);
  }
  for (const auto table : {OperatorBindings(), ListSingletons(), RegexSingletons()}) {
    for (const SingletonBinding& binding : table) {
      const auto function = functions.find(std::string(binding.function));
      BERTH_CHECK(function != functions.end(), binding.function);
      function->second.singleton = binding.implementation;
      function->second.singleton_trait = binding.trait;
    }
  }
  for (auto& [name, function] : functions) {
    for (Overload& overload : function.overloads) {
      if (const auto binding = bindings.find(overload.id); binding != bindings.end()) {
        overload.implementation = binding->second.implementation;
        overload.stops_at_first_error = binding->second.stops_at_first_error;
      } else if (function.singleton == nullptr && overload.parameters.size() > 0 &&
                 overload.parameters[0]->name.starts_with("kubernetes.authorization.")) {
        overload.implementation = NoOverload;
      }
    }
  }
  for (const char* name : {"contains", "startsWith", "endsWith", "flatten"}) functions[name].has_type_guards = false;
}

std::unordered_map<std::string, Function> MakeFunctions() {
  std::unordered_map<std::string, Function> functions;
  std::string_view rest = kDeclarations;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    AddDeclaration(rest.substr(0, end), functions);
    rest.remove_prefix(end + 1);
  }
  Bind(functions);
  return functions;
}

}  // namespace

const Overload* Function::FindOverload(std::string_view id) const {
  const auto found = std::ranges::find(overloads, id, &Overload::id);
  return found == overloads.end() ? nullptr : &*found;
}

const std::unordered_map<std::string, Function>& Functions() {
  static const std::unordered_map<std::string, Function> kFunctions = MakeFunctions();
  return kFunctions;
}

const Function* FindFunction(const std::string& name) {
  const auto found = Functions().find(name);
  return found == Functions().end() ? nullptr : &found->second;
}

}  // namespace berth::cel
