// SPDX-License-Identifier: Apache-2.0
// MoveAllowance: how many pods a rebalancer may move now, beside what the policy says. It limits the moves of each
// workload at one time, with a pause after each, and all moves within an hour. It allows none of a workload that is
// being rolled out, whose last replacement has not come yet, or whose eviction the API server has just refused. A
// value, which counts the moves of one plan.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/rebalance/move_ledger.h"
#include "berth/rebalance/workloads.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

// Of a workload's pods.
struct WorkloadShare {
  std::size_t count = 25;
  bool is_percent = true;

  static constexpr std::size_t kCountMax = 1'000'000;
  static constexpr std::string_view kExpected = "should be a number of pods or a percentage, for example 25%";
  // "3" or "25%"; nothing for other texts.
  static std::optional<WorkloadShare> Parse(std::string_view text);
  // At least 1.
  std::size_t Of(std::size_t pods) const;
};

struct AllowanceLimits {
  // A ledger of this many moves is well below what a ConfigMap may hold.
  static constexpr std::size_t kPerHourMax = 2000;

  WorkloadShare per_workload;
  std::size_t per_hour = 100;
  Duration cool_down = std::chrono::minutes(5);
};

// Why a pod may not be moved now.
struct Hold {
  std::string_view cause;  // as a metric's label: "rollout"; empty: it may
  std::string why;
};

// Workloads of which an eviction was refused, and until when they are left alone. Times of day.
using RefusedUntil = std::map<std::string, Time, std::less<>>;

class MoveAllowance {
 public:
  MoveAllowance(const whatif::ClusterState& state, const MoveLedger& ledger, const AllowanceLimits& limits,
                const RefusedUntil& refused, Time now);

  // `is_for_itself`: the strategy objects to the pod, and not to where it is. A finished pod's removal disturbs nobody:
  // for it only the limit of the hour counts. `is_urgent`: neither pauses nor shares hold it back.
  Hold WhyNot(const api::Pod& pod, std::string_view strategy, bool is_for_itself, bool is_finished,
              bool is_urgent = false) const;
  void Take(const api::Pod& pod, bool is_finished);
  // Undoes Take() of a pod that is not finished.
  void GiveBack(const api::Pod& pod);

 private:
  struct Workload {
    std::size_t pods = 0;
    std::map<std::string, std::string> revisions;  // by what has one for itself, see PartOf()
    Hold hold;
  };
  struct Facts {
    Workloads names;
    std::map<std::string, Workload, std::less<>> workloads;
    std::map<std::string, std::string, std::less<>> came_for;  // by uid of a replacement: for which strategy it came
    AllowanceLimits limits;
  };
  static void Look(const api::Pod& pod, Workload& workload);

  std::shared_ptr<const Facts> facts_;
  std::map<std::string, std::size_t, std::less<>> taken_;  // by workload
  std::size_t taken_in_hour_ = 0;
};

}  // namespace berth::rebalance
