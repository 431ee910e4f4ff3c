// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/names.h"

namespace berth::cel {
namespace {

const std::map<std::string, TypePtr>& NamedTypes() {
  static const std::map<std::string, TypePtr> kTypes = [] {
    std::map<std::string, TypePtr> types;
    for (const TypePtr& type :
         {BoolType(), BytesType(), DoubleType(), DurationType(), IntType(), NullType(), StringType(), TimestampType(),
          TypeType(), UintType(), ListType(DynType()), MapType(DynType(), DynType()), OpaqueType("optional_type"),
          OpaqueType("net.IP"), OpaqueType("net.CIDR")}) {
      types[type->name] = type;
    }
    // Kubernetes also has these short names, which pass the check but have no value.
    types["duration"] = DurationType();
    types["timestamp"] = TimestampType();
    return types;
  }();
  return kTypes;
}

}  // namespace

std::optional<Names::Name> Names::Find(const std::string& raw) const {
  const std::string name = WithoutDot(raw);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return Name{name, found->second, nullptr};
  }
  if (TypePtr type = environment_.FindVariable(name)) return Name{name, std::move(type), nullptr};
  if (environment_.FindStruct(name) != nullptr) {
    TypePtr type = StructType(name);
    return Name{name, TypeOf(type), type};
  }
  if (const auto found = NamedTypes().find(name); found != NamedTypes().end()) {
    return Name{name, TypeOf(found->second), found->second};
  }
  return std::nullopt;
}

std::string WithoutDot(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  return std::string(name);
}

}  // namespace berth::cel
