// SPDX-License-Identifier: Apache-2.0
// The order in which several strategies take pods. Pure.
#pragma once

#include <vector>

#include "berth/rebalance/cluster_view.h"

namespace berth::rebalance {

// Lowest priority first, then by quality of service, then those that do not prefer to stay.
void SortByPriority(const ClusterView& view, std::vector<PodNumber>& pods);

}  // namespace berth::rebalance
