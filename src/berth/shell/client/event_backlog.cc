// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_backlog.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "berth/base/utf8.h"

namespace berth::client {
namespace {

// What the API server accepts.
constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kNoteBytesMax = 1024;

std::string Hex(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

// Where the event is stored.
std::string_view NamespaceOf(const Event& event) {
  return event.regarding.namespace_name.empty() ? std::string_view("default") : event.regarding.namespace_name;
}

// Cuts as kube-scheduler does: the mark of the cut is within the bytes that the API server accepts.
std::string CutNote(std::string note) {
  constexpr std::string_view kMark = " ...";
  if (note.size() <= kNoteBytesMax) return note;
  return std::string(CutUtf8(note, kNoteBytesMax - kMark.size())) + std::string(kMark);
}

}  // namespace

std::size_t QueuedEvent::Bytes() const {
  std::size_t bytes =
      sizeof(QueuedEvent) + namespace_name.size() + name.size() + event.note.size() + event.reason.size();
  // Names are in the event and in the key.
  for (const std::string* text : {&event.regarding.name, &event.regarding.uid, &event.regarding.namespace_name,
                                  &event.regarding.resource_version})
    bytes += 2 * text->size();
  return bytes;
}

EventBacklog::EventBacklog(const EventRecorderOptions& options)
    : series_max_(options.series_max),
      series_idle_(options.series_idle),
      series_refresh_(options.series_refresh),
      room_(options.queue_max, options.queue_bytes_max) {}

bool EventBacklog::Record(Event& event, const SeriesKey& key, Time now, Time wall_now) {
  ++stats_.recorded;
  if (Series* known = series_.Find(key)) {
    if (now - known->observed_at < series_idle_) {
      Repeat(*known, key, now);
      return true;
    }
    EndSeries(*known, now);
    series_.Erase(key);
  }
  if (room_.IsFullFor(NamespaceOf(event))) {
    ++stats_.dropped;
    return false;
  }
  Create(event, key, now, wall_now);
  return true;
}

void EventBacklog::RecordSent(const QueuedEvent& item, Time now) {
  ++stats_.sent;
  if (Series* series = item.is_patch ? nullptr : series_.Find(item.key, item.series_id)) {
    series->is_created = true;
    if (series->count > 1 && !room_.IsFullFor(item.namespace_name)) Patch(*series, item.key, now);
  }
  room_.GiveBack(item.namespace_name, item.Bytes());
}

void EventBacklog::GiveUp(const QueuedEvent& item) {
  ++stats_.refused;
  if (series_.Find(item.key, item.series_id) != nullptr) series_.Erase(item.key);
  room_.GiveBack(item.namespace_name, item.Bytes());
}

void EventBacklog::Sweep(Time now) {
  series_.Sweep([&](const SeriesKey& key, Series& series) {
    if (now - series.observed_at >= series_idle_) {
      EndSeries(series, now);
      return false;
    }
    const bool is_due =
        series.is_created && series.count > series.count_sent && now - series.sent_at >= series_refresh_;
    if (is_due && !room_.IsFullFor(series.namespace_name)) Patch(series, key, now);
    return true;
  });
}

EventRecorderStats EventBacklog::Stats() const {
  EventRecorderStats stats = stats_;
  stats.queued = count();
  return stats;
}

void EventBacklog::Repeat(Series& series, const SeriesKey& key, Time now) {
  ++series.count;
  series.observed_at = now;
  // The first repetition makes it a series, and is written at once; later ones wait for the next refresh. While the
  // event itself is still on its way, RecordSent() writes the count.
  if (series.count_sent == 1 && series.is_created && !room_.IsFullFor(series.namespace_name)) {
    Patch(series, key, now);
  } else {
    ++stats_.counted;
  }
}

void EventBacklog::Create(Event& event, const SeriesKey& key, Time now, Time wall_now) {
  QueuedEvent item;
  item.key = key;
  item.series_id = series_.NewId();
  item.namespace_name = NamespaceOf(event);
  item.name = UniqueName(event.regarding, wall_now);
  item.made_at = now;
  item.event = std::move(event);
  item.event.note = CutNote(std::move(item.event.note));
  Remember(item, now);
  Push(std::move(item));
}

// Two events of one object within a nanosecond of the clock still differ.
std::string EventBacklog::UniqueName(const ObjectReference& regarding, Time wall_now) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(wall_now.time_since_epoch()).count();
  name_ns_ = std::max(name_ns_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
  const std::string suffix = '.' + Hex(name_ns_);
  const bool is_too_long = regarding.name.size() + suffix.size() > kNameBytesMax;
  return (is_too_long ? regarding.uid : regarding.name) + suffix;
}

void EventBacklog::Remember(const QueuedEvent& item, Time now) {
  while (series_.size() >= series_max_) {
    auto oldest = series_.PopOldest();
    if (!oldest) break;
    EndSeries(*oldest, now);
  }
  if (series_max_ == 0) return;
  Series series;
  series.id = item.series_id;
  series.namespace_name = item.namespace_name;
  series.name = item.name;
  series.observed_at = now;
  series.sent_at = now;
  series_.Add(item.key, std::move(series));
}

void EventBacklog::Patch(Series& series, const SeriesKey& key, Time now) {
  QueuedEvent item;
  item.is_patch = true;
  item.key = key;
  item.series_id = series.id;
  item.namespace_name = series.namespace_name;
  item.name = series.name;
  item.count = series.count;
  item.observed_at = series.observed_at;
  series.count_sent = series.count;
  series.sent_at = now;
  Push(std::move(item));
}

// Queues the final count, if the API server does not have it.
void EventBacklog::EndSeries(Series& series, Time now) {
  const bool is_news = series.is_created && series.count > series.count_sent;
  if (is_news && !room_.IsFullFor(series.namespace_name)) Patch(series, {}, now);
}

void EventBacklog::Push(QueuedEvent item) {
  room_.Take(item.namespace_name, item.Bytes());
  new_.push_back(std::make_shared<QueuedEvent>(std::move(item)));
}

}  // namespace berth::client
