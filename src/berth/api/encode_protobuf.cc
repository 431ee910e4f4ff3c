// SPDX-License-Identifier: Apache-2.0
#include "berth/api/encode_protobuf.h"

#include <protozero/pbf_writer.hpp>

#include "berth/api/decode_protobuf_frame.h"

namespace berth::api {
namespace {

using protozero::pbf_writer;

void AddText(pbf_writer& writer, protozero::pbf_tag_type number, std::string_view text) {
  if (!text.empty()) writer.add_string(number, text.data(), text.size());
}

// `fill(writer)` writes the object.
template <typename Fill>
std::string Enveloped(std::string_view api_version, std::string_view kind, Fill fill) {
  std::string bytes(kProtobufMagic);
  pbf_writer unknown(bytes);
  {
    pbf_writer type_meta(unknown, 1);
    AddText(type_meta, 1, api_version);
    AddText(type_meta, 2, kind);
  }
  {
    pbf_writer raw(unknown, 2);
    fill(raw);
  }
  return bytes;
}

void AddMetadata(pbf_writer& object, std::string_view namespace_name, std::string_view name, std::string_view uid) {
  pbf_writer metadata(object, 1);
  AddText(metadata, 1, name);
  AddText(metadata, 3, namespace_name);
  AddText(metadata, 5, uid);
}

// meta/v1.MicroTime: seconds (rounded down) and nanoseconds.
void AddMicroTime(pbf_writer& object, protozero::pbf_tag_type number, Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  pbf_writer message(object, number);
  message.add_int64(1, seconds.time_since_epoch().count());
  message.add_int32(2, static_cast<std::int32_t>(std::chrono::nanoseconds(time - seconds).count()));
}

void AddReference(pbf_writer& object, protozero::pbf_tag_type number, const ObjectReferenceFields& reference) {
  pbf_writer message(object, number);
  AddText(message, 1, reference.kind);
  AddText(message, 2, reference.namespace_name);
  AddText(message, 3, reference.name);
  AddText(message, 4, reference.uid);
  AddText(message, 5, reference.api_version);
  AddText(message, 6, reference.resource_version);
}

}  // namespace

std::string EncodeBinding(const BindingFields& binding) {
  return Enveloped("v1", "Binding", [&](pbf_writer& object) {
    AddMetadata(object, binding.namespace_name, binding.name, binding.uid);
    AddReference(object, 2, {.kind = "Node", .name = binding.node_name});
  });
}

std::string EncodeDeleteOptions(const DeleteOptionsFields& options) {
  return Enveloped("v1", "DeleteOptions", [&](pbf_writer& object) {
    if (options.grace_seconds) object.add_int64(1, *options.grace_seconds);
    if (options.uid.empty()) return;
    pbf_writer preconditions(object, 2);
    AddText(preconditions, 1, options.uid);
  });
}

std::string EncodeEvent(const EventFields& event) {
  return Enveloped("events.k8s.io/v1", "Event", [&](pbf_writer& object) {
    AddMetadata(object, event.namespace_name, event.name, {});
    AddMicroTime(object, 2, event.event_time);
    if (event.series) {
      pbf_writer series(object, 3);
      series.add_int32(1, event.series->count);
      AddMicroTime(series, 2, event.series->last_observed_time);
    }
    AddText(object, 4, event.reporting_controller);
    AddText(object, 5, event.reporting_instance);
    AddText(object, 6, event.action);
    AddText(object, 7, event.reason);
    AddReference(object, 8, event.regarding);
    if (event.related) AddReference(object, 9, *event.related);
    AddText(object, 10, event.note);
    AddText(object, 11, event.type);
  });
}

}  // namespace berth::api
