// SPDX-License-Identifier: Apache-2.0
// Which events may make a pod schedulable that InterPodAffinity refused. Upstream's hints
// (isSchedulableAfterPodChange, isSchedulableAfterNodeChange) compare the event's object with the pod's own terms.
// These also know of what namespace selectors select, of pods that nobody is left to be with, and of other pods' terms.
#pragma once

#include <functional>
#include <vector>

#include "berth/framework/cluster_event.h"
#include "berth/framework/handle.h"
#include "berth/plugins/inter_pod_affinity/affinity_index.h"

namespace berth::plugins {

// What the hints ask about the cluster as it is after the event.
struct AffinityHintSources {
  const framework::Handle& handle;  // outlives the hints
  // The index, brought up to date; null when the handle has no nodes.
  std::function<AffinityIndex*()> index;
};

std::vector<framework::ClusterEventWithHint> PodAffinityEvents(AffinityHintSources sources);

}  // namespace berth::plugins
