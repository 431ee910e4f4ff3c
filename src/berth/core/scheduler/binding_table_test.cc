// SPDX-License-Identifier: Apache-2.0
// BindingTable: a cycle is found by pod, operation and deadline until Take(), and not afterwards.
#include "berth/core/scheduler/binding_table.h"

#include <memory>
#include <string>
#include <utility>

#include "berth/core/scheduler/core_state_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakePod;

class BindingTableTest : public CoreStateTest {
 protected:
  BindingCycle& Add(const std::string& name) {
    const testing::PodBuilder pod = MakePod(name);
    return table_.Add(profile(), queue::QueuedPodInfo{.pod = Info(pod)}, Info(testing::PodBuilder(pod).Node("a")));
  }
  Time At(Duration after) { return state().now + after; }

  BindingTable table_{1s, 10s};
};

TEST_F(BindingTableTest, FindsByPodAndByTheLatestOperation) {
  BindingCycle& p = Add("p");
  BindingCycle& q = Add("q");
  EXPECT_EQ(table_.size(), 2u);
  EXPECT_EQ(table_.Find("uid-default-p"), &p);
  EXPECT_EQ(table_.Find("uid-default-x"), nullptr);
  table_.SetOperation(p, 1, At(0s));
  table_.SetOperation(p, 2, At(0s));
  table_.SetOperation(q, 3, At(0s));
  EXPECT_EQ(table_.TakeByOperation(1), nullptr) << "p waits for its second operation";
  EXPECT_EQ(table_.TakeByOperation(2), &p);
  EXPECT_EQ(table_.TakeByOperation(2), nullptr) << "once";
  EXPECT_EQ(p.operation, 0u);
  EXPECT_EQ(table_.TakeByOperation(3), &q);
}

TEST_F(BindingTableTest, DeadlinesComeInTheirOrder) {
  BindingCycle& p = Add("p");
  BindingCycle& q = Add("q");
  table_.AddDeadline(At(2s), p);
  table_.AddDeadline(At(1s), q);
  EXPECT_EQ(table_.NextDeadline(), At(1s));
  EXPECT_EQ(table_.TakeDue(At(0s)), nullptr);
  EXPECT_EQ(table_.TakeDue(At(2s)), &q);
  EXPECT_EQ(table_.TakeDue(At(2s)), &p);
  EXPECT_EQ(table_.TakeDue(At(2s)), nullptr);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

TEST_F(BindingTableTest, OfTwoPermitWaitsUntilOneMomentTheOtherKeepsTheDeadline) {
  BindingCycle& p = Add("p");
  p.permits = {{"X", 1s, At(1s)}, {"Y", 1s, At(1s)}};
  for (const PermitWait& wait : p.permits) table_.AddDeadline(wait.deadline, p);
  EXPECT_FALSE(table_.EndPermitWait(p, "Z"));
  EXPECT_TRUE(table_.EndPermitWait(p, "X"));
  EXPECT_EQ(table_.NextDeadline(), At(1s));
  EXPECT_TRUE(table_.EndPermitWait(p, "Y"));
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

TEST_F(BindingTableTest, IsBusyUntilItIsAnsweredOrLate) {
  BindingCycle& p = Add("p");
  BindingCycle& q = Add("q");
  BindingCycle& r = Add("r");
  table_.SetOperation(p, 1, At(0s));
  table_.SetOperation(q, 2, At(0s));
  table_.SetOperation(r, 3, At(0s), true);
  EXPECT_EQ(table_.busy_count(), 2u) << "r only waits for time to pass";
  EXPECT_EQ(table_.TakeByOperation(2), &q);
  EXPECT_EQ(table_.busy_count(), 1u);
  EXPECT_EQ(table_.TakeLate(At(999ms)), nullptr);
  EXPECT_EQ(table_.NextDeadline(), At(1s));
  EXPECT_EQ(table_.TakeLate(At(1s)), &p);
  EXPECT_EQ(table_.TakeLate(At(1s)), nullptr);
  EXPECT_EQ(table_.busy_count(), 0u);
  EXPECT_EQ(table_.NextDeadline(), At(10s));
  EXPECT_EQ(table_.TakeVeryLate(At(9s)), nullptr);
  EXPECT_EQ(table_.TakeVeryLate(At(10s)), &p);
  EXPECT_EQ(table_.TakeVeryLate(At(10s)), nullptr);
  EXPECT_EQ(table_.TakeByOperation(1), &p) << "it is still waited for";
  EXPECT_EQ(table_.busy_count(), 0u);
}

TEST_F(BindingTableTest, CountsInDoubtCyclesByNamespace) {
  BindingCycle& p = Add("p");
  BindingCycle& q = Add("q");
  table_.SetInDoubt(p);
  table_.SetInDoubt(p);
  table_.SetInDoubt(q);
  EXPECT_EQ(table_.InDoubtOf("default").cycles, 2u);
  EXPECT_EQ(table_.InDoubtOf("other").cycles, 0u);
  table_.Take(p);
  table_.Take(q);
  EXPECT_EQ(table_.InDoubtOf("default").cycles, 0u);
}

TEST_F(BindingTableTest, WhatIsTakenOutIsFoundByNothing) {
  BindingCycle& p = Add("p");
  p.permits = {{"X", 1s, At(1s)}};
  table_.AddDeadline(At(1s), p);
  p.is_waiting_to_read = true;
  p.read_at = At(2s);
  table_.AddDeadline(At(2s), p);
  table_.SetOperation(p, 1, At(0s));
  std::unique_ptr<BindingCycle> taken = table_.Take(p);
  EXPECT_EQ(taken.get(), &p);
  EXPECT_EQ(table_.Find("uid-default-p"), nullptr);
  EXPECT_EQ(table_.TakeByOperation(1), nullptr);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  EXPECT_TRUE(table_.AssumedPods().empty());

  table_.Recycle(std::move(taken));
  BindingCycle& q = Add("q");
  EXPECT_EQ(&q, &p) << "its memory is used again";
  EXPECT_TRUE(q.permits.empty());
  EXPECT_FALSE(q.is_waiting_to_read);
}

}  // namespace
}  // namespace berth::scheduler
