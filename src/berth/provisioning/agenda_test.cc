// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/agenda.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::provisioning {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

constexpr Time kNow{1'800'000'000s};

TEST(AgendaTest, OfWhatIsDueTheOldestIsCheckedFirst) {
  Agenda agenda;
  agenda.Set("young", kNow + 2s, {.check = kNow});
  agenda.Set("old", kNow + 1s, {.check = kNow + 5s});
  EXPECT_EQ(agenda.FirstCheck(kNow - 1s), std::nullopt);
  EXPECT_EQ(agenda.NextCheck(), kNow);
  EXPECT_EQ(agenda.FirstCheck(kNow), "young");
  EXPECT_EQ(agenda.FirstCheck(kNow + 5s), "old") << "both are due";
  agenda.Set("old", kNow + 1s, {.is_asked = true});
  EXPECT_EQ(agenda.asked_count(), 1U);
  EXPECT_EQ(agenda.FirstCheck(kNow + 5s), "young");
  EXPECT_EQ(agenda.NextCheck(), kNow) << "it has been due since then";
  agenda.Remove("young");
  agenda.Remove("old");
  EXPECT_EQ(agenda.FirstCheck(kNow + 1h), std::nullopt);
  EXPECT_EQ(agenda.NextCheck(), std::nullopt);
  EXPECT_EQ(agenda.asked_count(), 0U);
}

// The plain form: a walk over all that is planned.
TEST(AgendaTest, IsWhatAWalkOverAllPlansFinds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](std::uint64_t bound) { return static_cast<int>(random.Next() % bound); };
    Agenda agenda;
    std::map<std::string, std::pair<Time, Plans>> all;
    Time now = kNow;
    for (int step = 0; step < 100; ++step) {
      now += std::chrono::seconds(below(3));
      const std::string key = "jobs/r" + std::to_string(below(12));
      if (below(5) == 0) {
        agenda.Remove(key);
        all.erase(key);
      } else {
        Plans plans;
        const auto time = [&] { return now + std::chrono::seconds(below(9) - 3); };
        if (below(2) == 0) plans.check = time();
        if (below(2) == 0) plans.end = time();
        if (below(2) == 0) plans.write = time();
        plans.is_asked = below(3) == 0;
        const Time created = all.contains(key) ? all[key].first : kNow + std::chrono::seconds(below(4));
        agenda.Set(key, created, plans);
        all[key] = {created, plans};
      }
      std::vector<std::pair<Time, std::string>> checks;
      Names ended;
      Names to_write;
      std::optional<Time> next_end;
      std::optional<Time> next_write;
      std::size_t asked = 0;
      const auto note = [](std::optional<Time>& earliest, Time time) {
        if (!earliest || time < *earliest) earliest = time;
      };
      for (const auto& [name, entry] : all) {
        const auto& [created, plans] = entry;
        if (plans.check && *plans.check <= now) checks.emplace_back(created, name);
        if (plans.end && *plans.end <= now) ended.push_back(name);
        if (plans.write && *plans.write <= now) to_write.push_back(name);
        if (plans.end) note(next_end, *plans.end);
        if (plans.write) note(next_write, *plans.write);
        asked += plans.is_asked ? 1 : 0;
      }
      std::ranges::sort(checks);
      EXPECT_EQ(agenda.FirstCheck(now), checks.empty() ? std::nullopt : std::optional(checks.front().second));
      EXPECT_EQ(agenda.Ended(now), ended);
      EXPECT_EQ(agenda.ToWrite(now), to_write);
      EXPECT_EQ(agenda.NextEnd(), next_end);
      EXPECT_EQ(agenda.NextWrite(), next_write);
      EXPECT_EQ(agenda.asked_count(), asked);
      EXPECT_EQ(agenda.NextCheck().has_value(),
                std::ranges::any_of(all, [](const auto& each) { return each.second.second.check.has_value(); }));
      if (!checks.empty()) {
        EXPECT_LE(*agenda.NextCheck(), now);
      }
    }
  }
}

}  // namespace
}  // namespace berth::provisioning
