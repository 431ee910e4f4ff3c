// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/type.h"

#include <array>
#include <utility>

namespace berth::cel {
namespace {

TypePtr Make(TypeKind kind, std::string_view name, std::vector<TypePtr> parameters = {}) {
  std::uint64_t weight = 1;
  for (const TypePtr& parameter : parameters) {
    if (__builtin_add_overflow(weight, parameter->weight, &weight)) weight = UINT64_MAX;
  }
  return std::make_shared<const Type>(Type{kind, std::string(name), std::move(parameters), weight});
}

// Takes one type from the start of `rest`.
TypePtr TakeType(std::string_view& rest) {
  const std::size_t end = rest.find_first_of("(),");
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(name.size());
  std::vector<TypePtr> parameters;
  if (rest.starts_with('(')) {
    do {
      rest.remove_prefix(1);
      parameters.push_back(TakeType(rest));
    } while (rest.starts_with(','));
    BERTH_CHECK(rest.starts_with(')'), name);
    rest.remove_prefix(1);
  }
  static const std::array kSimple = {&DynType(),       &AnyType(),   &BoolType(),     &BytesType(), &DoubleType(),
                                     &DurationType(),  &ErrorType(), &IntType(),      &NullType(),  &StringType(),
                                     &TimestampType(), &UintType(),  &QuantityType(), &SemverType()};
  for (const TypePtr* type : kSimple) {
    if ((*type)->name == name) return *type;
  }
  if (name == "list") return Make(TypeKind::kList, name, std::move(parameters));
  if (name == "map") return Make(TypeKind::kMap, name, std::move(parameters));
  if (name == "type") return parameters.empty() ? TypeType() : TypeOf(parameters[0]);
  if (name == "optional_type" || name == "net.IP" || name == "net.CIDR") return OpaqueType(name, std::move(parameters));
  if (name.size() == 1) return TypeParam(name);
  return StructType(name);
}

}  // namespace

#define BERTH_CEL_SIMPLE_TYPE(function, kind, name)  \
  const TypePtr& function() {                        \
    static const TypePtr kShared = Make(kind, name); \
    return kShared;                                  \
  }
BERTH_CEL_SIMPLE_TYPE(DynType, TypeKind::kDyn, "dyn")
BERTH_CEL_SIMPLE_TYPE(AnyType, TypeKind::kAny, "google.protobuf.Any")
BERTH_CEL_SIMPLE_TYPE(BoolType, TypeKind::kBool, "bool")
BERTH_CEL_SIMPLE_TYPE(BytesType, TypeKind::kBytes, "bytes")
BERTH_CEL_SIMPLE_TYPE(DoubleType, TypeKind::kDouble, "double")
BERTH_CEL_SIMPLE_TYPE(DurationType, TypeKind::kDuration, "google.protobuf.Duration")
BERTH_CEL_SIMPLE_TYPE(ErrorType, TypeKind::kError, "error")
BERTH_CEL_SIMPLE_TYPE(IntType, TypeKind::kInt, "int")
BERTH_CEL_SIMPLE_TYPE(NullType, TypeKind::kNull, "null_type")
BERTH_CEL_SIMPLE_TYPE(StringType, TypeKind::kString, "string")
BERTH_CEL_SIMPLE_TYPE(TimestampType, TypeKind::kTimestamp, "google.protobuf.Timestamp")
BERTH_CEL_SIMPLE_TYPE(TypeType, TypeKind::kType, "type")
BERTH_CEL_SIMPLE_TYPE(UintType, TypeKind::kUint, "uint")
BERTH_CEL_SIMPLE_TYPE(QuantityType, TypeKind::kStruct, "kubernetes.Quantity")
BERTH_CEL_SIMPLE_TYPE(SemverType, TypeKind::kStruct, "kubernetes.Semver")
#undef BERTH_CEL_SIMPLE_TYPE

TypePtr ListType(TypePtr element) { return Make(TypeKind::kList, "list", {std::move(element)}); }
TypePtr MapType(TypePtr key, TypePtr value) { return Make(TypeKind::kMap, "map", {std::move(key), std::move(value)}); }
TypePtr OptionalType(TypePtr parameter) { return OpaqueType("optional_type", {std::move(parameter)}); }
TypePtr StructType(std::string_view name) { return Make(TypeKind::kStruct, name); }
TypePtr OpaqueType(std::string_view name, std::vector<TypePtr> parameters) {
  return Make(TypeKind::kOpaque, name, std::move(parameters));
}
TypePtr TypeOf(TypePtr parameter) { return Make(TypeKind::kType, "type", {std::move(parameter)}); }
TypePtr TypeParam(std::string_view name) { return Make(TypeKind::kTypeParam, name); }

TypePtr ParseType(std::string_view text) {
  TypePtr type = TakeType(text);
  BERTH_CHECK(text.empty(), text);
  return type;
}

std::string FormatType(const Type& type) {
  if (type.weight > kTypeWeightMax) return "...";
  switch (type.kind) {
    case TypeKind::kAny: return "any";
    case TypeKind::kDuration: return "duration";
    case TypeKind::kError: return "!error!";
    case TypeKind::kNull: return "null";
    case TypeKind::kTimestamp: return "timestamp";
    default: break;
  }
  if (type.parameters.empty()) return type.name;
  std::string text = type.name + "(";
  for (std::size_t i = 0; i < type.parameters.size(); ++i) {
    if (i > 0) text += ", ";
    text += FormatType(*type.parameters[i]);
  }
  return text + ")";
}

std::string TypeString(const Type& type) {
  if (type.weight > kTypeWeightMax) return "...";
  if (type.kind == TypeKind::kTypeParam) return "<" + type.name + ">";
  if (type.parameters.empty()) return type.name;
  std::string text = type.name + "(";
  for (std::size_t i = 0; i < type.parameters.size(); ++i) {
    if (i > 0) text += ", ";
    text += TypeString(*type.parameters[i]);
  }
  return text + ")";
}

bool IsSameType(const Type& a, const Type& b, bool with_parameter_names) {
  if (&a == &b) return true;
  if (a.weight > kTypeWeightMax || b.weight > kTypeWeightMax) return false;
  if (a.kind != b.kind || a.parameters.size() != b.parameters.size()) return false;
  if ((with_parameter_names || a.kind != TypeKind::kTypeParam) && a.name != b.name) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (!IsSameType(*a.parameters[i], *b.parameters[i], with_parameter_names)) return false;
  }
  return true;
}

bool IsAssignable(const Type& to, const Type& from) {
  if (&to == &from || IsDyn(to) || to.kind == TypeKind::kTypeParam) return true;
  if (to.weight > kTypeWeightMax || from.weight > kTypeWeightMax) return false;
  if (to.kind != from.kind || to.name != from.name || to.parameters.size() != from.parameters.size()) return false;
  for (std::size_t i = 0; i < to.parameters.size(); ++i) {
    if (!IsAssignable(*to.parameters[i], *from.parameters[i])) return false;
  }
  return true;
}

}  // namespace berth::cel
