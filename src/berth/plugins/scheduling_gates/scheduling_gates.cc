// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/scheduling_gates/scheduling_gates.h"

#include <string>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

class SchedulingGates final : public PreEnqueuePlugin, public EnqueueExtensions {
 public:
  std::string_view Name() const override { return names::kSchedulingGates; }
  Status PreEnqueue(const PodInfo& pod) const override {
    const std::vector<std::string>& gates = pod.spec().scheduling_gates;
    if (gates.empty()) return Status::Success();
    std::string list;
    for (const std::string& gate : gates) {
      if (!list.empty()) list += ' ';
      list += gate;
    }
    return Status::UnschedulableAndUnresolvable("waiting for scheduling gates: [" + list + "]");
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {OnPod(framework::action::kUpdatePodSchedulingGatesEliminated,
                  [](const PodInfo& pod, const EventObjects& event) { return QueueIf(IsOwnUpdate(pod, event)); })};
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateSchedulingGates() { return std::make_unique<SchedulingGates>(); }

}  // namespace berth::plugins
