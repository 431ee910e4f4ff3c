// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/unclaimed_pods.h"

#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using namespace std::chrono_literals;

TEST(NearMiss, IsASlipOfThePen) {
  const std::vector<std::string> names = {"berth", "best-price", "default-scheduler"};
  struct Case {
    const char* name;
    const char* want;
  };
  const Case cases[] = {{"berht", ""},  // two letters differ in a name of five
                        {"bert", "berth"},
                        {"berth2", "berth"},
                        {"best_price", "best-price"},
                        {"bestprice", "best-price"},
                        {"defualt-scheduler", "default-scheduler"},
                        {"volcano", ""},
                        {"", ""},
                        {"berth", ""}};
  for (const Case& c : cases) EXPECT_EQ(NearMiss(c.name, names), c.want) << c.name;
}

TEST(UnclaimedPods, AreReportedOnceAfterAWhile) {
  Harness h(DefaultProfiles({"best-price"}));
  h.Set(testing::MakePod("p").Uid("u").SchedulerName("bestprice"));
  h.Set(testing::MakePod("q").SchedulerName("volcano"));
  h.Run();
  EXPECT_EQ(h.Take(), Lines{});
  ASSERT_TRUE(h.core.NextWake());
  h.now += 29s;
  h.core.Tick(h.now);
  EXPECT_EQ(h.Take(), Lines{});
  h.now += 1s;
  h.core.Tick(h.now);
  EXPECT_EQ(h.Take(), (Lines{"Warning UnknownScheduler p: no scheduler has said anything about this pod: schedulerName "
                             "is \"bestprice\", the nearest that berth takes is \"best-price\" (of best-price)"}));
  h.Set(testing::MakePod("p").Uid("u").SchedulerName("bestprice").Label("a", "b"));
  h.now += 60s;
  h.core.Tick(h.now);
  EXPECT_EQ(h.Take(), Lines{}) << "once";
}

TEST(UnclaimedPods, AreForgottenWhenSomebodyTakesThem) {
  Harness h(DefaultProfiles({"best-price"}));
  h.Set(testing::MakePod("bound").Uid("1").SchedulerName("bestprice"));
  h.Set(testing::MakePod("gone").Uid("2").SchedulerName("bestprice"));
  auto refused = testing::MakePod("refused").Uid("3").SchedulerName("bestprice");
  h.Set(refused);
  h.Set(testing::MakePod("bound").Uid("1").SchedulerName("bestprice").Node("a"));
  h.core.Handle(PodGone{"default", "gone", "2"}, h.now);
  auto known = std::make_shared<api::Pod>(refused.Build());
  known->status.conditions.push_back({"PodScheduled", "False", "Unschedulable", "by another scheduler"});
  h.core.Handle(PodSet{known}, h.now);
  h.now += 60s;
  h.core.Tick(h.now);
  EXPECT_EQ(h.Take(), Lines{});
}

}  // namespace
}  // namespace berth::scheduler
