// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/script/declared_events.h"

#include <string>
#include <utility>

#include "berth/plugins/helper/outside_source.h"

namespace berth::plugins {
namespace {

using framework::ActionType;
using framework::EventResource;
namespace action = framework::action;

constexpr std::pair<std::string_view, EventResource> kResources[] = {
    {"Node", EventResource::kNode},
    {"Pod", EventResource::kPod},
    {"AssignedPod", EventResource::kAssignedPod},
    {"UnschedulablePod", EventResource::kUnschedulablePod},
    {"UnscheduledPod", EventResource::kUnschedulablePod},
    {"TargetPod", EventResource::kTargetPod},
};

struct Action {
  std::string_view name;
  ActionType bits;
  bool is_of_nodes, is_of_pods;
};
constexpr Action kActions[] = {
    {"*", action::kAll, true, true},
    {"Add", action::kAdd, true, true},
    {"Delete", action::kDelete, true, true},
    {"Update", action::kUpdate, true, true},
    {"UpdateNodeAllocatable", action::kUpdateNodeAllocatable, true, false},
    {"UpdateNodeLabel", action::kUpdateNodeLabel, true, false},
    {"UpdateNodeTaint", action::kUpdateNodeTaint, true, false},
    {"UpdateNodeCondition", action::kUpdateNodeCondition, true, false},
    {"UpdateNodeAnnotation", action::kUpdateNodeAnnotation, true, false},
    {"UpdatePodLabel", action::kUpdatePodLabel, false, true},
    {"UpdatePodScaleDown", action::kUpdatePodScaleDown, false, true},
    {"UpdatePodToleration", action::kUpdatePodToleration, false, true},
};

}  // namespace

Expected<framework::ClusterEvent> ParseEvent(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view of = text.substr(0, slash);
  const std::string_view what = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  for (const auto& [name, resource] : kResources) {
    if (of != name) continue;
    const bool is_node = resource == EventResource::kNode;
    std::string known;
    for (const Action& one : kActions) {
      if (is_node ? !one.is_of_nodes : !one.is_of_pods) continue;
      if (what == one.name) return framework::ClusterEvent{resource, one.bits};
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    return InvalidError("events: \"" + Printable(text, 60) + "\": of " + std::string(name) + " there are " + known);
  }
  return InvalidError("events: \"" + Printable(text, 60) +
                      "\": want Node, Pod, AssignedPod or UnschedulablePod, a slash and an action, as in \"Node/Add\"");
}

}  // namespace berth::plugins
