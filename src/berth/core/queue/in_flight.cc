// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/in_flight.h"

namespace berth::queue {

void InFlight::Add(Entry* entry) {
  entry->place = Place::kInFlight;
  entry->event_sequence = first_sequence_ + events_.size();
  entry->earlier = latest_;
  entry->later = nullptr;
  (latest_ == nullptr ? earliest_ : latest_->later) = entry;
  latest_ = entry;
  ++count_;
}

void InFlight::Remove(Entry* entry) {
  (entry->earlier == nullptr ? earliest_ : entry->earlier->later) = entry->later;
  (entry->later == nullptr ? latest_ : entry->later->earlier) = entry->earlier;
  entry->earlier = entry->later = nullptr;
  entry->place = kNowhere;
  --count_;
  while (!events_.empty() && (earliest_ == nullptr || first_sequence_ < earliest_->event_sequence)) {
    metrics_.ObserveInFlight(events_.front().id, -1);
    events_.pop_front();
    ++first_sequence_;
  }
}

void InFlight::Record(EventId id, const EventSource& source) {
  if (count_ == 0) return;
  if (events_.size() >= SchedulingQueue::kInFlightEventsMax) {
    first_sequence_ += events_.size();
    for (const Event& event : events_) metrics_.ObserveInFlight(event.id, -1);
    events_.clear();
  }
  events_.push_back({id, source});
  metrics_.ObserveInFlight(id, +1);
}

}  // namespace berth::queue
