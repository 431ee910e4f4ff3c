// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/protobuf.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "berth/base/base64.h"
#include "berth/base/time.h"
#include "berth/base/utf8.h"
#include "berth/devcluster/objects/schema.h"

namespace berth::objects {
namespace {

namespace json = codec::json;

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message: a number, or the bytes of a string or of another message.
struct WireField {
  int number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;
  std::string_view bytes;
};

// Goes over the fields of one message. After the last one, or at the first that is malformed, Next() returns false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool Next(WireField& field) {
    if (rest_.empty()) return false;
    std::uint64_t tag = 0;
    if (!Varint(tag)) return Fail();
    field.number = static_cast<int>(tag >> 3 & 0x1FFFFFFF);
    field.type = static_cast<WireType>(tag & 7);
    field.value = 0;
    field.bytes = {};
    switch (field.type) {
      case WireType::kVarint: return Varint(field.value) || Fail();
      case WireType::kFixed64: return Skip(8) || Fail();
      case WireType::kFixed32: return Skip(4) || Fail();
      case WireType::kBytes: {
        std::uint64_t length = 0;
        if (!Varint(length) || length > rest_.size()) return Fail();
        field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
        return Skip(static_cast<std::size_t>(length));
      }
    }
    return Fail();
  }

  bool Varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  bool is_malformed() const { return is_malformed_; }
  bool is_at_end() const { return rest_.empty(); }

 private:
  bool Skip(std::size_t count) {
    if (count > rest_.size()) return false;
    rest_.remove_prefix(count);
    return true;
  }
  bool Fail() {
    is_malformed_ = true;
    return false;
  }

  std::string_view rest_;
  bool is_malformed_ = false;
};

// Turns messages into objects. The first error sticks.
class Decoder {
 public:
  json::object Message(const SchemaType& type, std::string_view bytes) {
    json::object object;
    Fields(type, 0, bytes, object);
    return object;
  }

  const std::string& error() const { return error_; }

 private:
  void Fail(const SchemaType& type, std::string_view field) {
    if (error_.empty())
      error_ = "malformed " + std::string(type.name) + (field.empty() ? "" : "." + std::string(field));
  }

  // What the tables give no number is known in JSON alone; leaving it out in silence would change the object.
  static bool IsJsonOnly(const SchemaType& type) {
    return std::any_of(type.fields.begin(), type.fields.end(), [](const SchemaField& field) {
      return field.number == 0 && field.name != "kind" && field.name != "apiVersion";
    });
  }

  void Fields(const SchemaType& type, int inline_number, std::string_view bytes, json::object& object) {
    WireReader reader(bytes);
    for (WireField wire; error_.empty() && reader.Next(wire);) {
      const SchemaField* found = nullptr;
      bool is_inline_message = false;
      for (const SchemaField& field : type.fields) {
        if (field.inline_number == inline_number && field.number == wire.number) found = &field;
        if (inline_number == 0 && field.inline_number == wire.number && field.inline_number != 0)
          is_inline_message = true;
      }
      if (found != nullptr) {
        Field(type, *found, wire, object);
      } else if (is_inline_message) {
        Fields(type, wire.number, wire.bytes, object);
      } else if (IsJsonOnly(type)) {
        error_ = std::string(type.name) + ", a part of which is taken in JSON alone";
      }
    }
    if (reader.is_malformed()) Fail(type, "");
  }

  void Field(const SchemaType& type, const SchemaField& field, const WireField& wire, json::object& object) {
    if (field.shape == SchemaShape::kMap) {
      Entry(type, field, wire, object);
      return;
    }
    if (field.shape == SchemaShape::kList) {
      json::value& list = object[field.name];
      if (!list.is_array()) list = json::array();
      Elements(type, field, wire, list.get_array());
      return;
    }
    std::optional<json::value> value = Value(type, field, wire);
    if (value && (field.is_pointer || !IsEmpty(*value))) object[field.name] = std::move(*value);
  }

  // Go writes every field that is no pointer, set or not; JSON leaves the empty ones out.
  static bool IsEmpty(const json::value& value) {
    return (value.is_string() && value.get_string().empty()) || (value.is_int64() && value.get_int64() == 0) ||
           (value.is_bool() && !value.get_bool());
  }

  void Elements(const SchemaType& type, const SchemaField& field, const WireField& wire, json::array& list) {
    const bool is_number =
        field.kind == SchemaKind::kInt32 || field.kind == SchemaKind::kInt64 || field.kind == SchemaKind::kBool;
    if (is_number && wire.type == WireType::kBytes) {  // packed
      WireReader reader(wire.bytes);
      while (!reader.is_at_end()) {
        WireField one;
        if (!reader.Varint(one.value)) return Fail(type, field.name);
        if (auto value = Value(type, field, one)) list.push_back(std::move(*value));
      }
      return;
    }
    if (auto value = Value(type, field, wire)) list.push_back(std::move(*value));
  }

  void Entry(const SchemaType& type, const SchemaField& field, const WireField& wire, json::object& object) {
    std::string_view key;
    WireField content;
    content.type = WireType::kBytes;
    WireReader reader(wire.bytes);
    for (WireField part; reader.Next(part);) {
      if (part.number == 1) key = part.bytes;
      if (part.number == 2) content = part;
    }
    if (wire.type != WireType::kBytes || reader.is_malformed() || !IsValidUtf8(key)) return Fail(type, field.name);
    json::value& map = object[field.name];
    if (!map.is_object()) map = json::object();
    if (auto value = Value(type, field, content)) map.get_object()[key] = std::move(*value);
  }

