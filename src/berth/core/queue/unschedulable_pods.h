// SPDX-License-Identifier: Apache-2.0
// UnschedulablePods: the pods that wait for an event, by rejector set (upstream: unschedulablePods of backend/queue).
// Finds the pods that have waited so long that they are flushed, which means tried again without an event. Internal to
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
  // The flush runs once a period and moves pods that have waited for longer than `wait_max`.
  explicit UnschedulablePods(Duration wait_max) : wait_max_(wait_max) {}

  // `entry` must be in no place and have rejectors.
  void Park(Entry* entry);
  // `entry` must be in this container.
  void Unpark(Entry* entry);

  // The rejector sets with waiting pods. Park and Unpark change it.
  const std::vector<RejectorSet*>& sets() const { return sets_; }
  bool empty() const { return sets_.empty(); }
  std::size_t unschedulable_count() const { return unschedulable_count_; }
  std::size_t gated_count() const { return gated_count_; }

  // Appends the pods that are due to `due`; they stay here.
  void Flush(Time now, std::vector<std::pair<Entry*, Strategy>>& due);
  // When to call Flush(); nullopt: nothing is to be flushed.
  std::optional<Time> NextFlush() const;

 private:
  const Duration wait_max_;
  std::vector<RejectorSet*> sets_;
  std::size_t unschedulable_count_ = 0;
  std::size_t gated_count_ = 0;
  Time oldest_ = Time::max();  // lower bound of the timestamps of pods that the flush may move
  std::optional<Time> last_flush_;
};

}  // namespace berth::queue
