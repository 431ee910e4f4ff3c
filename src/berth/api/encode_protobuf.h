// SPDX-License-Identifier: Apache-2.0
// Encodes the objects that a scheduler writes most as Kubernetes' protobuf with its envelope: the body of a request
// with the Content-Type kProtobufMediaType. Empty strings are omitted. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/time.h"

namespace berth::api {

// core/v1 Binding of a pod to a node. An empty `uid` means any pod with this name.
struct BindingFields {
  std::string_view namespace_name;
  std::string_view name;
  std::string_view uid;
  std::string_view node_name;
};
std::string EncodeBinding(const BindingFields& binding);

// meta/v1 DeleteOptions. `uid`, unless empty, is a precondition.
struct DeleteOptionsFields {
  std::optional<std::int64_t> grace_seconds;
  std::string_view uid;
};
std::string EncodeDeleteOptions(const DeleteOptionsFields& options);

// core/v1 ObjectReference, without fieldPath.
struct ObjectReferenceFields {
  std::string_view api_version;
  std::string_view kind;
  std::string_view namespace_name;
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
};

// events.k8s.io/v1 Event.
struct EventFields {
  std::string_view namespace_name;
  std::string_view name;
  Time event_time{};
  std::string_view reporting_controller;
  std::string_view reporting_instance;
  std::string_view action;
  std::string_view reason;
  ObjectReferenceFields regarding;
  std::optional<ObjectReferenceFields> related;
  std::string_view note;
  std::string_view type;  // "Normal", "Warning"
  struct Series {
    std::int32_t count = 0;
    Time last_observed_time{};
  };
  std::optional<Series> series;
};
std::string EncodeEvent(const EventFields& event);

}  // namespace berth::api
