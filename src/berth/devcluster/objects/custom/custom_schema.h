// SPDX-License-Identifier: Apache-2.0
// Structural schemas of custom resources: which members objects keep, what is filled in, and what is refused, in
// upstream's words. Immutable once made; any thread. Expressions (x-kubernetes-validations) and most formats are not
// checked; UncheckedParts() says so.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/devcluster/objects/resource.h"

namespace re2 {
class RE2;
}

namespace berth::objects {

// The most unknown members and errors that are reported of one object, and bytes that defaults may add to it: more and
// it would be too large to be stored anyway.
inline constexpr std::size_t kCustomErrorsMax = 50;
inline constexpr std::size_t kDefaultedBytesMax = std::size_t{4} << 20;

class CustomSchema {
 public:
  // The openAPIV3Schema of a version. Patterns that are no regular expressions match everything.
  explicit CustomSchema(json::object schema);
  ~CustomSchema();
  CustomSchema(const CustomSchema&) = delete;
  CustomSchema& operator=(const CustomSchema&) = delete;

  const json::object& document() const { return schema_; }

  // Takes out members that the schema does not have; gives them as `unknown field "spec.a"`.
  std::vector<std::string> Prune(json::object& object) const;
  void FillIn(json::object& object) const;
  std::vector<FieldError> Validate(const json::object& object) const;

 private:
  class Validator;

  const json::object schema_;
  std::unordered_map<std::string, std::unique_ptr<re2::RE2>> patterns_;
};

// What upstream demands of a schema before it serves by it: a type everywhere, patterns that are regular expressions.
std::vector<FieldError> CheckStructural(const json::object& schema, const std::string& field);

// What the schema says and the embedded server does not check, for a warning; empty: nothing.
std::string UncheckedParts(const json::object& schema);

}  // namespace berth::objects
