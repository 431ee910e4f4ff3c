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
  // An operation is late `late_after` after it began, and very late `very_late_after` after it began.
  BindingTable(Duration late_after, Duration very_late_after)
      : late_after_(late_after), very_late_after_(very_late_after) {}

  // The pod must not have a cycle yet. The reference is valid until Take().
  BindingCycle& Add(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed);
  // Null: the pod has no binding cycle.
  BindingCycle* Find(std::string_view uid);
  // Takes the cycle out of the table, with its operation and its deadlines.
  std::unique_ptr<BindingCycle> Take(BindingCycle& cycle);
  // Frees a cycle that Take() returned; its memory is reused.
  void Recycle(std::unique_ptr<BindingCycle> taken);

  std::size_t size() const { return by_uid_.size(); }
  bool empty() const { return by_uid_.empty(); }
  std::vector<framework::PodInfoPtr> AssumedPods() const;
  // Those that wait for Permit plugins, `count_max` at most, in no order.
  std::vector<const BindingCycle*> AtPermit(std::size_t count_max) const;

  // The cycle now waits for this operation instead of any earlier one. `is_wait`: the operation only waits for time to
  // pass.
  std::uint64_t SetOperation(BindingCycle& cycle, std::uint64_t operation, Time now, bool is_wait = false);
  // Returns the cycle that waited for this operation, which it no longer does. Null: none did.
  BindingCycle* TakeByOperation(std::uint64_t operation);

  // TakeDue() returns the cycle from this time on.
  void AddDeadline(Time time, const BindingCycle& cycle) { deadlines_.emplace(time, cycle.assumed->uid); }
  // Ends the cycle's first Permit wait for `plugin`. Returns false when there is none.
  bool EndPermitWait(BindingCycle& cycle, std::string_view plugin);
  // Removes the deadline that is longest past and returns its cycle. Null: no deadline is due.
  BindingCycle* TakeDue(Time now);
  std::optional<Time> NextDeadline() const;

  // The number of cycles with an operation that is not late and does not only wait for time. It limits how many pods
  // are decided; operations that hang or wait are left out, because they would hold up all other pods.
  std::size_t busy_count() const { return busy_count_; }
  // Returns a cycle whose operation has become late, and which is no longer busy; or very late. Each operation is
  // returned once by each function. Null: there is none.
  BindingCycle* TakeLate(Time now);
  BindingCycle* TakeVeryLate(Time now);
  // Marks a cycle as in doubt: it has a write that has been without an answer for long, or whose outcome stayed
  // unknown.
  void SetInDoubt(BindingCycle& cycle);
  // Counts a binding that took effect, which shows that the API server answers for this namespace.
  void RecordBound(const BindingCycle& cycle);
  // A namespace's in-doubt cycles, and the bindings that took effect there since the first of these came to be in
  // doubt.
  struct InDoubt {
    std::size_t cycles = 0;
    std::size_t bound = 0;
  };
  InDoubt InDoubtOf(std::string_view namespace_name) const;
  std::size_t in_doubt_count() const { return in_doubt_count_; }

 private:
  struct UidHash {
    std::size_t operator()(std::string_view uid) const { return HashText(uid); }
  };
  // Size of the free list of cycles.
  static constexpr std::size_t kFreeMax = 256;

  void DropOperation(BindingCycle& cycle);
  void EndBusy(BindingCycle& cycle);
  void DropDeadlines(const BindingCycle& cycle);

  const Duration late_after_;
  const Duration very_late_after_;
  // By the uid of BindingCycle::assumed. Each of these pods is in the cache as well.
  absl::flat_hash_map<std::string_view, std::unique_ptr<BindingCycle>, UidHash, std::equal_to<>> by_uid_;
  absl::flat_hash_map<std::uint64_t, BindingCycle*> by_operation_;
  std::set<std::pair<Time, std::string>> deadlines_;  // Permit deadlines and times of reads, with the pod's uid
  // Busy operations by start time; may hold operations that have ended.
  std::deque<std::pair<Time, std::uint64_t>> begun_;
  // Late operations by start time; may hold operations that have ended.
  std::deque<std::pair<Time, std::uint64_t>> late_;
  std::size_t busy_count_ = 0;
  StringHashMap<InDoubt> in_doubt_;  // by namespace; only namespaces with an in-doubt cycle
  std::size_t in_doubt_count_ = 0;
  std::vector<std::unique_ptr<BindingCycle>> free_;
};

}  // namespace berth::scheduler
