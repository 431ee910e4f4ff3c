// SPDX-License-Identifier: Apache-2.0
// InFlight: the pods that were popped and are not done, and the events since then. When an attempt fails, events that
// it did not see are checked for a retry. Internal to the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ranges>

#include "berth/core/queue/entry.h"
#include "berth/core/queue/queue_metrics.h"

namespace berth::queue {

class InFlight {
 public:
  struct Event {
    EventId id;
    EventSource source;
  };

  // `metrics` must outlive it.
  explicit InFlight(QueueMetrics& metrics) : metrics_(metrics) {}

  // From now on events are kept for `entry`.
  void Add(Entry* entry);
  // Forgets the pod, and events that no other pod in flight needs.
  void Remove(Entry* entry);

  // No effect when no pod is in flight.
  void Record(EventId id, const EventSource& source);

  // Whether events since `entry` was popped were dropped because there were too many.
  bool HasLostEvents(const Entry& entry) const { return entry.event_sequence < first_sequence_; }
  // The events since `entry` was popped, oldest first.
  auto EventsSince(const Entry& entry) const {
    return std::ranges::subrange(events_.begin() + Offset(entry), events_.end());
  }

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  std::size_t event_count() const { return events_.size(); }

 private:
  std::ptrdiff_t Offset(const Entry& entry) const {
    return HasLostEvents(entry) ? 0 : static_cast<std::ptrdiff_t>(entry.event_sequence - first_sequence_);
  }

  QueueMetrics& metrics_;
  std::deque<Event> events_;
  std::uint64_t first_sequence_ = 0;  // of events_.front()
  Entry* earliest_ = nullptr;
  Entry* latest_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace berth::queue
