// SPDX-License-Identifier: Apache-2.0
// Reads JSON values without fields (simdjson DOM): strings, numbers, times, quantities, enums. Null counts as absent
// and leaves the value unchanged. Functions return false when they have recorded an error. One thread, one object.
// Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "berth/api/decode_rules.h"
#include "berth/api/decoder.h"
#include "berth/api/fields_resource_claim.h"
#include "berth/base/expected.h"

namespace berth::api::internal {

class JsonLeaves : public Decoder {
 public:
  using element = simdjson::dom::element;

 protected:
  using Decoder::Decoder;

  // Reads the entries of an object in order; `read` reads each value into its destination.
  template <typename Item, typename Read>
  bool Entries(element value, std::vector<std::pair<std::string, Item>>& out, Read read) {
    simdjson::dom::object object;
    out.clear();
    if (value.get(object) != simdjson::SUCCESS) return value.is_null() || WrongType(value, "an object");
    out.reserve(object.size());
    for (const auto member : object) {
      auto& entry = out.emplace_back(member.key, Item());
      if (!read(member.value, entry.second)) return AtEntry(member.key);
    }
    return true;
  }

  [[gnu::always_inline]] bool Leaf(element value, std::string_view& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    out = {};
    return value.is_null() || WrongType(value, "a string");
  }
  [[gnu::always_inline]] bool Leaf(element value, std::string& out) {
    std::string_view text;
    if (!Leaf(value, text)) return false;
    out = text;
    return true;
  }
  bool Leaf(element value, bool& out) {
    return value.get(out) == simdjson::SUCCESS || value.is_null() || WrongType(value, "a boolean");
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  bool Leaf(element value, Enum& out) {
    std::string_view text;
    if (!Leaf(value, text)) return false;
    Parse(text, out);
    return true;
  }
  bool Leaf(element value, VersionValue& out) { return Leaf(value, out.text); }
  bool Leaf(element value, std::int64_t& out);
  bool Leaf(element value, std::int32_t& out);
  bool Leaf(element value, Time& out);
  // Quantities may also be JSON numbers.
  bool Leaf(element value, Quantity& out);
  bool Leaf(element value, StringMap& out);
  bool Leaf(element value, OpaqueConfiguration& out);
  bool Keys(element value, std::vector<std::string>& out);

  bool Kind(element value);

  [[gnu::cold]] bool WrongType(element value, std::string_view wanted);
  [[gnu::cold]] Error Failed(element object) const;
};

}  // namespace berth::api::internal
