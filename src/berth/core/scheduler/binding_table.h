// SPDX-License-Identifier: Apache-2.0
// BindingTable: the binding cycles under way, found by pod, by the operation that they wait for, and by deadline.
// Within turns only. It decides nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/base/text_hash.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/binding_cycle.h"

namespace berth::scheduler {

class BindingTable {
 public:
  // After `late_after` an operation is late, after `very_late_after` very late.
  BindingTable(Duration late_after, Duration very_late_after)
      : late_after_(late_after), very_late_after_(very_late_after) {}

  // No other cycle of that pod is under way. The reference is valid until the cycle is taken out.
  BindingCycle& Add(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed);
  // Null: the pod is not being bound.
  BindingCycle* Find(std::string_view uid);
  // Nothing finds it any more: no pod, no operation and no deadline.
  std::unique_ptr<BindingCycle> Take(BindingCycle& cycle);
  // What Take() returned, so that its memory is used again.
  void Recycle(std::unique_ptr<BindingCycle> taken);

  std::size_t size() const { return by_uid_.size(); }
  bool empty() const { return by_uid_.empty(); }
  std::vector<framework::PodInfoPtr> AssumedPods() const;

  // From now on the cycle waits for this operation, and for no earlier one. `is_wait`: for time to pass, nothing else.
  std::uint64_t SetOperation(BindingCycle& cycle, std::uint64_t operation, Time now, bool is_wait = false);
  // The cycle that waited for this operation; it waits no longer. Null: there is none.
  BindingCycle* TakeByOperation(std::uint64_t operation);

  // TakeDue() names the cycle when the time has come.
  void AddDeadline(Time time, const BindingCycle& cycle) { deadlines_.emplace(time, cycle.assumed->uid); }
  // The first of the cycle's Permit waits for `plugin` ends; false: there is none.
  bool EndPermitWait(BindingCycle& cycle, std::string_view plugin);
  // The cycle whose deadline is the longest past; it has this deadline no longer. Null: none is due.
  BindingCycle* TakeDue(Time now);
  std::optional<Time> NextDeadline() const;

  // The cycles with an operation that is not late and does not only wait for time: what bounds
  // how many pods are decided. Those that hang or wait do not count, or they would hold up all others.
  std::size_t busy_count() const { return busy_count_; }
  // A cycle whose operation is late, and which is not busy from now on; or, later, very late. Each once. Null: there is
  // none.
  BindingCycle* TakeLate(Time now);
  BindingCycle* TakeVeryLate(Time now);
  // A write of the cycle has had no answer for long, or an outcome that is not known.
  void SetUnsettled(BindingCycle& cycle);
  // The cycle's binding has taken effect, which speaks for its namespace.
  void RecordBound(const BindingCycle& cycle);
  // What is unsettled of one namespace, and what has taken effect there since something was.
  struct Unsettled {
    std::size_t cycles = 0;
    std::size_t bound = 0;
  };
  Unsettled UnsettledIn(std::string_view namespace_name) const;
  std::size_t unsettled_count() const { return unsettled_count_; }

 private:
  struct UidHash {
    std::size_t operator()(std::string_view uid) const { return HashText(uid); }
  };
  // Recycled cycles that are kept.
  static constexpr std::size_t kFreeMax = 256;

  void DropOperation(BindingCycle& cycle);
  void EndBusy(BindingCycle& cycle);
  void DropDeadlines(const BindingCycle& cycle);

  const Duration late_after_;
  const Duration very_late_after_;
  // By the uid of BindingCycle::assumed. Each of these pods is in the cache as well.
  absl::flat_hash_map<std::string_view, std::unique_ptr<BindingCycle>, UidHash, std::equal_to<>> by_uid_;
  absl::flat_hash_map<std::uint64_t, BindingCycle*> by_operation_;
  std::set<std::pair<Time, std::string>> deadlines_;  // Permit deadlines and retries, with the pod's uid
  std::deque<std::pair<Time, std::uint64_t>> begun_;  // busy operations, by when they began, and ones that have ended
  std::deque<std::pair<Time, std::uint64_t>> late_;   // those among them that are late, and ones that have ended
  std::size_t busy_count_ = 0;
  StringHashMap<Unsettled> unsettled_;  // by namespace; of those where some cycle is
  std::size_t unsettled_count_ = 0;
  std::vector<std::unique_ptr<BindingCycle>> free_;
};

}  // namespace berth::scheduler
