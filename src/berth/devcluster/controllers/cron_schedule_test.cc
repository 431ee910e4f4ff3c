// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/cron_schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::controllers {
namespace {

Time At(const std::string& text) { return *ParseRfc3339(text); }
std::string Next(const char* schedule, const std::string& after) {
  const auto parsed = CronSchedule::Parse(schedule);
  EXPECT_TRUE(parsed.ok()) << schedule;
  const auto next = parsed->Next(At(after));
  return next ? FormatRfc3339(*next) : "never";
}

TEST(CronSchedule, NextTimes) {
  EXPECT_EQ(Next("* * * * *", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(Next("* * * * *", "2026-01-01T00:00:59Z"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(Next("*/15 * * * *", "2026-01-01T00:16:00Z"), "2026-01-01T00:30:00Z");
  EXPECT_EQ(Next("5/20 * * * *", "2026-01-01T00:26:00Z"), "2026-01-01T00:45:00Z");
  EXPECT_EQ(Next("30 2 * * *", "2026-01-01T03:00:00Z"), "2026-01-02T02:30:00Z");
  EXPECT_EQ(Next("0 0 31 * *", "2026-04-01T00:00:00Z"), "2026-05-31T00:00:00Z");
  EXPECT_EQ(Next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(Next("0 0 30 2 *", "2026-01-01T00:00:00Z"), "never");
  EXPECT_EQ(Next("0 9 * * MON-FRI", "2026-01-02T10:00:00Z"), "2026-01-05T09:00:00Z");  // a Friday
  EXPECT_EQ(Next("0 0 1 JAN,jul *", "2026-02-01T00:00:00Z"), "2026-07-01T00:00:00Z");
  // Day and weekday: either, unless one of them is a star.
  EXPECT_EQ(Next("0 0 10 * 1", "2026-01-01T00:00:00Z"), "2026-01-05T00:00:00Z");
  EXPECT_EQ(Next("0 0 3 * 1", "2026-01-01T00:00:00Z"), "2026-01-03T00:00:00Z");
  EXPECT_EQ(Next("@hourly", "2026-01-01T00:10:00Z"), "2026-01-01T01:00:00Z");
  EXPECT_EQ(Next("@weekly", "2026-01-01T00:10:00Z"), "2026-01-04T00:00:00Z");
  EXPECT_EQ(Next("@every 90s", "2026-01-01T00:00:10Z"), "2026-01-01T00:01:40Z");
}

TEST(CronSchedule, LastTimes) {
  const auto last = [](const char* schedule, const char* from, const char* until) {
    const auto time = CronSchedule::Parse(schedule)->Last(At(from), At(until));
    return time ? FormatRfc3339(*time) : "never";
  };
  EXPECT_EQ(last("* * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:30Z"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(last("0 0 1 1 *", "2020-01-01T00:00:00Z", "2026-12-31T00:00:00Z"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(last("0 0 1 1 *", "2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z"), "never");
  EXPECT_EQ(last("*/5 * * * *", "2026-01-01T00:01:00Z", "2026-01-01T00:04:59Z"), "never");
  EXPECT_EQ(last("*/5 * * * *", "2026-01-01T00:01:00Z", "2026-01-01T00:05:00Z"), "2026-01-01T00:05:00Z");
  EXPECT_EQ(last("@every 1m", "2026-01-01T00:00:00Z", "2026-01-01T00:02:30Z"), "2026-01-01T00:02:00Z");
}

TEST(CronSchedule, WhatIsNone) {
  const auto message = [](const char* schedule) {
    const auto parsed = CronSchedule::Parse(schedule);
    return parsed.ok() ? "none" : parsed.error().message;
  };
  EXPECT_EQ(message("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(message("60 * * * *"), "minute: \"60\" is not within 0 and 59");
  EXPECT_EQ(message("* * 0 * *"), "day of month: \"0\" is not within 1 and 31");
  EXPECT_EQ(message("* * * * 7"), "day of week: \"7\" is not within 0 and 6");
  EXPECT_EQ(message("5-2 * * * *"), "minute: \"5-2\" is not within 0 and 59");
  EXPECT_EQ(message("a * * * *"), "minute: \"a\" is no number");
  EXPECT_EQ(message("*/0 * * * *"), "minute: a step must be above 0");
  for (const char* none : {"", "@never", "@every x", "@every 0s", ", * * * *", "*/ * * * *", "1- * * * *"}) {
    EXPECT_NE(message(none), "none") << none;
  }
}

}  // namespace
}  // namespace berth::controllers
