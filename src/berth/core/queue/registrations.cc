// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/registrations.h"

#include <utility>

#include "berth/base/log.h"
#include "berth/framework/guarded.h"

namespace berth::queue {

std::vector<Registration> RegistrationsOf(const framework::Plugin& plugin, bool adds_node_taint_event) {
  namespace action = framework::action;
  using framework::EventResource;
  const std::string name(plugin.Name());
  const std::vector<Registration> every_event = {{name, {{EventResource::kWildcard, action::kAll}, nullptr}}};
  const auto* extensions = dynamic_cast<const framework::EnqueueExtensions*>(&plugin);
  if (extensions == nullptr) return every_event;
  std::vector<framework::ClusterEventWithHint> events;
  const framework::Status failed = framework::GuardedCall([&] { events = extensions->EventsToRegister(); });
  if (!failed.IsSuccess()) {
    log::Warning("queue", "A plugin cannot say which events it waits for: it is asked again at every one",
                 {{"plugin", name}, {"error", failed.Message()}});
    return every_event;
  }

  std::vector<Registration> registrations;
  bool has_node_add = false;
  bool has_node_taint = false;
  for (framework::ClusterEventWithHint& event : events) {
    if (event.event.resource == EventResource::kNode) {
      has_node_add |= (event.event.actions & action::kAdd) != 0;
      has_node_taint |= (event.event.actions & action::kUpdateNodeTaint) != 0;
    }
    registrations.push_back({name, std::move(event)});
  }
  // Upstream added this event for an older check that could hide a new node until its taints were gone. 1.36 no longer
  // has the check but still registers the event, which affects when pods are tried again.
  if (adds_node_taint_event && has_node_add && !has_node_taint) {
    registrations.push_back({name, {{EventResource::kNode, action::kUpdateNodeTaint}, nullptr}});
  }
  return registrations;
}

}  // namespace berth::queue
