// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_body.h"

#include <utility>

#include "berth/api/encode_protobuf.h"
#include "berth/base/utf8.h"
#include "berth/codec/json.h"

namespace berth::client {
namespace {

using codec::json::object;

constexpr std::size_t kNoteBytesMax = 1024;  // what the API server accepts, as for the next one
constexpr std::size_t kInstanceBytesMax = 128;

object ToJson(const ObjectReference& reference) {
  object json;
  const auto set = [&json](std::string_view key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  set("kind", reference.kind);
  set("namespace", reference.namespace_name);
  set("name", reference.name);
  set("uid", reference.uid);
  set("apiVersion", reference.api_version);
  set("resourceVersion", reference.resource_version);
  return json;
}

api::ObjectReferenceFields ToFields(const ObjectReference& reference) {
  return {reference.api_version, reference.kind, reference.namespace_name,
          reference.name,        reference.uid,  reference.resource_version};
}

}  // namespace

std::string CutNote(std::string note) {
  constexpr std::string_view kMark = " ...";
  if (note.size() <= kNoteBytesMax) return note;
  return std::string(CutUtf8(note, kNoteBytesMax - kMark.size())) + std::string(kMark);
}

std::string EventBody(const Event& event, const EventNaming& naming, bool as_protobuf) {
  const std::string whole = event.scheduler_name + '-' + std::string(naming.hostname);
  const std::string_view instance = CutUtf8(whole, kInstanceBytesMax);
  const std::string_view type = event.is_warning ? "Warning" : "Normal";
  if (as_protobuf) {
    api::EventFields fields;
    fields.namespace_name = naming.namespace_name;
    fields.name = naming.name;
    fields.event_time = naming.made_at;
    fields.reporting_controller = event.scheduler_name;
    fields.reporting_instance = instance;
    fields.action = event.action;
    fields.reason = event.reason;
    fields.regarding = ToFields(event.regarding);
    if (event.related) fields.related = ToFields(*event.related);
    fields.note = event.note;
    fields.type = type;
    return api::EncodeEvent(fields);
  }
  object body{{"apiVersion", "events.k8s.io/v1"},
              {"kind", "Event"},
              {"metadata", object{{"namespace", naming.namespace_name}, {"name", naming.name}}},
              {"eventTime", FormatRfc3339Micro(naming.made_at)},
              {"reportingController", event.scheduler_name},
              {"reportingInstance", instance},
              {"action", event.action},
              {"reason", event.reason},
              {"regarding", ToJson(event.regarding)},
              {"note", event.note},
              {"type", type}};
  if (event.related) body["related"] = ToJson(*event.related);
  return codec::WriteJson(body);
}

}  // namespace berth::client
