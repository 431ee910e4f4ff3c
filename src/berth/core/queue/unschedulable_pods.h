// SPDX-License-Identifier: Apache-2.0
// UnschedulablePods: the pods that wait for an event, by who refused or gated them (upstream: unschedulablePods of
// backend/queue). Knows when the oldest of them has waited for so long that it is tried again without one. Internal to
// the queue; within turns only.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/queue/entry.h"

namespace berth::queue {

class UnschedulablePods {
 public:
  // The flush looks once a period; pods that have waited for longer than `wait_max` by then are flushed.
  explicit UnschedulablePods(Duration wait_max) : wait_max_(wait_max) {}

  // The entry is in no place, and has rejectors.
  void Park(Entry* entry);
  // The entry is here.
  void Unpark(Entry* entry);

  // Rejector sets with waiting pods. Parking and unparking change it.
  const std::vector<RejectorSet*>& sets() const { return sets_; }
  bool empty() const { return sets_.empty(); }
  std::size_t unschedulable_count() const { return unschedulable_count_; }
  std::size_t gated_count() const { return gated_count_; }

  // Adds those that are due to `due`; they stay here.
  void Flush(Time now, std::vector<std::pair<Entry*, Strategy>>& due);
  // When to call Flush(); nullopt: there is nothing to flush.
  std::optional<Time> NextFlush() const;

 private:
  const Duration wait_max_;
  std::vector<RejectorSet*> sets_;
  std::size_t unschedulable_count_ = 0;
  std::size_t gated_count_ = 0;
  Time oldest_ = Time::max();  // at most the least timestamp of the pods that the flush may move
  std::optional<Time> last_flush_;
};

}  // namespace berth::queue
