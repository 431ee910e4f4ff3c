// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/event_conversion.h"

#include <utility>

#include "berth/devcluster/objects/object.h"

namespace berth::objects {
namespace {

struct Spelling {
  std::string_view core;
  std::string_view events;
};

constexpr Spelling kSpellings[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void Rename(json::object& event, std::string_view from, std::string_view to) {
  const auto found = event.find(json::string_view(from.data(), from.size()));
  if (found == event.end()) return;
  json::value value = std::move(found->value());
  event.erase(found);
  event[json::string_view(to.data(), to.size())] = std::move(value);
}

// "involvedObject.name" becomes "regarding.name" when `from` is "involvedObject".
std::string RenameField(std::string_view field, std::string_view from, std::string_view to) {
  if (field != from && !(field.starts_with(from) && field[from.size()] == '.')) return {};
  return std::string(to) + std::string(field.substr(from.size()));
}

}  // namespace

void ToCoreEvent(json::object& event) {
  for (const Spelling& each : kSpellings) Rename(event, each.events, each.core);
  event["apiVersion"] = "v1";
}

void ToEventsV1(json::object& event) {
  for (const Spelling& each : kSpellings) Rename(event, each.core, each.events);
  event["apiVersion"] = "events.k8s.io/v1";
}

std::string ToCoreEventField(std::string_view field) {
  for (const Spelling& each : kSpellings) {
    if (std::string renamed = RenameField(field, each.events, each.core); !renamed.empty()) return renamed;
  }
  return std::string(field);
}

std::string ToEventsV1Field(std::string_view field) {
  for (const Spelling& each : kSpellings) {
    if (std::string renamed = RenameField(field, each.core, each.events); !renamed.empty()) return renamed;
  }
  return std::string(field);
}

}  // namespace berth::objects
