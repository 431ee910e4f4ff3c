// SPDX-License-Identifier: Apache-2.0
// The shapes of the served objects, from compact tables: which fields there are, of which JSON type, and how strategic
// merge patches treat their lists. Answers strict decoding, feeds OpenAPI and PatchMergeKey. Immutable after the first
// call, thread-safe; never changes an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

// Fields that the type does not have, as kube-apiserver words them: `unknown field "spec.replicaz"`,
// `unknown field "spec.containers[0].imag"`. In the order of the document; at most kUnknownFieldsMax. For
// fieldValidation=Strict the REST code answers 400 with WrongTypeMessage(`strict decoding error: ` and these joined by
// ", "); for Warn each one is a Warning header; for Ignore it need not ask.
std::vector<std::string> UnknownFields(const ResourceType& type, const json::object& object);
inline constexpr std::size_t kUnknownFieldsMax = 50;

// Takes out of `object` what UnknownFields() reports (a real server does not store such fields). Call it on every
// object and every patched result before validation.
void DropUnknownFields(const ResourceType& type, json::object& object);

// The first field whose JSON type is wrong, in kube-apiserver's words: `json: cannot unmarshal string into Go struct
// field DeploymentSpec.spec.replicas of type int32`; nullopt when all fit (nulls fit everywhere). The REST code answers
// 400 BadRequest with WrongTypeMessage(). Everything behind it (defaults, validation, rows) may rely on the types of
// the fields that the schema knows, and on quantities, times and base64 being parseable.
std::optional<std::string> WrongType(const ResourceType& type, const json::object& object);

// WrongType() for files, whose authors look for a line: the path with indices and keys, and the message; for a quantity
// a message of our own, since upstream's does not have the text.
struct WrongField {
  std::string field;  // "spec.containers[0].resources.requests[cpu]"
  std::string message;
};
std::optional<WrongField> FindWrongField(const ResourceType& type, const json::object& object);

// `Pod in version "v1" cannot be handled as a Pod: ERROR`, the message of the 400 for a body that does not decode:
// ERROR is WrongType's, or `strict decoding error: ` with the unknown and duplicate fields.
std::string WrongTypeMessage(const ResourceType& type, std::string_view error);

// Takes out every member and every list element that is null, as decoding into a typed object does (but for null list
// elements, which upstream turns into empty ones): behind it code needs no null checks.
void DropNulls(json::object& object);

// What generated documents (OpenAPI) say of a field.
enum class SchemaKind : std::uint8_t {
  kString,
  kInt32,
  kInt64,
  kNumber,
  kBool,
  kBytes,
  kTime,
  kMicroTime,
  kQuantity,
  kIntOrString,
  kAny,
  kObject
};
enum class SchemaShape : std::uint8_t { kSingle, kList, kMap };

struct SchemaType;

struct SchemaField {
  std::string_view name;
  SchemaKind kind = SchemaKind::kString;
  SchemaShape shape = SchemaShape::kSingle;
  const SchemaType* type = nullptr;  // kObject: the fields; null for an object of any fields
  std::string_view merge_key;        // lists: "" is replaced as a whole, "*" merged as a set, else merged by this key
  bool required = false;
  bool has_quantities = false;  // is a quantity, or an object with one somewhere below
  bool is_pointer = false;      // scalars: "", 0 and false differ from an absent field
  int number = 0;               // in protobuf; 0: not part of it (kind and apiVersion)
  int inline_number = 0;        // above 0: the field stands in a message that is field inline_number of this type
  bool retain_keys = false;     // clients send $retainKeys in patches of it (or of its elements)
};

struct SchemaType {
  std::string_view package;         // "io.k8s.api.core.v1"
  std::string_view short_package;   // "core"
  std::string_view name;            // "PodSpec"
  std::vector<SchemaField> fields;  // sorted by name
  const SchemaField* Find(std::string_view field) const;
};

// The root type of a kind; null when the tables do not hold it: such objects are open, every field is taken.
const SchemaType* FindSchema(std::string_view group, std::string_view version, std::string_view kind);

// A type of meta/v1: "ListMeta", "ObjectMeta", "Status", "DeleteOptions"; null for others.
const SchemaType* FindMetaSchema(std::string_view name);

const std::vector<SchemaType>& SchemaTypes();

// A type by its package's short name and its own, "core" and "PodSpec"; null when there is none.
const SchemaType* FindSchemaType(std::string_view short_package, std::string_view name);

// A text in the form of the schema tables, type by type.
struct SchemaParagraph {
  std::string_view package_path;
  std::string_view package;
  std::string_view name;
  std::vector<std::string_view> tokens;
};
std::vector<SchemaParagraph> ReadParagraphs(std::string_view text);

// The key of lists in strategic merge patches ("containers" by "name", ...) for the list at this dotted path of the
// kind's schema without indices ("spec.template.spec.containers"); empty: the list is replaced as a whole.
// A result of "*" marks a list of scalars that is merged as a set ("metadata.finalizers").
std::string_view PatchMergeKey(std::string_view kind, std::string_view path);

}  // namespace berth::objects
