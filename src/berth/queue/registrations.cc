#include "berth/queue/registrations.h"

#include <utility>

namespace berth::queue {

std::vector<Registration> RegistrationsOf(const framework::Plugin& plugin) {
  namespace action = framework::action;
  using framework::EventResource;
  const std::string name(plugin.Name());
  const auto* extensions = dynamic_cast<const framework::EnqueueExtensions*>(&plugin);
  if (extensions == nullptr) return {{name, {{EventResource::kWildcard, action::kAll}, nullptr}}};

  std::vector<Registration> registrations;
  bool has_node_add = false;
  bool has_node_taint = false;
  for (framework::ClusterEventWithHint& event : extensions->EventsToRegister()) {
    if (event.event.resource == EventResource::kNode) {
      has_node_add |= (event.event.actions & action::kAdd) != 0;
      has_node_taint |= (event.event.actions & action::kUpdateNodeTaint) != 0;
    }
    registrations.push_back({name, std::move(event)});
  }
  // Upstream added this for an older check that could hide a node's arrival until its taints were gone. The check is no
  // more, the registration is, and it decides when pods are tried again.
  if (has_node_add && !has_node_taint) {
    registrations.push_back({name, {{EventResource::kNode, action::kUpdateNodeTaint}, nullptr}});
  }
  return registrations;
}

}  // namespace berth::queue
