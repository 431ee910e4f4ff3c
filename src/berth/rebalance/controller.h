// SPDX-License-Identifier: Apache-2.0
// Controller: what `berth rebalance run` does, round by round: looks at the cluster, plans, and evicts what the plan
// moves. It holds back while the cluster is not well, within limits of its own (move_allowance.h), and keeps a ledger
// in the cluster (move_ledger.h), from which it goes on after a restart. All that is outside is behind an
// interface; time is an argument. One thread, blocking.
//
//   read --> observe moves --> well? --> measure --> plan --> write the ledger --> evict, one after the other -->
//   report
//
// The first eviction that does not succeed ends the round: what comes after it was proved with that pod away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/rebalance/cluster_health.h"
#include "berth/rebalance/move_allowance.h"
#include "berth/rebalance/move_ledger.h"
#include "berth/rebalance/node_mark.h"
#include "berth/rebalance/plan.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

struct ControllerOptions {
  bool executes = false;  // else it says what it would do, and writes nothing
  Duration interval = std::chrono::minutes(5);
  Duration placement_max = std::chrono::minutes(5);  // for a replacement to be ready
  AllowanceLimits limits;
  HealthLimits health;
};

// The cluster, and the observers of what the controller does.
class ControllerOutside {
 public:
  virtual ~ControllerOutside() = default;
  // Reads the cluster, with pod details.
  virtual Expected<whatif::ClusterState> Read() = 0;
  // Measures the use that the policy's strategies depend on.
  virtual Expected<Measurements> Measure(Time now) = 0;
  virtual Expected<RebalancePlan> Plan(const whatif::ClusterState& state, const PlanOptions& options) = 0;
  // The text that was saved last; empty: none was.
  virtual Expected<std::string> LoadLedger() = 0;
  // Fails with kConflict when another process has saved one meanwhile.
  virtual Expected<void> SaveLedger(const std::string& text) = 0;
  // Evicts through the Eviction API, once, with the pod's uid as precondition.
  virtual Expected<void> Evict(const PlannedMove& move) = 0;
  // Before pods leave a node that is to be emptied, and when that is given up. Fails with kConflict when the node is
  // not as it was read any more.
  virtual Expected<void> MarkNode(const api::Node& node, const NodeMark& mark) = 0;
  virtual bool IsEnding() = 0;

  virtual void OnEvicted(const PlannedMove& move) = 0;
  virtual void OnNotEvicted(const PlannedMove& move, const Error& error) = 0;
  virtual void OnChange(const MoveChange& change) = 0;
};

struct RoundReport {
  enum class Result : std::uint8_t {
    kQuiet,      // there was nothing to move
    kMoved,      // something was evicted
    kWouldMove,  // without --execute
    kWaiting,    // see `wait`
    kEnding,
  };
  Result result = Result::kQuiet;
  Hold wait;
  std::size_t looked_at = 0;        // pods
  std::vector<PlannedMove> moves;   // that were made, or would be
  std::size_t later = 0;            // planned moves for which this round was not the time
  std::vector<StayingPod> staying;  // that are objected to
  Duration next{};                  // until the next round
};
// As a metric's label: "would_move".
std::string_view ToString(RoundReport::Result result);

class Controller {
 public:
  // The pause after a round that could not do all that it had planned.
  static constexpr Duration kSoon = std::chrono::seconds(10);
  // A workload whose eviction was refused is left alone for this time, which doubles with each further refusal.
  static constexpr Duration kRefusedMin = std::chrono::seconds(30);
  static constexpr Duration kRefusedMax = std::chrono::minutes(10);

  // `outside` must outlive it.
  Controller(ControllerOutside& outside, const ControllerOptions& options) : outside_(outside), options_(options) {}

  // `now`: the time of day.
  RoundReport RunRound(Time now);

  const MoveLedger& ledger() const { return ledger_; }

 private:
  struct Refusal {
    Time until{};
    Duration pause{};
  };

  Hold Prepare(Time now, whatif::ClusterState& state);
  Hold Execute(const whatif::ClusterState& state, std::vector<PlannedMove>& moves, Time now);
  Hold Cordon(const whatif::ClusterState& state, const std::string& name);
  Hold GiveUp(const whatif::ClusterState& state, const std::vector<std::string>& names);
  void OnRefused(const std::string& workload, const Error& error, Time now);
  RefusedUntil Refused() const;

  ControllerOutside& outside_;
  const ControllerOptions options_;
  bool has_ledger_ = false;  // the one of the cluster has been read
  MoveLedger ledger_;
  std::map<std::string, Refusal, std::less<>> refusals_;  // by workload
};

}  // namespace berth::rebalance
