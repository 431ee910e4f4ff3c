// SPDX-License-Identifier: Apache-2.0
// Nomination moves through a whole core. The API server never shows the nominations here, as if their writes were still
// under way.
#include "berth/core/scheduler/nomination_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using testing::MakeNode;
using testing::MakePod;

const testing::PodBuilder kVictim = MakePod("v").Request("cpu", "3").Node("a");
const testing::PodBuilder kPreemptor = MakePod("p").Request("cpu", "4").Priority(10);
// Fits on "a" beside the victim, except for the room kept for the preemptor.
const testing::PodBuilder kOther = MakePod("other").Request("cpu", "1").Request("memory", "1Gi");

bool IsBound(const Lines& lines) { return std::find(lines.begin(), lines.end(), "bind other to a") != lines.end(); }

TEST(NominationMoves, PodsThatWaitForTheRoomTryAgainWhenTheNominationEnds) {
  const struct {
    const char* name;
    void (*end)(Harness& h);
  } cases[] = {
      {"the pod finds another node",
       [](Harness& h) {
         h.Answer();
         h.Answer();
         h.Set(testing::PodBuilder(kVictim).Deleted(h.now));
         h.Set(MakeNode("b").Allocatable("cpu", "4").Allocatable("memory", "1Mi"));
       }},
      {"somebody binds it to another node",
       [](Harness& h) {
         h.Set(MakeNode("b").Allocatable("cpu", "1").Allocatable("memory", "1Mi"));
         h.Set(testing::PodBuilder(kPreemptor).Node("b"));
       }},
      {"it is deleted", [](Harness& h) { h.Remove(kPreemptor); }},
      // The preemptor backs off for longer than the other pod, which therefore tries first and finds the room still
      // kept.
      {"nobody is left that it may preempt",
       [](Harness& h) {
         h.Remove(kVictim);
         h.Set(MakePod("important").Request("cpu", "3").Priority(20).Node("a"));
       }},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Harness h;
    h.Set(MakeNode("a"));
    h.Set(kVictim);
    h.Set(kPreemptor);
    for (int i = 0; i < 3; ++i) {
      h.Run();
      EXPECT_EQ(h.Take().back(), "patch v");
      EXPECT_EQ(h.core.queue().nominator().NominatedNode("uid-default-p"), "a");
      if (i < 2) h.Answer(Error{ErrorCode::kForbidden, "no"});
    }
    h.Set(kOther);
    h.Run();
    EXPECT_FALSE(IsBound(h.Take()));
    ASSERT_EQ(h.core.queue().Find("uid-default-other")->place, queue::Place::kUnschedulable);
    test.end(h);
    h.Run(30s);
    EXPECT_TRUE(IsBound(h.Take()));
  }
}

TEST(NominationMoves, APodThatGoesWhereItIsNominatedMovesNobody) {
  Harness h;
  h.Set(MakeNode("a"));
  h.Set(kVictim);
  h.Set(kPreemptor);
  h.Run();
  h.Set(kOther);
  h.Run();
  h.Answer();
  h.Answer();
  h.Take();
  h.Remove(kVictim);
  h.Run(10s);
  const Lines lines = h.Take();
  EXPECT_NE(std::find(lines.begin(), lines.end(), "bind p to a"), lines.end());
  const auto tries = h.core.queue().Find("uid-default-other");
  ASSERT_TRUE(tries.has_value());
  EXPECT_EQ(tries->place, queue::Place::kUnschedulable);
}

}  // namespace
}  // namespace berth::scheduler