  // nullopt for a time that is not set, and after an error.
  std::optional<json::value> Value(const SchemaType& type, const SchemaField& field, const WireField& wire) {
    const bool wants_number =
        field.kind == SchemaKind::kInt32 || field.kind == SchemaKind::kInt64 || field.kind == SchemaKind::kBool;
    if (field.kind == SchemaKind::kNumber || (wire.type != (wants_number ? WireType::kVarint : WireType::kBytes))) {
      Fail(type, field.name);
      return std::nullopt;
    }
    switch (field.kind) {
      case SchemaKind::kString: return Text(type, field, wire.bytes);
      case SchemaKind::kBool: return json::value(wire.value != 0);
      case SchemaKind::kInt32: return json::value(static_cast<std::int64_t>(static_cast<std::int32_t>(wire.value)));
      case SchemaKind::kInt64: return json::value(static_cast<std::int64_t>(wire.value));
      case SchemaKind::kBytes: return json::value(EncodeBase64(wire.bytes));
      case SchemaKind::kTime:
      case SchemaKind::kMicroTime: return TimeValue(type, field, wire.bytes);
      case SchemaKind::kQuantity: {
        std::string_view text;
        WireReader reader(wire.bytes);
        for (WireField part; reader.Next(part);) {
          if (part.number == 1) text = part.bytes;
        }
        if (reader.is_malformed()) Fail(type, field.name);
        return text.empty() ? json::value("0") : Text(type, field, text);
      }
      case SchemaKind::kIntOrString: return IntOrString(type, field, wire.bytes);
      case SchemaKind::kAny: return Raw(type, field, wire.bytes);
      case SchemaKind::kObject: return json::value(Message(*field.type, wire.bytes));
      case SchemaKind::kNumber: break;
    }
    return std::nullopt;
  }

  std::optional<json::value> Text(const SchemaType& type, const SchemaField& field, std::string_view text) {
    if (!IsValidUtf8(text)) {
      Fail(type, field.name);
      return std::nullopt;
    }
    return json::value(json::string(text));
  }

  std::optional<json::value> TimeValue(const SchemaType& type, const SchemaField& field, std::string_view bytes) {
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    bool is_set = false;
    WireReader reader(bytes);
    for (WireField part; reader.Next(part);) {
      if (part.number == 1) seconds = static_cast<std::int64_t>(part.value);
      if (part.number == 2) nanos = static_cast<std::int32_t>(part.value);
      is_set = true;
    }
    // Within the years that RFC 3339 can write.
    constexpr std::int64_t kYear1 = -62135596800;
    constexpr std::int64_t kYear10000 = 253402300800;
    if (reader.is_malformed() || seconds >= kYear10000 || seconds < kYear1) {
      Fail(type, field.name);
      return std::nullopt;
    }
    if (!is_set || seconds == kYear1) return std::nullopt;  // Go's zero time
    const Time time{std::chrono::seconds(seconds) +
                    std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(nanos))};
    return json::value(field.kind == SchemaKind::kTime ? FormatRfc3339(time) : FormatRfc3339Micro(time));
  }

  std::optional<json::value> IntOrString(const SchemaType& type, const SchemaField& field, std::string_view bytes) {
    bool is_text = false;
    std::int64_t number = 0;
    std::string_view text;
    WireReader reader(bytes);
    for (WireField part; reader.Next(part);) {
      if (part.number == 1) is_text = part.value == 1;
      if (part.number == 2) number = static_cast<std::int32_t>(part.value);
      if (part.number == 3) text = part.bytes;
    }
    if (reader.is_malformed()) Fail(type, field.name);
    return is_text ? Text(type, field, text) : std::optional<json::value>(number);
  }

  // JSON inside the message: RawExtension, FieldsV1.
  std::optional<json::value> Raw(const SchemaType& type, const SchemaField& field, std::string_view bytes) {
    std::string_view raw;
    WireReader reader(bytes);
    for (WireField part; reader.Next(part);) {
      if (part.number == 1) raw = part.bytes;
    }
    if (raw.empty() && !reader.is_malformed()) return json::value(json::object());
    auto parsed = codec::ParseJson(raw);
    if (reader.is_malformed() || !parsed.ok()) {
      Fail(type, field.name);
      return std::nullopt;
    }
    return std::move(parsed).value();
  }

  std::string error_;
};

const SchemaType* FindKind(std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  if (kind == "DeleteOptions") return FindMetaSchema(kind);  // sent in every group's name
  return FindSchema(group, version, kind);
}

}  // namespace

Expected<json::object> DecodeProtobuf(std::string_view body) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic))
    return InvalidError("the body is no Kubernetes protobuf: it must begin with \"k8s\\x00\"");
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
  WireReader envelope(body.substr(kMagic.size()));
  bool is_type_malformed = false;
  for (WireField field; envelope.Next(field);) {
    if (field.number == 2) raw = field.bytes;
    if (field.number != 1) continue;
    WireReader type(field.bytes);
    for (WireField part; type.Next(part);) {
      if (part.number == 1) api_version = part.bytes;
      if (part.number == 2) kind = part.bytes;
    }
    is_type_malformed = type.is_malformed();
  }
  if (envelope.is_malformed() || is_type_malformed || !IsValidUtf8(api_version) || !IsValidUtf8(kind)) {
    return InvalidError("the envelope of the protobuf body is malformed");
  }
  const SchemaType* schema = FindKind(api_version, kind);
  if (schema == nullptr) {
    return InvalidError("no kind \"" + std::string(kind) + "\" is known in version \"" + std::string(api_version) +
                        "\"");
  }
  Decoder decoder;
  const json::object content = decoder.Message(*schema, raw);
  if (!decoder.error().empty()) return InvalidError("the protobuf body has a " + decoder.error());
  json::object document;
  document["kind"] = kind;
  document["apiVersion"] = api_version;
  for (const auto& [key, value] : content) document[key] = value;
  return document;
}

}  // namespace berth::objects
