// SPDX-License-Identifier: Apache-2.0
// What is written into the API server's Event for an event of ours. Functions of their arguments alone: any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/time.h"
#include "berth/shell/client/event_recorder.h"

namespace berth::client {

// Cuts as kube-scheduler does, to the 1024 bytes that the API server accepts: the mark of it is part of them.
std::string CutNote(std::string note);

struct EventNaming {
  std::string_view namespace_name;
  std::string_view name;
  std::string_view hostname;
  Time made_at{};
};

// An events.k8s.io/v1 Event, in protobuf or in JSON.
std::string EventBody(const Event& event, const EventNaming& naming, bool as_protobuf);

}  // namespace berth::client
