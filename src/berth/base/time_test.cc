// SPDX-License-Identifier: Apache-2.0
#include "berth/base/time.h"

#include <atomic>
#include <chrono>
#include <ctime>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
std::atomic<std::time_t> wall_step_s{0};
}

// Replaces the C library's function in the whole program: simulates a machine whose clock was changed.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long failed = ::syscall(SYS_clock_gettime, clock, time);
  if (failed == 0 && clock == CLOCK_REALTIME) time->tv_sec += wall_step_s.load();
  return static_cast<int>(failed);
}

namespace berth {
namespace {

TEST(OptionalTime, IsAnOptionalInTheRoomOfATime) {
  static_assert(sizeof(OptionalTime) == sizeof(Time));
  const Time time{Duration{5}};
  const OptionalTime none, some = time;
  EXPECT_FALSE(none);
  EXPECT_TRUE(some.has_value());
  EXPECT_EQ(*some, time);
  EXPECT_EQ(none.value_or(time), time);
  EXPECT_EQ(some.value_or(Time{}), time);
  EXPECT_EQ(std::optional<Time>(none), std::nullopt);
  EXPECT_EQ(std::optional<Time>(some), time);
  EXPECT_EQ(OptionalTime(std::optional<Time>()), none);
  EXPECT_NE(some, none);
  // A time long before 1970 is still a time.
  EXPECT_TRUE(OptionalTime(Time{Duration{-1}}));
}

TEST(SystemClock, GoesOnWhenTheMachinesClockIsSet) {
  const SystemClock clock;
  EXPECT_LT(std::chrono::abs(clock.WallNow() - clock.Now()), std::chrono::minutes(1));
  for (const int hours : {-1, 2}) {
    const Time before = clock.Now();
    wall_step_s = hours * 3600;
    const Time after = clock.Now();
    const Duration ahead = clock.WallNow() - after;
    wall_step_s = 0;
    EXPECT_GE(after, before) << hours;
    EXPECT_LT(after - before, std::chrono::minutes(1)) << hours;
    EXPECT_LT(std::chrono::abs(ahead - std::chrono::hours(hours)), std::chrono::minutes(1)) << hours;
  }
}

TEST(Rfc3339, RoundTrips) {
  struct Case {
    const char* text;
    const char* seconds;
    const char* micros;
  };
  for (const Case& c : {Case{"2026-01-01T00:00:50Z", "2026-01-01T00:00:50Z", "2026-01-01T00:00:50.000000Z"},
                        Case{"2024-02-29T23:59:59.123456789Z", "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.123456Z"},
                        Case{"2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"},
                        Case{"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"}}) {
    const auto time = ParseRfc3339(c.text);
    ASSERT_TRUE(time) << c.text;
    EXPECT_EQ(FormatRfc3339(*time), c.seconds);
    EXPECT_EQ(FormatRfc3339Micro(*time), c.micros);
  }
}

// RFC 3339 has no such years, but a wrong clock may.
TEST(Rfc3339, FormatsOtherYearsToo) {
  using std::chrono::sys_days;
  EXPECT_EQ(FormatRfc3339(Time{sys_days{std::chrono::year{12345} / 6 / 7}}), "12345-06-07T00:00:00Z");
  EXPECT_EQ(FormatRfc3339(Time{sys_days{std::chrono::year{-44} / 3 / 15}}), "-044-03-15T00:00:00Z");
}

TEST(Rfc3339, RefusesWhatIsNone) {
  for (const char* text :
       {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00Zx"}) {
    EXPECT_FALSE(ParseRfc3339(text)) << text;
  }
}

TEST(GoDuration, ParsesAndPrints) {
  struct Case {
    const char* text;
    std::int64_t micros;
    const char* printed;
  };
  for (const Case& c : {Case{"0", 0, "0s"}, Case{"10s", 10'000'000, "10s"}, Case{"1.5h", 5'400'000'000, "1h30m0s"},
                        Case{"2h45m", 9'900'000'000, "2h45m0s"}, Case{"300ms", 300'000, "300ms"},
                        Case{"-1.5s", -1'500'000, "-1.5s"}, Case{"1us", 1, "1\xC2\xB5s"}}) {
    const auto duration = ParseGoDuration(c.text);
    ASSERT_TRUE(duration) << c.text;
    EXPECT_EQ(duration->count(), c.micros) << c.text;
    EXPECT_EQ(FormatGoDuration(*duration), c.printed);
  }
  for (const char* text : {"", "10", "s", "1x", "1s2", "99999999999999999h", "."})
    EXPECT_FALSE(ParseGoDuration(text)) << text;
}

}  // namespace
}  // namespace berth
