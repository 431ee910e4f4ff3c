// SPDX-License-Identifier: Apache-2.0
// Which events may make a pod schedulable that InterPodAffinity refused. Upstream: isSchedulableAfterPodChange and
// isSchedulableAfterNodeChange.
#pragma once

#include <vector>

#include "berth/framework/cluster_event.h"

namespace berth::plugins {

// `by_any_term`: Release::hints_by_any_anti_affinity_term.
std::vector<framework::ClusterEventWithHint> PodAffinityEvents(bool by_any_term);

}  // namespace berth::plugins
