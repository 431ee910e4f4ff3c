// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_series.h"

#include <functional>
#include <string_view>

namespace berth::client {

SeriesKey KeyOf(const Event& event) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    text += part;
    text += '\n';
  };
  const auto add_reference = [&add](const ObjectReference& r) {
    for (const auto* part : {&r.api_version, &r.kind, &r.namespace_name, &r.name, &r.uid, &r.resource_version})
      add(*part);
  };
  add(event.is_warning ? "W" : "N");
  add(event.action);
  add(event.reason);
  add(event.scheduler_name);
  add_reference(event.regarding);
  if (event.related) add_reference(*event.related);
  const std::uint64_t low = std::hash<std::string_view>{}(text);
  text += '!';
  return {std::hash<std::string_view>{}(text), low};
}

EventSeries::Series* EventSeries::Find(const SeriesKey& key) {
  const auto found = series_.find(key);
  return found == series_.end() ? nullptr : &found->second;
}

EventSeries::Series* EventSeries::Find(const SeriesKey& key, std::uint64_t id) {
  Series* series = Find(key);
  return series != nullptr && series->id == id ? series : nullptr;
}

void EventSeries::Add(const SeriesKey& key, Series series) {
  order_.emplace_back(key, series.id);
  series_.insert_or_assign(key, std::move(series));
}

std::optional<EventSeries::Series> EventSeries::PopOldest() {
  while (!order_.empty()) {
    const auto [key, id] = order_.front();
    order_.pop_front();
    Series* oldest = Find(key, id);
    if (oldest == nullptr) continue;
    Series series = std::move(*oldest);
    series_.erase(key);
    return series;
  }
  return std::nullopt;
}

void EventSeries::Sweep(const std::function<bool(const SeriesKey& key, Series& series)>& keeps) {
  std::deque<std::pair<SeriesKey, std::uint64_t>> order;
  for (const auto& [key, id] : std::exchange(order_, {})) {
    Series* series = Find(key, id);
    if (series == nullptr) continue;
    if (keeps(key, *series)) {
      order.emplace_back(key, id);
    } else {
      series_.erase(key);
    }
  }
  order_ = std::move(order);
}

}  // namespace berth::client
