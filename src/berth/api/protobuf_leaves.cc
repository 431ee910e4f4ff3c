// SPDX-License-Identifier: Apache-2.0
#include "berth/api/protobuf_leaves.h"

#include <chrono>

#include <simdjson.h>

#include "berth/api/decode.h"

namespace berth::api::internal {
namespace {

std::string JsonText(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      quoted.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

// Normalises one JSON value; errors have the wording of decode.h.
Expected<std::string> Minified(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const simdjson::dom::element document, ParseObject("value", text));
  return std::string(simdjson::minify(document));
}

}  // namespace

bool ProtobufLeaves::WrongType(const Wire& in, std::string_view wanted) {
  const std::string_view type = in.is_bytes() ? "bytes" : in.is_number() ? "a number" : "a number of fixed size";
  return Fail("must be " + std::string(wanted) + ", not " + std::string(type));
}

bool ProtobufLeaves::Leaf(const Wire& in, Quantity& out) {
  if (!in.is_bytes()) return NoMessage(in);
  Wire part(in.bytes());
  while (part.Next()) {
    if (part.number() != 1) continue;
    std::string_view text;
    if (!Leaf(part, text)) return false;
    auto quantity = Quantity::Parse(text);
    if (!quantity.ok()) return Fail(quantity.error().message);
    out = *quantity;
  }
  return !part.is_malformed() || Malformed();
}

bool ProtobufLeaves::Leaf(const Wire& in, std::optional<Time>& out) {
  // The range of RFC 3339: the years 0 to 9999.
  constexpr std::int64_t kSecondsMin = -62'167'219'200;
  constexpr std::int64_t kSecondsMax = 253'402'300'799;
  out.reset();
  if (!in.is_bytes()) return NoMessage(in);
  if (in.bytes().empty()) return true;
  std::int64_t seconds = 0;
  Wire part(in.bytes());
  while (part.Next()) {
    if (part.number() == 1 && !Leaf(part, seconds)) return false;
  }
  if (part.is_malformed()) return Malformed();
  if (seconds < kSecondsMin || seconds > kSecondsMax) return Fail(NoTime(std::to_string(seconds)));
  out = Time(std::chrono::seconds(seconds));
  return true;
}

bool ProtobufLeaves::Leaf(const Wire& in, OpaqueConfiguration& out) {
  if (!in.is_bytes()) return NoMessage(in);
  std::string_view driver;
  std::string_view parameters = "null";  // as Go writes a RawExtension that was not set
  Wire part(in.bytes());
  while (part.Next()) {
    if (part.number() == 1 && !Leaf(part, driver)) return At("driver");
    if (part.number() != 2) continue;
    if (!part.is_bytes()) return NoMessage(part) || At("parameters");
    Wire extension(part.bytes());
    while (extension.Next()) {
      if (extension.number() == 1 && !Leaf(extension, parameters)) return At("parameters");
    }
    if (extension.is_malformed()) return Malformed() || At("parameters");
  }
  if (part.is_malformed()) return Malformed();
  const Expected<std::string> driver_json = Minified(JsonText(driver));
  if (!driver_json.ok()) return Fail(driver_json.error().message) || At("driver");
  const Expected<std::string> parameters_json = Minified(parameters);
  if (!parameters_json.ok()) return Fail(parameters_json.error().message) || At("parameters");
  out.json = R"({"driver":)" + *driver_json + R"(,"parameters":)" + *parameters_json + "}";
  return true;
}

bool ProtobufLeaves::Key(const Wire& in, std::string& out) {
  if (!in.is_bytes()) return NoMessage(in);
  Wire part(in.bytes());
  while (part.Next()) {
    if (part.number() == 1 && !Leaf(part, out)) return false;
  }
  return !part.is_malformed() || Malformed();
}

}  // namespace berth::api::internal
