// SPDX-License-Identifier: Apache-2.0
// The numbers are those of github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto.
#include "berth/devcluster/apiserver/openapi_protobuf.h"

#include <cstdint>
#include <string_view>

#include "berth/devcluster/objects/object.h"

namespace berth::apiserver {
namespace {

// A protobuf message that is being written.
class Message {
 public:
  void Bytes(int number, std::string_view bytes) {
    Varint(static_cast<std::uint64_t>(number) << 3 | 2);
    Varint(bytes.size());
    text_ += bytes;
  }
  void Add(int number, const Message& message) { Bytes(number, message.text_); }
  void Flag(int number) {
    Varint(static_cast<std::uint64_t>(number) << 3);
    Varint(1);
  }
  // The member as a string, when it is there.
  void Text(int number, const json::object& object, std::string_view name) {
    if (const std::string_view text = objects::StringMember(object, name); !text.empty()) Bytes(number, text);
  }

  std::string Take() && { return std::move(text_); }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

// NamedX: a key of a map and its value.
Message Named(std::string_view name, const Message& value) {
  Message named;
  named.Bytes(1, name);
  named.Add(2, value);
  return named;
}

// x-kubernetes-...: what they hold is kept as YAML, of which JSON is a part.
void AddExtensions(int number, const json::object& object, Message& message) {
  for (const auto& [key, value] : object) {
    if (!std::string_view(key).starts_with("x-")) continue;
    Message any;
    any.Bytes(2, json::serialize(value));
    message.Add(number, Named(key, any));
  }
}

// A oneof's branch in a message of its own.
Message In(int number, const Message& branch) {
  Message message;
  message.Add(number, branch);
  return message;
}

Message Schema(const json::object& schema) {
  Message message;
  message.Text(1, schema, "$ref");
  message.Text(2, schema, "format");
  message.Text(4, schema, "description");
  if (const json::array* required = objects::ArrayMember(schema, "required")) {
    for (const json::value& each : *required) message.Bytes(19, objects::View(each.as_string()));
  }
  if (const json::object* more = objects::ObjectMember(schema, "additionalProperties"))
    message.Add(21, In(1, Schema(*more)));
  if (const std::string_view type = objects::StringMember(schema, "type"); !type.empty()) {
    Message item;
    item.Bytes(1, type);
    message.Add(22, item);
  }
  if (const json::object* items = objects::ObjectMember(schema, "items")) message.Add(23, In(1, Schema(*items)));
  if (const json::object* properties = objects::ObjectMember(schema, "properties")) {
    Message all;
    for (const auto& [name, property] : *properties) all.Add(1, Named(name, Schema(property.as_object())));
    message.Add(25, all);
  }
  AddExtensions(31, schema, message);
  return message;
}

Message Parameter(const json::object& parameter) {
  const std::string_view in = objects::StringMember(parameter, "in");
  Message message;
  if (in == "body") {
    message.Text(2, parameter, "name");
    message.Text(3, parameter, "in");
    message.Flag(4);
    if (const json::object* schema = objects::ObjectMember(parameter, "schema")) message.Add(5, Schema(*schema));
    return In(1, In(1, message));
  }
  const bool is_path = in == "path";  // its message lacks allow_empty_value, so the numbers behind it differ
  if (is_path) message.Flag(1);
  message.Text(2, parameter, "in");
  message.Text(4, parameter, "name");
  message.Text(is_path ? 5 : 6, parameter, "type");
  return In(1, In(2, In(is_path ? 4 : 3, message)));
}

void AddParameters(int number, const json::object& owner, Message& message) {
  const json::array* parameters = objects::ArrayMember(owner, "parameters");
  if (parameters == nullptr) return;
  for (const json::value& each : *parameters) message.Add(number, Parameter(each.as_object()));
}

Message Operation(const json::object& operation) {
  Message message;
  AddParameters(8, operation, message);
  if (const json::object* responses = objects::ObjectMember(operation, "responses")) {
    Message all;
    for (const auto& [code, response] : *responses) {
      Message answer;
      answer.Text(1, response.as_object(), "description");
      if (const json::object* schema = objects::ObjectMember(response.as_object(), "schema")) {
        answer.Add(2, In(1, Schema(*schema)));
      }
      all.Add(1, Named(code, In(1, answer)));
    }
    message.Add(9, all);
  }
  AddExtensions(13, operation, message);
  return message;
}

Message PathItem(const json::object& item) {
  Message message;
  int number = 2;
  for (const char* method : {"get", "put", "post", "delete", "options", "head", "patch"}) {
    if (const json::object* operation = objects::ObjectMember(item, method)) message.Add(number, Operation(*operation));
    ++number;
  }
  AddParameters(9, item, message);
  return message;
}

}  // namespace

std::string EncodeOpenApiV2(const json::object& document) {
  Message message;
  message.Text(1, document, "swagger");
  Message info;
  if (const json::object* given = objects::ObjectMember(document, "info")) {
    info.Text(1, *given, "title");
    info.Text(2, *given, "version");
  }
  message.Add(2, info);
  Message paths;
  if (const json::object* given = objects::ObjectMember(document, "paths")) {
    for (const auto& [path, item] : *given) paths.Add(2, Named(path, PathItem(item.as_object())));
  }
  message.Add(8, paths);
  Message definitions;
  if (const json::object* given = objects::ObjectMember(document, "definitions")) {
    for (const auto& [name, schema] : *given) definitions.Add(1, Named(name, Schema(schema.as_object())));
  }
  message.Add(9, definitions);
  return std::move(message).Take();
}

}  // namespace berth::apiserver
