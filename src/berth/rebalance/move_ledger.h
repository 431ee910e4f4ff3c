// SPDX-License-Identifier: Apache-2.0
// MoveLedger: the evictions that a rebalancer has made within the last hour, and what has become of each. It is written
// into the cluster before the evictions that it lists, so that a restarted process knows them. A value.
//
//   kIntended --evicted--> kEvicted --a replacement is ready--> kSettled
//       |                     |                                    ^
//       | refused,            | none within the time-out           |
//       | never sent          v                                    |
//    (removed)             kNotPlaced ------one is ready-----------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/whatif/cluster_state.h"

namespace berth::rebalance {

struct MoveRecord {
  enum class State : std::uint8_t { kIntended, kEvicted, kSettled, kNotPlaced };

  std::string key;  // of the pod: "default/web-1"
  std::string uid;
  std::string workload;  // who makes the replacement (workloads.h)
  std::string from;
  std::string to;  // empty: a finished pod, which has no replacement
  std::vector<std::string> ties;
  bool has_more_ties = false;  // any node but `from` may be as good
  std::string strategy;
  Time at{};      // the time of day when it was intended
  Time newest{};  // when the workload's youngest pod had been created by then
  State state = State::kIntended;
  std::string replacement_uid;  // empty: not seen
  // Pods that the workload had when the move was intended. Not written: null after a restart.
  std::shared_ptr<const std::set<std::string>> siblings;
};

// What Observe() has found out about a move.
struct MoveChange {
  enum class Kind : std::uint8_t {
    kFoundEvicted,  // its eviction had no answer, and took effect
    kNotEvicted,    // its eviction had no answer, and took no effect
    kAsProved,      // the replacement is ready on the node that was proved, or on one that was as good
    kElsewhere,     // the replacement is ready on another node
    kGone,          // a finished pod is gone
    kNotPlaced,
  };
  Kind kind = Kind::kNotEvicted;
  MoveRecord record;
  std::string node;  // where the replacement is; empty: nowhere
};
// As a metric's label: "as_proved".
std::string_view ToString(MoveChange::Kind kind);

class MoveLedger {
 public:
  // Moves are forgotten after this time.
  static constexpr Duration kMemory = std::chrono::hours(1);
  // Most records that are read, which is more than a rebalancer may write.
  static constexpr std::size_t kRecordsMax = 10'000;

  // What Text() has written; an empty text is an empty ledger.
  static Expected<MoveLedger> Parse(std::string_view text);
  std::string Text() const;

  void Intend(MoveRecord record) { records_.push_back(std::move(record)); }
  void SetEvicted(const std::string& uid);
  // Removes the record of a pod that was not evicted.
  void Remove(const std::string& uid);

  // Compares with the cluster, read with pod details after the last eviction. A replacement has to be ready within
  // `placement_max` of its eviction.
  std::vector<MoveChange> Observe(const whatif::ClusterState& state, Time now, Duration placement_max);

  // In the order in which they were intended.
  const std::vector<MoveRecord>& records() const { return records_; }

 private:
  std::vector<MoveRecord> records_;
};

}  // namespace berth::rebalance
