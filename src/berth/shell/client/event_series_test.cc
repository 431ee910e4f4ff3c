// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_series.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::client {
namespace {

Event Scheduled(std::string pod) {
  Event event;
  event.reason = "Scheduled";
  event.action = "Binding";
  event.note = "Successfully assigned";
  event.regarding.name = std::move(pod);
  event.scheduler_name = "berth";
  return event;
}

EventSeries::Series Named(EventSeries& all, std::string name) {
  EventSeries::Series series;
  series.id = all.NewId();
  series.name = std::move(name);
  return series;
}

std::vector<std::string> NamesBySweep(EventSeries& all, const std::string& erased = {}) {
  std::vector<std::string> names;
  all.Sweep([&](const SeriesKey&, EventSeries::Series& series) {
    names.push_back(series.name);
    return series.name != erased;
  });
  return names;
}

TEST(EventSeries, TheNoteAloneDoesNotDistinguishEvents) {
  const struct {
    const char* name;
    void (*change)(Event&);
    bool is_same;
  } kCases[] = {
      {"note", [](Event& e) { e.note = "another"; }, true},
      {"type", [](Event& e) { e.is_warning = true; }, false},
      {"reason", [](Event& e) { e.reason = "FailedScheduling"; }, false},
      {"action", [](Event& e) { e.action = "Scheduling"; }, false},
      {"scheduler", [](Event& e) { e.scheduler_name = "other"; }, false},
      {"version of the pod", [](Event& e) { e.regarding.resource_version = "7"; }, false},
      {"related", [](Event& e) { e.related = ObjectReference{}; }, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Event other = Scheduled("a");
    c.change(other);
    EXPECT_EQ(KeyOf(Scheduled("a")) == KeyOf(other), c.is_same);
  }
}

TEST(EventSeries, AnIdFindsThisVerySeries) {
  EventSeries all;
  const SeriesKey key = KeyOf(Scheduled("a"));
  const auto first = Named(all, "first");
  const auto second = Named(all, "second");
  all.Add(key, first);
  all.Add(key, second);
  EXPECT_EQ(all.Find(key, first.id), nullptr);
  ASSERT_NE(all.Find(key, second.id), nullptr);
  EXPECT_EQ(all.Find(key)->name, "second");
  EXPECT_EQ(all.size(), 1U);
}

TEST(EventSeries, TheOldestGoesFirst) {
  EventSeries all;
  for (const char* name : {"a", "b", "c"}) all.Add(KeyOf(Scheduled(name)), Named(all, name));
  all.Erase(KeyOf(Scheduled("b")));
  EXPECT_EQ(all.PopOldest()->name, "a");
  EXPECT_EQ(all.PopOldest()->name, "c");
  EXPECT_FALSE(all.PopOldest());
}

TEST(EventSeries, ASweepErasesWhatIsNotKept) {
  EventSeries all;
  for (const char* name : {"a", "b", "c"}) all.Add(KeyOf(Scheduled(name)), Named(all, name));
  EXPECT_EQ(NamesBySweep(all, "b"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(NamesBySweep(all), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(all.Find(KeyOf(Scheduled("b"))), nullptr);
}

}  // namespace
}  // namespace berth::client
