// SPDX-License-Identifier: Apache-2.0
#include "berth/api/json_leaves.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "berth/base/text.h"

namespace berth::api::internal {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view TypeName(element value) {
  switch (value.type()) {
    case element_type::ARRAY: return "an array";
    case element_type::OBJECT: return "an object";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "a boolean";
    case element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
}

}  // namespace

bool JsonLeaves::WrongType(element value, std::string_view wanted) {
  return Fail("must be " + std::string(wanted) + ", not " + std::string(TypeName(value)));
}

Error JsonLeaves::Failed(element object) const {
  const auto text_of = [object](std::string_view key) {
    std::string_view text;
    return object["metadata"][key].get(text) == simdjson::SUCCESS ? text : std::string_view();
  };
  return Failure(text_of("namespace"), text_of("name"));
}

bool JsonLeaves::Kind(element value) {
  std::string_view text;
  if (!Leaf(value, text)) return At("kind");
  if (text.empty() || text == kind()) return true;
  Fail("must be " + std::string(kind()) + ", not \"" + std::string(text) + '"');
  return At("kind");
}

bool JsonLeaves::Leaf(element value, std::int64_t& out) {
  if (value.get(out) == simdjson::SUCCESS) return true;
  if (value.is_null()) return true;
  return value.is_number() ? Fail("must be a whole number of 64 bits") : WrongType(value, "a whole number");
}

bool JsonLeaves::Leaf(element value, std::int32_t& out) {
  std::int64_t number = out;
  if (!Leaf(value, number)) return false;
  if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()) {
    return Fail("must be a whole number of 32 bits, not " + std::to_string(number));
  }
  out = static_cast<std::int32_t>(number);
  return true;
}

bool JsonLeaves::Leaf(element value, Time& out) {
  std::string_view text;
  if (!Leaf(value, text)) return false;
  const std::optional<Time> time = ParseRfc3339(text);
  if (!time) return Fail(NoTime(text));
  out = *time;
  return true;
}

bool JsonLeaves::Leaf(element value, StringMap& out) {
  std::vector<StringMap::Entry> entries;
  if (!Entries(value, entries, [this](element item, std::string& text) { return Leaf(item, text); })) return false;
  out = StringMap(std::move(entries));
  return true;
}

bool JsonLeaves::Leaf(element value, Quantity& out) {
  if (value.is_null()) return true;
  std::string_view text;
  std::array<char, 32> digits;
  if (value.get(text) == simdjson::SUCCESS) {
    text = Trim(text);
  } else if (value.is_number()) {
    std::to_chars_result written{};
    if (std::int64_t whole = 0; value.get(whole) == simdjson::SUCCESS) {
      written = std::to_chars(digits.data(), digits.data() + digits.size(), whole);
    } else if (std::uint64_t unsigned_whole = 0; value.get(unsigned_whole) == simdjson::SUCCESS) {
      written = std::to_chars(digits.data(), digits.data() + digits.size(), unsigned_whole);
    } else {
      double number = 0;
      if (value.get(number) != simdjson::SUCCESS) return WrongType(value, "a quantity");
      written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    }
    text = {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())};
  } else {
    return WrongType(value, "a quantity");
  }
  auto quantity = Quantity::Parse(text);
  if (!quantity.ok()) return Fail(quantity.error().message);
  out = *quantity;
  return true;
}

bool JsonLeaves::Leaf(element value, OpaqueConfiguration& out) {
  if (!value.is_object()) return WrongType(value, "an object");
  out.json = simdjson::minify(value);
  return true;
}

bool JsonLeaves::Keys(element value, std::vector<std::string>& out) {
  simdjson::dom::object object;
  out.clear();
  if (value.get(object) != simdjson::SUCCESS) return value.is_null() || WrongType(value, "an object");
  for (const auto member : object) out.emplace_back(member.key);
  return true;
}

}  // namespace berth::api::internal
