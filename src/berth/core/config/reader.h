// SPDX-License-Identifier: Apache-2.0
// Strict decoding of a JSON document: fields are read by name, fields that were not read are unknown, and every error
// is recorded with its field path, so that one run reports all of them. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/core/config/field_errors.h"

namespace berth::config {

// The value's type for messages: "a whole number", "a list" ...
std::string_view Describe(const codec::json::value& value);

// Reads one JSON object. Absent fields and nulls leave the target unchanged.
class ObjectReader {
 public:
  // A value that is not an object is an error; null counts as an empty object. `value` and `errors` must outlive this.
  ObjectReader(const codec::json::value& value, std::string path, FieldErrors& errors);
  // Reports the fields that were not read.
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  // The field's value; null when it is absent or null.
  const codec::json::value* Find(std::string_view key);
  std::string PathOf(std::string_view key) const;
  FieldErrors& errors() { return errors_; }

  void Read(std::string_view key, std::string& out);
  void Read(std::string_view key, bool& out);
  void Read(std::string_view key, std::int32_t& out);
  void Read(std::string_view key, std::int64_t& out);
  void Read(std::string_view key, double& out);
  void Read(std::string_view key, Duration& out);  // in the syntax of Go's time.Duration
  void Read(std::string_view key, std::vector<std::string>& out);

  template <typename T>
  void Read(std::string_view key, std::optional<T>& out) {
    if (Find(key) == nullptr) return;
    T value{};
    Read(key, value);
    out = std::move(value);
  }

  // Calls visit(reader) for an object, or visit(item, path) for each item of a list.
  template <typename Visit>
  void Object(std::string_view key, Visit visit) {
    const codec::json::value* value = Find(key);
    if (value == nullptr) return;
    ObjectReader reader(*value, PathOf(key), errors_);
    visit(reader);
  }
  template <typename Visit>
  void List(std::string_view key, Visit visit) {
    const codec::json::array* items = FindList(key);
    if (items == nullptr) return;
    const std::string path = PathOf(key);
    for (std::size_t i = 0; i < items->size(); ++i) visit((*items)[i], path + '[' + std::to_string(i) + ']');
  }

 private:
  const codec::json::array* FindList(std::string_view key);
  void WrongType(std::string_view key, const codec::json::value& value, std::string_view wanted);
  std::optional<std::int64_t> FindInteger(std::string_view key, std::int64_t min, std::int64_t max,
                                          std::string_view wanted);

  const codec::json::object* object_ = nullptr;
  std::string path_;
  FieldErrors& errors_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace berth::config
