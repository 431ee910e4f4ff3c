// SPDX-License-Identifier: Apache-2.0
// EventSeries: the events that were recorded lately, so that a repetition is counted on the first one instead of being
// sent. The oldest one goes first. Not thread-safe: the recorder guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "berth/base/time.h"
#include "berth/shell/client/event_recorder.h"

namespace berth::client {

// What makes two events the same, in 128 bits: a collision would add one event to another's count.
struct SeriesKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const SeriesKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H state, const SeriesKey& key) {
    return H::combine(std::move(state), key.high, key.low);
  }
};

// All of an event but its note.
SeriesKey KeyOf(const Event& event);

class EventSeries {
 public:
  struct Series {
    std::uint64_t id = 0;  // unique, while a key may come again
    std::string namespace_name;
    std::string name;
    std::int64_t count = 1;
    std::int64_t count_sent = 1;  // as the API server has it, or will have it when the queue is empty
    Time observed_at{};
    Time sent_at{};
    bool is_created = false;
  };

  // Null when there is none. With an id it finds this very series, and not a later one with the same key.
  Series* Find(const SeriesKey& key);
  Series* Find(const SeriesKey& key, std::uint64_t id);
  void Add(const SeriesKey& key, Series series);
  void Erase(const SeriesKey& key) { series_.erase(key); }
  // Removes the oldest series and returns it.
  std::optional<Series> PopOldest();
  // Calls `keeps` with each series, the oldest first, and erases those for which it returns false.
  void Sweep(const std::function<bool(const SeriesKey& key, Series& series)>& keeps);

  std::size_t size() const { return series_.size(); }
  std::uint64_t NewId() { return id_next_++; }

 private:
  absl::flat_hash_map<SeriesKey, Series> series_;
  // Keys with ids, the oldest first; erased series may still be in it.
  std::deque<std::pair<SeriesKey, std::uint64_t>> order_;
  std::uint64_t id_next_ = 1;
};

}  // namespace berth::client
