// SPDX-License-Identifier: Apache-2.0
// Which events a profile's plugins want to hear of, as the queue needs it.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::queue {

// `plugin`, having refused a pod, wants that pod back when `event` happens and its hint agrees.
struct Registration {
  std::string plugin;
  framework::ClusterEventWithHint event;
};

// The registrations of one plugin, to be called for each that has PreEnqueue, PreFilter, Filter, Reserve or Permit.
// A plugin without EnqueueExtensions gets every event, and so does one that throws; one with an empty list gets none.
// `adds_node_taint_event` (framework::Release): a plugin that registers Node/Add but not Node/UpdateNodeTaint also gets
// the latter, without a hint.
std::vector<Registration> RegistrationsOf(const framework::Plugin& plugin, bool adds_node_taint_event);

}  // namespace berth::queue
