// SPDX-License-Identifier: Apache-2.0
// SchedulingGates: keeps a pod out of activeQ while spec.schedulingGates has an entry.
#pragma once

#include "berth/framework/plugin.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class SchedulingGates final : public framework::PreEnqueuePlugin, public framework::EnqueueExtensions {
 public:
  std::string_view Name() const override { return names::kSchedulingGates; }
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override;
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
