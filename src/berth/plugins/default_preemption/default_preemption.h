// DefaultPreemption: finds out whether an unschedulable pod would fit somewhere if pods of lower priority went. Which
// of them to evict is not built yet: where a node is found, the pod stays unschedulable and the message says why. The
// arguments, which bound how many candidates are compared, have no effect until then.
#pragma once

#include "berth/framework/plugin.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class DefaultPreemption final : public framework::PreEnqueuePlugin,
                                public framework::PostFilterPlugin,
                                public framework::EnqueueExtensions {
 public:
  std::string_view Name() const override { return names::kDefaultPreemption; }

  // Upstream gates a pod whose preemption is still under way; there is none here.
  framework::Status PreEnqueue(const framework::PodInfo&) const override { return {}; }

  framework::PostFilterResult PostFilter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                         const framework::NodeStatuses& statuses,
                                         framework::FilterRunner& filters) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
};

}  // namespace berth::plugins
