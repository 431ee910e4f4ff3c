// SPDX-License-Identifier: Apache-2.0
// The verdicts of groups inside a group that was refused.
#include "berth/core/scheduler/pod_group_verdicts.h"

#include <gtest/gtest.h>

#include "berth/core/cache/pod_classes.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/testing/builders.h"

namespace berth::scheduler {
namespace {

using framework::PodGroupKey;
using Result = GroupMember::Result;

const PodGroupKey kTop{"default", "top", true}, kMiddle{"default", "middle", true}, kA{"default", "a"},
    kB{"default", "b"};

// top has the PodGroup a and the composite group middle; b is in middle.
class PodGroupVerdictsTest : public ::testing::Test {
 protected:
  PodGroupVerdictsTest() {
    Within(kTop, "");
    Within(kMiddle, "top");
    Within(kA, "top");
    Within(kB, "middle");
    for (const char* group : {"a", "b"}) {
      GroupMember& member = members_.emplace_back();
      member.queued.pod = classes_.MakePodInfo(testing::MakePod(std::string(group) + "-0").InGroup(group).Build());
      member.result = Result::kPlaced;
    }
  }
  void Within(const PodGroupKey& key, const std::string& parent) {
    const cache::PodGroupStates::GroupView view{key, parent, {}};
    groups_.RecordGroup(nullptr, &view);
  }
  PodGroupVerdicts Of(const GroupVerdicts& tried) { return {groups_, kTop, tried, members_}; }

  framework::Objects objects_;
  cache::PodGroupStates groups_{objects_, true};
  cache::PodClasses classes_;
  std::vector<GroupMember> members_;
};

TEST_F(PodGroupVerdictsTest, EachKeepsItsOwnUnderAGroupThatIsPlaced) {
  PodGroupVerdicts verdicts = Of({{kTop, {}}, {kMiddle, GroupVerdict::Refused({"m"})}, {kA, {}}, {kB, {}}});
  EXPECT_TRUE(verdicts.Of(kA).IsScheduled());
  EXPECT_EQ(verdicts.Of(kB).Message(), "m") << "it would have fitted";
  EXPECT_EQ(members_[0].result, Result::kPlaced);
  EXPECT_EQ(members_[1].result, Result::kNotTried);
}

TEST_F(PodGroupVerdictsTest, ReasonsAreAddedForEachGroupThatSharesAVerdict) {
  PodGroupVerdicts verdicts =
      Of({{kTop, GroupVerdict::Refused({"t"})}, {kMiddle, {}}, {kA, GroupVerdict::Refused({"a"})}, {kB, {}}});
  verdicts.AddReason("+");
  EXPECT_EQ(verdicts.Of(kA).Message(), "a, +");
  EXPECT_EQ(verdicts.Of(kB).Message(), "t, +, +, +") << "of top, middle and b";
  EXPECT_EQ(verdicts.root().Message(), "t, +, +, +");
  EXPECT_EQ(verdicts.AsTried(kB).Message(), "t");
  EXPECT_EQ(members_[0].result, Result::kPlaced) << "what it was told stays";
}

TEST_F(PodGroupVerdictsTest, GroupsThatWereNotTriedHaveTheVerdictAbove) {
  PodGroupVerdicts verdicts = Of({{kTop, GroupVerdict::Failed("broken")}});
  EXPECT_EQ(verdicts.Of(kA).Message(), "broken");
  EXPECT_EQ(verdicts.Of(kB).result, GroupVerdict::Result::kError);
  verdicts.Fail("worse");
  EXPECT_EQ(verdicts.Of(kB).Message(), "worse");
  EXPECT_EQ(verdicts.AsTried(kB).Message(), "broken");
}

TEST_F(PodGroupVerdictsTest, NewerOnesNameTheGroupThatFailed) {
  const auto of = [this](const GroupVerdicts& tried) { return PodGroupVerdicts(groups_, kTop, tried, members_, true); };
  const GroupVerdicts refused = {
      {kTop, GroupVerdict::Refused({"t"})}, {kMiddle, GroupVerdict::Refused({"m"})}, {kA, {}}};
  EXPECT_EQ(of(refused).Of(kA).Message(), "ancestor composite pod group \"top\" is unschedulable");
  EXPECT_EQ(of(refused).Of(kB).Message(), "ancestor composite pod group \"middle\" is unschedulable");
  EXPECT_EQ(of(refused).root().Message(), "t");
  const GroupVerdicts failed = {
      {kTop, GroupVerdict::Failed("t")}, {kMiddle, GroupVerdict::Refused({"m"})}, {kA, GroupVerdict::Failed("a")}};
  EXPECT_EQ(of(failed).Of(kA).Message(), "a");
  EXPECT_EQ(of(failed).Of(kB).Message(), "ancestor composite pod group \"top\" encountered an error");
}

}  // namespace
}  // namespace berth::scheduler
