// SPDX-License-Identifier: Apache-2.0
// FieldType: how server-side apply merges one field of an object: as a whole, member by member, or as a list whose
// elements have identities. Read from the schema tables for the kinds of Kubernetes (upstream's listType, listMapKeys
// and mapType markers), and from a structural schema for custom resources. A small value that points into either, which
// have to outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {

// A member that identifies an element of a list, and its value where it is absent (null: it has to be there).
struct ListKey {
  std::string name;
  json::value otherwise;
};

class FieldType {
 public:
  enum class Kind : std::uint8_t {
    kAny,        // unknown: objects member by member, all else as a whole
    kWhole,      // scalars, and what is atomic
    kStruct,     // members that the schema names
    kMap,        // members of one type
    kKeyedList,  // elements with keys
    kSet,        // scalars, each once
  };

  FieldType() = default;  // kAny
  // The type of the kind's objects; kAny for one that no schema describes.
  static FieldType Of(const ResourceType& type);
  // The type that a structural schema of a CustomResourceDefinition describes.
  static FieldType OfStructural(const json::object& schema, bool is_root);

  Kind kind() const { return kind_; }
  // The type of a member; this is a kStruct, kMap or kAny.
  FieldType Member(std::string_view name) const;
  bool Declares(std::string_view name) const;
  // Whether members that the schema does not name are an error.
  bool IsClosed() const { return kind_ == Kind::kStruct && !is_open_; }
  // The type of an element, and the keys, of a kKeyedList.
  FieldType Element() const;
  std::vector<ListKey> Keys() const;
  // What values have to be: "string", "numeric", "boolean", "scalar", "list", "map"; empty: anything.
  std::string_view Expects() const { return expects_; }
  // The members of a kStruct that the tables describe; null for others.
  const SchemaType* table() const { return kind_ == Kind::kStruct ? type_ : nullptr; }

 private:
  static FieldType OfTable(const SchemaType& type, bool is_separable);
  static FieldType OfField(const SchemaType& owner, const SchemaField& field);
  static FieldType OfOne(const SchemaField& field, bool is_separable);

  Kind kind_ = Kind::kAny;
  bool is_open_ = false;
  bool is_root_ = false;  // of a structural schema: apiVersion, kind and metadata are Kubernetes' own
  std::string_view expects_;
  const SchemaType* type_ = nullptr;      // kStruct by the tables
  const SchemaField* field_ = nullptr;    // kMap and lists by the tables
  std::string_view keys_;                 // kKeyedList by the tables: "containerPort,protocol=TCP"
  const json::object* schema_ = nullptr;  // structural
};

}  // namespace berth::objects
