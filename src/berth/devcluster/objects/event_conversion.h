// SPDX-License-Identifier: Apache-2.0
// core/v1 Event and events.k8s.io/v1 Event are two spellings of one object. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

// `event` in the spelling of the other group; its apiVersion too.
void ToCoreEvent(json::object& event);
void ToEventsV1(json::object& event);

// A field selector's field in the other spelling: "regarding.name" and "involvedObject.name", ...
std::string ToCoreEventField(std::string_view field);
std::string ToEventsV1Field(std::string_view field);

}  // namespace berth::objects
