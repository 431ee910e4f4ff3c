// SPDX-License-Identifier: Apache-2.0
// JsonPruner: reduces the JSON of an object to the fields that decoding reads (the tables of fields_*.h), for files
// that are decoded later. Decoding its output gives the same object, except for annotations that are not kept.
// managedFields, environments, arguments and all other unknown fields are removed. Immutable; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace berth::api {

// Appends `text` (UTF-8) as a JSON string.
void AppendJsonText(std::string_view text, std::string& out);

struct PruneOptions {
  // Keys of the annotations to keep; a key that ends with '*' is a prefix.
  std::vector<std::string> annotations;
  // Appends the replacement of a value. The value is a string, number or boolean (for a list, each element), or a whole
  // map of these; never null.
  using Rewrite = std::function<void(const simdjson::dom::element& value, std::string& out)>;
  // Returns how to rewrite the field at a path ("spec.containers.image", as in field_list.h) without fields of its own;
  // a null function keeps it. Empty: all values are kept.
  std::function<Rewrite(std::string_view path)> rewrite_of;
};

class JsonPruner {
 public:
  // `kind` must be in ListKinds() (field_list.h).
  JsonPruner(std::string_view kind, const PruneOptions& options);
  ~JsonPruner();
  JsonPruner(JsonPruner&&) noexcept;
  JsonPruner& operator=(JsonPruner&&) noexcept;

  // Appends one line without a line break. Members are in the document's order. A value of an unexpected type is kept
  // whole, so that decoding reports the same error as before.
  void Append(const simdjson::dom::element& object, std::string& out) const;

  struct Shape;  // private to the source

 private:
  std::unique_ptr<const Shape> shape_;
};

}  // namespace berth::api
