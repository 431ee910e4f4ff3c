// SPDX-License-Identifier: Apache-2.0
// The events for which a profile's plugins have registered, in the queue's form.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::queue {

// A pod that `plugin` refused is tried again when `event` happens and its hint agrees.
struct Registration {
  std::string plugin;
  framework::ClusterEventWithHint event;
};

// The registrations of one plugin; to be called for each plugin with PreEnqueue, PreFilter, Filter, Reserve or Permit.
// A plugin without EnqueueExtensions, or one that throws, gets every event; one with an empty list gets none.
// `adds_node_taint_event` (framework::Release): a plugin that registers Node/Add but not Node/UpdateNodeTaint also gets
// the latter, without a hint.
std::vector<Registration> RegistrationsOf(const framework::Plugin& plugin, bool adds_node_taint_event);

}  // namespace berth::queue
