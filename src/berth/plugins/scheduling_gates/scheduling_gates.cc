// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/scheduling_gates/scheduling_gates.h"

#include <string>

#include "berth/plugins/helper/events.h"

namespace berth::plugins {

using framework::Status;

Status SchedulingGates::PreEnqueue(const framework::PodInfo& pod) const {
  const std::vector<std::string>& gates = pod.spec().scheduling_gates;
  if (gates.empty()) return Status::Success();
  std::string list;
  for (const std::string& gate : gates) {
    if (!list.empty()) list += ' ';
    list += gate;
  }
  return Status::UnschedulableAndUnresolvable("waiting for scheduling gates: [" + list + "]");
}

std::vector<framework::ClusterEventWithHint> SchedulingGates::EventsToRegister() const {
  return {OnPod(framework::action::kUpdatePodSchedulingGatesEliminated,
                [](const framework::PodInfo& pod, const framework::EventObjects& event) {
                  return QueueIf(IsOwnUpdate(pod, event));
                })};
}

}  // namespace berth::plugins
