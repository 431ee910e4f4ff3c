// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/event_log.h"

#include <string>

#include "berth/base/log.h"

namespace berth::scheduler {
namespace {

constexpr log::Detail DetailOf(ObjectEvent event) { return {event == ObjectEvent::kUpdate ? 4 : 3, "eventhandlers"}; }

bool IsLogged(const CoreState& state, ObjectEvent event) {
  return state.options.metrics != nullptr && log::Enabled(DetailOf(event));
}

std::string Title(ObjectEvent event, std::string_view what) {
  const std::string_view verb = event == ObjectEvent::kAdd      ? "Add"
                                : event == ObjectEvent::kUpdate ? "Update"
                                                                : "Delete";
  return std::string(verb) + " event for " + std::string(what);
}

}  // namespace

void LogPodEvent(const CoreState& state, ObjectEvent event, const framework::PodInfo& pod, bool is_scheduled) {
  if (!IsLogged(state, event)) return;
  log::Info(DetailOf(event), "scheduler", Title(event, is_scheduled ? "scheduled pod" : "unscheduled pod"),
            {{"pod", pod.Key()}});
}

void LogNodeEvent(const CoreState& state, ObjectEvent event, std::string_view node) {
  if (!IsLogged(state, event)) return;
  log::Info(DetailOf(event), "scheduler", Title(event, "node"), {{"node", node}});
}

}  // namespace berth::scheduler
