// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/work_report.h"

#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::app {
namespace {

using namespace std::chrono_literals;

TEST(WorkReport, SaysWhenItHasSyncedAndWhatAMinuteBrought) {
  client::FakeLoop loop;
  bool has_synced = false;
  scheduler::Counts counts;
  std::vector<WorkReport::Synced> synced;
  std::vector<WorkReport::Minute> minutes;
  const auto report = std::make_shared<WorkReport>(
      loop,
      WorkReport::Sources{[&] { return has_synced; }, [&] { return counts; },
                          [] { return WorkReport::Sizes{3, 40, 2}; },
                          [](const auto& done) { done(R"({"major":"1","gitVersion":"v1.36.3"})"); }},
      WorkReport::Sinks{[&](const auto& each) { synced.push_back(each); },
                        [&](const auto& each) { minutes.push_back(each); }});
  report->Start();
  loop.Advance(5min);
  EXPECT_TRUE(synced.empty());
  has_synced = true;
  counts.scheduled = 7;
  loop.Advance(2s);
  ASSERT_EQ(synced.size(), 1u);
  EXPECT_EQ(synced[0].sizes, (WorkReport::Sizes{3, 40, 2}));
  EXPECT_EQ(synced[0].api_server, "v1.36.3");
  loop.Advance(1min);
  ASSERT_EQ(minutes.size(), 1u);
  EXPECT_EQ(minutes[0].scheduled, 7u);
  loop.Advance(3min);
  EXPECT_EQ(minutes.size(), 1u) << "nothing was done";
  counts.scheduled = 9;
  counts.errors = 1;
  loop.Advance(1min);
  ASSERT_EQ(minutes.size(), 2u);
  EXPECT_EQ(minutes[1].scheduled, 2u);
  EXPECT_EQ(minutes[1].errors, 1u);
  EXPECT_EQ(synced.size(), 1u);
}

}  // namespace
}  // namespace berth::app
