// SPDX-License-Identifier: Apache-2.0
// JsonPruner: the JSON of an object reduced to the fields that decoding reads (the tables of fields_*.h), for files
// that are decoded later: decoding what it writes gives the same object, but for annotations that are not kept.
// managedFields, environments, arguments and all else that no table names are gone. Immutable once it is made; any
// thread.
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
  // Keys of the annotations that are kept; one that ends with '*' stands for all that begin so.
  std::vector<std::string> annotations;
  // Writes the JSON of a value in place of it. Gets texts, numbers and booleans, each of a list by itself, and maps of
  // them whole; never null.
  using Rewrite = std::function<void(const simdjson::dom::element& value, std::string& out)>;
  // Of each field without fields of its own, by its path ("spec.containers.image", as field_list.h tells it), how it is
  // rewritten; null: it is kept. Empty: all are kept.
  std::function<Rewrite(std::string_view path)> rewrite_of;
};

class JsonPruner {
 public:
  // `kind` is one of ListKinds() (field_list.h).
  JsonPruner(std::string_view kind, const PruneOptions& options);
  ~JsonPruner();
  JsonPruner(JsonPruner&&) noexcept;
  JsonPruner& operator=(JsonPruner&&) noexcept;

  // Appends one line without an end. Members come in the document's order; a value of an unexpected type is kept whole,
  // so that decoding refuses it as before.
  void Append(const simdjson::dom::element& object, std::string& out) const;

  struct Shape;  // private to the source

 private:
  std::unique_ptr<const Shape> shape_;
};

}  // namespace berth::api
