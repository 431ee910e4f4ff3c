// SPDX-License-Identifier: Apache-2.0
// What a PodDisruptionBudget's status should say: how many of its pods are healthy, and how many may be evicted. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "berth/base/time.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

// An evicted pod whose deletion the watch does not show within this time counts as healthy again, as upstream.
inline constexpr Duration kDisruptionMax = std::chrono::minutes(2);

struct DisruptionDecision {
  json::object status;                  // a merge patch of the budget's status; empty: it is right already
  std::optional<Duration> again_after;  // when time alone changes the decision
};

// The replicas that a pod's controller is to have; nullopt: it has no such number, as a Job.
using ReplicasOf = std::function<std::optional<std::int64_t>(const api::OwnerReference& controller)>;

// `pods` are those that the budget's selector matches.
DisruptionDecision DecideDisruption(const WorkloadView& budget, const Pods& pods, const ReplicasOf& replicas_of,
                                    Time now);

}  // namespace berth::controllers
