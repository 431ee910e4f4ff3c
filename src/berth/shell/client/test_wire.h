// SPDX-License-Identifier: Apache-2.0
// Lists and watches of a made-up kind in each form that they may have on the wire: JSON or protobuf, a list or the
// beginning of a watch. For tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/codec/json_reader.h"
#include "berth/codec/protobuf_reader.h"

namespace berth::client::test_wire {

inline constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
inline constexpr const char* kProtobufWatch = "application/vnd.kubernetes.protobuf;stream=watch";

struct Thing {
  std::string name;
  std::string value;
};
using ThingPtr = std::shared_ptr<const Thing>;

inline Expected<ThingPtr> DecodeJson(const simdjson::dom::element& element) {
  const auto value = codec::FindString(element, "value");
  if (!value) return InvalidError("value should be a string");
  const auto metadata = codec::FindMember(element, "metadata");
  return std::make_shared<const Thing>(
      Thing{std::string(codec::StringOrEmpty(*metadata, "name")), std::string(*value)});
}

inline Expected<ThingPtr> DecodeProtobuf(std::string_view message) {
  BERTH_ASSIGN_OR_RETURN(const auto meta, api::ReadProtobufMeta(message));
  Thing thing{std::string(meta.name), "none"};
  codec::ProtobufReader reader(message);
  while (reader.Next()) {
    if (reader.number() == 2) thing.value = std::string(reader.bytes());
  }
  if (thing.value == "broken") return InvalidError("it is broken");
  return std::make_shared<const Thing>(std::move(thing));
}

// ---- messages

inline std::string Field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) text += static_cast<char>((size & 0x7F) | 0x80);
  text += static_cast<char>(size);
  return text + bytes;
}
inline std::string Envelope(const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Field(1, Field(1, "v1") + Field(2, kind)) + Field(2, raw) + Field(3, "") +
         Field(4, "");
}

struct Object {
  std::string name;
  std::string version;
  std::string value = "x";
  std::string uid = "";
  bool ends_initial_events = false;

  std::string Uid() const { return uid.empty() ? name + "-1" : uid; }
  std::string Json() const {
    return R"({"metadata":{"namespace":"d","name":")" + name + R"(","resourceVersion":")" + version + R"(","uid":")" +
           Uid() + '"' +
           (ends_initial_events ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : std::string()) +
           R"(},"value":)" + (value == "broken" ? "5" : '"' + value + '"') + '}';
  }
  std::string Protobuf() const {
    std::string meta = Field(1, name) + Field(3, "d") + Field(5, Uid()) + Field(6, version);
    if (ends_initial_events) meta += Field(12, Field(1, "k8s.io/initial-events-end") + Field(2, "true"));
    return Field(1, meta) + Field(2, value);
  }
};

inline std::string ListProtobuf(const std::string& version, const std::vector<Object>& objects,
                                const std::string& next = "") {
  std::string raw = Field(1, Field(2, version) + Field(3, next));
  for (const Object& object : objects) raw += Field(2, object.Protobuf());
  return Envelope("ThingList", raw);
}
inline std::string ListJson(const std::string& version, const std::vector<Object>& objects,
                            const std::string& next = "") {
  std::string text = R"({"kind":"ThingList","metadata":{"resourceVersion":")" + version + '"';
  if (!next.empty()) text += R"(,"continue":")" + next + '"';
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < objects.size(); ++i) text += (i > 0 ? "," : "") + objects[i].Json();
  return text + "]}";
}
inline std::string Frame(const std::string& event) {
  std::string head;
  for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>((event.size() >> shift) & 0xFF);
  return head + event;
}
inline std::string EventProtobuf(const std::string& type, const std::string& raw, const std::string& kind = "Thing") {
  return Frame(Field(1, type) + Field(2, Field(1, Envelope(kind, raw))));
}
inline std::string EventJson(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
inline const std::string kGoneJson = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";
inline const std::string kGoneProtobuf = Field(3, "too old") + Field(4, "Expired") + "\x30\x9a\x03";  // code 410

// One of the four ways.
struct Form {
  bool is_protobuf = false;
  bool streams_list = false;

  std::string Event(const std::string& type, const Object& object) const {
    return is_protobuf ? EventProtobuf(type, object.Protobuf()) : EventJson(type, object.Json());
  }
  std::string Bookmark(const std::string& version, bool ends_initial_events) const {
    return Event("BOOKMARK", {.name = "", .version = version, .ends_initial_events = ends_initial_events});
  }
  std::string Gone() const {
    return is_protobuf ? EventProtobuf("ERROR", kGoneProtobuf, "Status") : EventJson("ERROR", kGoneJson);
  }
  std::string Garbage() const { return is_protobuf ? Frame("garbage") : "garbage\n"; }
  std::string WatchType() const { return is_protobuf ? kProtobufWatch : "application/json"; }
};

}  // namespace berth::client::test_wire
