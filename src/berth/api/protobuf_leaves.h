// SPDX-License-Identifier: Apache-2.0
// Reads the protobuf values that no table of fields_*.h describes: strings, numbers, enums, and small messages that
// stand for one value (Quantity, Time). Functions return false when they have recorded an error. One thread, one
// object. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "berth/api/decode_rules.h"
#include "berth/api/decoder.h"
#include "berth/api/fields_resource_claim.h"
#include "berth/codec/protobuf_reader.h"

namespace berth::api::internal {

class ProtobufLeaves : public Decoder {
 public:
  using Wire = codec::ProtobufReader;  // positioned at a field

 protected:
  using Decoder::Decoder;

  bool Leaf(const Wire& in, std::string_view& out) {
    if (!in.is_bytes()) return WrongType(in, "a string");
    out = in.bytes();
    return true;
  }
  bool Leaf(const Wire& in, std::string& out) {
    if (!in.is_bytes()) return WrongType(in, "a string");
    out.assign(in.bytes());
    return true;
  }
  bool Leaf(const Wire& in, bool& out) {
    if (!in.is_number()) return WrongType(in, "a boolean");
    out = in.value() != 0;
    return true;
  }
  bool Leaf(const Wire& in, std::int64_t& out) {
    if (!in.is_number()) return WrongType(in, "a whole number");
    out = static_cast<std::int64_t>(in.value());
    return true;
  }
  // As protobuf specifies, a longer number is truncated to its low bits.
  bool Leaf(const Wire& in, std::int32_t& out) {
    if (!in.is_number()) return WrongType(in, "a whole number");
    out = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.value()));
    return true;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  bool Leaf(const Wire& in, Enum& out) {
    if (!in.is_bytes()) return WrongType(in, "a string");
    Parse(in.bytes(), out);
    return true;
  }
  bool Leaf(const Wire& in, VersionValue& out) { return Leaf(in, out.text); }
  bool Leaf(const Wire& in, Quantity& out);
  // metav1.Time: whole seconds. An empty message is Go's zero time, which is null in JSON: absent.
  bool Leaf(const Wire& in, std::optional<Time>& out);
  // Converts it to the JSON that Go would write.
  bool Leaf(const Wire& in, OpaqueConfiguration& out);
  bool Key(const Wire& in, std::string& out);

  [[gnu::cold]] bool WrongType(const Wire& in, std::string_view wanted);
  [[gnu::cold]] bool NoMessage(const Wire& in) { return WrongType(in, "a message"); }
  [[gnu::cold]] bool Malformed() { return Fail("is no valid protobuf"); }
};

}  // namespace berth::api::internal
