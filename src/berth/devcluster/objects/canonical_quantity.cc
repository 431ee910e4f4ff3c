// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/canonical_quantity.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "berth/api/quantity.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {
namespace {

using Nanos = api::Quantity::Nanos;
constexpr Nanos kUnit = 1'000'000'000;

enum class Format { kDecimal, kBinary, kExponent };

Format FormatOf(std::string_view text) {
  if (text.ends_with('i')) return Format::kBinary;
  const std::size_t at = text.find_first_of("eE");
  // "1E" is exa; "1e3" and "1E3" have an exponent.
  return at != std::string_view::npos && at + 1 < text.size() ? Format::kExponent : Format::kDecimal;
}

std::string Digits(Nanos value) {
  if (value == 0) return "0";
  const bool is_negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (is_negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// The shortest mantissa with a power of a thousand.
std::string Decimal(Nanos nanos, bool with_exponent) {
  static constexpr std::array<std::string_view, 10> kSuffixes = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  if (nanos == 0) return "0";
  std::size_t step = 0;
  while (step + 1 < kSuffixes.size() && nanos % 1000 == 0) {
    nanos /= 1000;
    ++step;
  }
  if (!with_exponent) return Digits(nanos) + std::string(kSuffixes[step]);
  const int exponent = static_cast<int>(step) * 3 - 9;
  return Digits(nanos) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

std::string Binary(Nanos nanos) {
  static constexpr std::array<std::string_view, 7> kSuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  // Below 1024 there is nothing binary about it, and fractions can be written.
  if (nanos > -1024 * kUnit && nanos < 1024 * kUnit) return Decimal(nanos, false);
  Nanos units = nanos / kUnit;
  if (nanos % kUnit != 0) units += nanos > 0 ? 1 : -1;
  std::size_t step = 0;
  while (step + 1 < kSuffixes.size() && units % 1024 == 0) {
    units /= 1024;
    ++step;
  }
  return Digits(units) + std::string(kSuffixes[step]);
}

std::string NumberText(const json::value& value) {
  if (!value.is_double()) return json::serialize(value);
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value.get_double(), std::chars_format::fixed);
  return std::string(text.data(), end.ptr);
}

void CanonicalizeValue(json::value& value) {
  if (value.is_string()) {
    const std::string_view text = View(value.get_string());
    // The most frequent texts are canonical already: "1", "250m", "64Gi".
    std::string canonical = CanonicalQuantity(text);
    if (canonical != text) value = canonical;
  } else if (value.is_number()) {
    value = CanonicalQuantity(NumberText(value));
  }
}

void Canonicalize(const SchemaType& type, json::object& object);

void CanonicalizeField(const SchemaField& field, json::value& value) {
  if (field.kind == SchemaKind::kQuantity) {
    CanonicalizeValue(value);
  } else if (field.kind == SchemaKind::kObject && value.is_object()) {
    Canonicalize(*field.type, value.get_object());
  }
}

void Canonicalize(const SchemaType& type, json::object& object) {
  for (auto&& pair : object) {
    const SchemaField* field = type.Find(pair.key());
    if (field == nullptr || !field->has_quantities) continue;
    json::value& value = pair.value();
    if (field->shape == SchemaShape::kSingle) {
      CanonicalizeField(*field, value);
    } else if (field->shape == SchemaShape::kList && value.is_array()) {
      for (json::value& element : value.get_array()) CanonicalizeField(*field, element);
    } else if (field->shape == SchemaShape::kMap && value.is_object()) {
      for (auto&& entry : value.get_object()) CanonicalizeField(*field, entry.value());
    }
  }
}

}  // namespace

std::string CanonicalQuantity(std::string_view text) {
  const auto parsed = api::Quantity::Parse(text);
  if (!parsed.ok()) return std::string(text);
  switch (FormatOf(text)) {
    case Format::kBinary: return Binary(parsed->nanos());
    case Format::kExponent: return Decimal(parsed->nanos(), true);
    case Format::kDecimal: break;
  }
  return Decimal(parsed->nanos(), false);
}

void CanonicalizeQuantities(const ResourceType& type, json::object& object) {
  if (const SchemaType* schema = FindSchema(type.group, type.version, type.kind)) Canonicalize(*schema, object);
}

}  // namespace berth::objects
