// SPDX-License-Identifier: Apache-2.0
// Whether a cluster is well enough for pods to be moved in it. Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "berth/rebalance/move_allowance.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

struct HealthLimits {
  std::optional<std::size_t> pending_max;    // pods without a node; nullopt: one in a hundred, at least 10
  std::optional<std::size_t> not_ready_max;  // nodes; nullopt: one in a hundred, at least 1
};

// Why nothing is moved now; without a cause the cluster is well. Pods with scheduling gates do not count as pending,
// cordoned nodes not as unready. A kind that may not be read makes every proof doubtful.
Hold WhyUnwell(const whatif::ClusterState& state, const HealthLimits& limits);

// True unless a condition Ready says otherwise.
bool IsReady(const api::Node& node);

}  // namespace berth::rebalance
