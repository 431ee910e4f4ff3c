// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a Deployment's rollout: how many replicas each of its ReplicaSets should have now. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/codec/json.h"

namespace berth::controllers {

struct RolloutBounds {
  std::int64_t surge_max = 0;        // pods beyond the wanted number
  std::int64_t unavailable_max = 0;  // of the wanted number
};

// From spec.strategy.rollingUpdate: numbers or percentages of `replicas`; surge is rounded up and unavailability down,
// and one pod may be unavailable where both would be none, since nothing could move.
RolloutBounds ReadRolloutBounds(const codec::json::object& deployment_spec, std::int64_t replicas);

// From a DaemonSet's spec.updateStrategy.rollingUpdate: at least one, a percentage of its `nodes` rounded up.
std::int64_t ReadDaemonUnavailableMax(const codec::json::object& set_spec, std::int64_t nodes);

// An IntOrString: a number, or a percentage of `total`, rounded up; 0 for anything else.
std::int64_t CountOrPercent(const codec::json::value& value, std::int64_t total);

struct RolloutSet {
  bool is_new = false;  // the one of the current template; at most one
  std::int64_t replicas = 0;
  std::int64_t available = 0;
};

struct RolloutPlan {
  std::int64_t replicas = 0;
  RolloutBounds bounds;
  bool is_recreate = false;
  bool is_paused = false;        // follows the number of replicas, but moves nothing to the new template
  bool has_old_pods = false;     // of Recreate: pods of older templates are still there
  std::vector<RolloutSet> sets;  // oldest first
};

// The replicas that each set should have after the next step, in the order of plan.sets.
std::vector<std::int64_t> NextReplicas(const RolloutPlan& plan);

}  // namespace berth::controllers
