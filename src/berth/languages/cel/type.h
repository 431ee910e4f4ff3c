// SPDX-License-Identifier: Apache-2.0
// Types of the Common Expression Language (CEL) for the checker, and their names at run time. Immutable values; shared
// between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"

namespace berth::cel {

enum class TypeKind : std::uint8_t {
  kDyn,
  kAny,
  kBool,
  kBytes,
  kDouble,
  kDuration,
  kError,
  kInt,
  kList,
  kMap,
  kNull,
  kOpaque,
  kString,
  kStruct,
  kTimestamp,
  kType,
  kTypeParam,
  kUint,
};

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string name;  // as type(x) shows it: "int", "google.protobuf.Duration"; for kTypeParam the parameter's name
  std::vector<TypePtr> parameters;
  // Number of nodes of the type as a tree. Types share their parts, so that a short expression may have a huge type.
  std::uint64_t weight = 1;
};

// Limit on the weight; heavier types are refused.
inline constexpr std::uint64_t kTypeWeightMax = 2000;

// The types without parameters; each is one shared object.
const TypePtr& DynType();
const TypePtr& AnyType();
const TypePtr& BoolType();
const TypePtr& BytesType();
const TypePtr& DoubleType();
const TypePtr& DurationType();
const TypePtr& ErrorType();
const TypePtr& IntType();
const TypePtr& NullType();
const TypePtr& StringType();
const TypePtr& TimestampType();
const TypePtr& TypeType();
const TypePtr& UintType();
const TypePtr& QuantityType();  // kubernetes.Quantity
const TypePtr& SemverType();    // kubernetes.Semver

TypePtr ListType(TypePtr element);
TypePtr MapType(TypePtr key, TypePtr value);
TypePtr OptionalType(TypePtr parameter);
TypePtr StructType(std::string_view name);
TypePtr OpaqueType(std::string_view name, std::vector<TypePtr> parameters = {});
TypePtr TypeOf(TypePtr parameter);
TypePtr TypeParam(std::string_view name);

// Parses "map(string,list(A))": names of built-in types, a capital letter for a type parameter, any dotted name for a
// struct. Only for the tables in this folder: the text must be well formed.
TypePtr ParseType(std::string_view text);

// The type in the checker's errors: "map(string, any)", "null", "duration".
std::string FormatType(const Type& type);
// The type in upstream's "must evaluate to" error: "google.protobuf.Duration", "null_type".
std::string TypeString(const Type& type);

// Structural equality; names of type parameters are compared if `with_parameter_names`.
bool IsSameType(const Type& a, const Type& b, bool with_parameter_names);
// Whether a value of type `from` may be used where `to` is declared.
bool IsAssignable(const Type& to, const Type& from);

inline bool IsDyn(const Type& type) { return type.kind == TypeKind::kDyn || type.kind == TypeKind::kAny; }
inline bool IsOptional(const Type& type) { return type.kind == TypeKind::kOpaque && type.name == "optional_type"; }

}  // namespace berth::cel
