// SPDX-License-Identifier: Apache-2.0
// EventBacklog: the events that wait for the API server or are in flight, within bounds, and the series that count
// their repetitions. Not thread-safe: the recorder guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "berth/base/time.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/shell/client/event_room.h"
#include "berth/shell/client/event_series.h"

namespace berth::client {

// What one request does: it creates an event, or writes the count of its series.
struct QueuedEvent {
  bool is_patch = false;  // of the series' count
  std::string namespace_name;
  std::string name;
  Event event;     // of a creation
  Time made_at{};  // of a creation
  bool was_protobuf = false;
  SeriesKey key;
  std::uint64_t series_id = 0;
  std::int64_t count = 0;  // of a patch
  Time observed_at{};      // of a patch
  int failures = 0;        // answers of the server that were failures

  // About what it holds.
  std::size_t Bytes() const;
};

class EventBacklog {
 public:
  // Of the options it takes the bounds, and the times of a series.
  explicit EventBacklog(const EventRecorderOptions& options);

  // Queues an event, or counts it on the earlier one that it repeats; `key` is its KeyOf(). False when it is dropped,
  // since too many wait: `event` is unchanged then.
  bool Record(Event& event, const SeriesKey& key, Time now, Time wall_now);
  // The API server has taken it.
  void RecordSent(const QueuedEvent& item, Time now);
  // It will not be sent again. A repetition makes a new event.
  void GiveUp(const QueuedEvent& item);
  // Ends the series that have been idle, and queues the counts that are due.
  void Sweep(Time now);

  // What has been queued since the last call.
  std::deque<std::shared_ptr<QueuedEvent>> TakeNew() { return std::exchange(new_, {}); }

  std::size_t new_count() const { return new_.size(); }
  std::size_t count() const { return room_.count(); }
  bool has_series() const { return series_.size() > 0; }
  EventRecorderStats Stats() const;

 private:
  using Series = EventSeries::Series;

  void Repeat(Series& series, const SeriesKey& key, Time now);
  void Create(Event& event, const SeriesKey& key, Time now, Time wall_now);
  std::string UniqueName(const ObjectReference& regarding, Time wall_now);
  void Remember(const QueuedEvent& item, Time now);
  void Patch(Series& series, const SeriesKey& key, Time now);
  void EndSeries(Series& series, Time now);
  void Push(QueuedEvent item);

  const std::size_t series_max_;
  const Duration series_idle_;
  const Duration series_refresh_;
  EventRoom room_;
  EventSeries series_;
  std::deque<std::shared_ptr<QueuedEvent>> new_;
  std::uint64_t name_ns_ = 0;  // the last name's
  EventRecorderStats stats_;   // `queued` aside
};

}  // namespace berth::client
