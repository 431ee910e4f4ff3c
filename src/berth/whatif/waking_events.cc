// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/waking_events.h"

#include <string_view>

#include "berth/framework/cluster_event.h"
#include "berth/framework/guarded.h"
#include "berth/framework/plugin.h"

namespace berth::whatif {
namespace {

// Events have the names of the newest release: the others differ in those of pods without a node, for which no plugin
// of kube-scheduler's registers.
std::string LabelOf(const framework::ClusterEvent& event) { return event.Label(true); }

// One name for each of the event's actions; all kinds of update together are one.
void AddLabels(const framework::ClusterEvent& event, std::set<std::string>& labels) {
  namespace action = framework::action;
  framework::ActionType left = event.actions;
  if ((left & action::kUpdate) == action::kUpdate) {
    std::string label = LabelOf({event.resource, action::kAdd});
    label.resize(label.size() - std::string_view("Add").size());
    labels.insert(label + "Update");
    left &= ~action::kUpdate;
  }
  for (framework::ActionType bit = 1; left != 0; bit <<= 1) {
    if ((left & bit) != 0) labels.insert(LabelOf({event.resource, bit}));
    left &= ~bit;
  }
}

}  // namespace

std::vector<std::string> WakingEvents(const runtime::ProfilePlugins& profile, const std::set<std::string>& plugins) {
  std::set<std::string> events;
  for (const auto& plugin : profile.owned) {
    if (!plugins.contains(std::string(plugin->Name()))) continue;
    const auto* const registers = dynamic_cast<const framework::EnqueueExtensions*>(plugin.get());
    if (registers == nullptr) continue;
    // A pod that was refused by a plugin which throws here is tried again at every event.
    const framework::Status failed = framework::GuardedCall([&] {
      for (const framework::ClusterEventWithHint& event : registers->EventsToRegister()) AddLabels(event.event, events);
    });
    if (!failed.IsSuccess()) events.insert("any");
  }
  return {events.begin(), events.end()};
}

}  // namespace berth::whatif
