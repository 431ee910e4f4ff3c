// SPDX-License-Identifier: Apache-2.0
// IdleSweep: data that no pod has used for a whole period is dropped, and then no timer is left.
#include "berth/core/scheduler/idle_sweep.h"

#include "berth/core/scheduler/core_state_testing.h"

namespace berth::scheduler {
namespace {

class IdleSweepTest : public CoreStateTest {
 protected:
  void Pass(IdleSweep& sweep, Duration time) {
    state().now += time;
    sweep.Tick();
  }
};

TEST_F(IdleSweepTest, TwoPeriodsAfterTheLastCycleNothingIsLeftToDo) {
  IdleSweep sweep(state());
  EXPECT_EQ(sweep.NextWake(), std::nullopt) << "nothing is kept before the first cycle";
  state().MakePodInfo(*Object(testing::MakePod("p")));
  EXPECT_EQ(state().classes.size(), 1u);
  sweep.RecordCycle();
  const Time began = state().now;
  Pass(sweep, IdleSweep::kPeriod - 1s);
  sweep.RecordCycle();
  EXPECT_EQ(sweep.NextWake(), began + IdleSweep::kPeriod) << "a cycle does not put the sweep off";
  EXPECT_EQ(state().classes.size(), 1u);
  Pass(sweep, 1s);
  EXPECT_EQ(state().classes.size(), 0u) << "a class without a pod is swept";
  EXPECT_EQ(sweep.NextWake(), state().now + IdleSweep::kPeriod);
  Pass(sweep, IdleSweep::kPeriod);
  EXPECT_EQ(sweep.NextWake(), std::nullopt);
}

TEST_F(IdleSweepTest, LargePodsAreSweptSoon) {
  IdleSweep sweep(state());
  sweep.RecordCycle();
  Pass(sweep, 20s);
  sweep.RecordCycle(true);
  const Time began = state().now;
  EXPECT_EQ(sweep.NextWake(), began + IdleSweep::kPeriodAfterLargePods);
  Pass(sweep, 5s);
  sweep.RecordCycle(true);
  EXPECT_EQ(sweep.NextWake(), began + IdleSweep::kPeriodAfterLargePods) << "one after the other does not put it off";
  Pass(sweep, 5s);
  EXPECT_EQ(sweep.NextWake(), state().now + IdleSweep::kPeriodAfterLargePods);
  Pass(sweep, 10s);
  EXPECT_EQ(state().counts.sweeps_of_large_pods, 2u);
  EXPECT_EQ(sweep.NextWake(), std::nullopt);
}

}  // namespace
}  // namespace berth::scheduler
