// SPDX-License-Identifier: Apache-2.0
// The fast path of a plugin is called if it has one, otherwise the plain form row by row.
#include "berth/core/runtime/row_plugins.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/column_node_table.h"
#include "berth/testing/builders.h"

namespace berth::runtime {
namespace {

using framework::Cycle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;
using framework::VerdictId;
using testing::MakeNode;
using testing::MakePod;

Status RefuseB(const NodeInfo& node) { return node.name() == "b" ? Status::Unschedulable("it is b") : Status(); }

class Plain final : public framework::FilterPlugin, public framework::ScorePlugin {
 public:
  std::string_view Name() const override { return "Plain"; }
  Status Filter(const Cycle&, const PodInfo&, const NodeInfo& node) const override {
    asked += node.name();
    return RefuseB(node);
  }
  std::int64_t Score(const Cycle&, const PodInfo&, NodeIndex, const NodeInfo& node, Status& status) const override {
    asked += node.name();
    status = RefuseB(node);
    return 7;
  }
  mutable std::string asked;
};

class Fast final : public framework::FastFilter, public framework::FastScore {
 public:
  std::string_view Name() const override { return "Fast"; }
  Status Filter(const Cycle&, const PodInfo&, const NodeInfo&) const override { return Status::Error("plain form"); }
  void FilterRows(const Cycle&, const PodInfo&, std::span<const NodeIndex> rows, std::span<VerdictId> verdicts,
                  framework::StatusTable& statuses) const override {
    ++calls;
    for (const NodeIndex row : rows) verdicts[row] = statuses.Intern(Status::Unschedulable("by rows"));
  }
  bool RefusesNone(const Cycle&, const PodInfo&) const override { return true; }
  std::int64_t Score(const Cycle&, const PodInfo&, NodeIndex, const NodeInfo&, Status&) const override { return 0; }
  void ScoreRows(const Cycle&, const PodInfo&, std::span<const NodeIndex> rows, std::span<std::int64_t> scores,
                 Status&) const override {
    ++calls;
    for (const NodeIndex row : rows) scores[row] = 9;
  }
  bool ScoresNothing(const Cycle&, const PodInfo&) const override { return true; }
  std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const override { return 9; }
  mutable int calls = 0;
};

class RowPlugins : public ::testing::Test {
 protected:
  RowPlugins() {
    for (const char* name : {"a", "b", "c"}) table_.SetNode(MakeNode(name).Build());
    statuses_.SetPlugin("Plain", 3);
  }

  cache::ColumnNodeTable table_;
  framework::CycleState state_;
  const Cycle cycle_{table_, state_};
  const framework::PodInfoPtr pod_ = MakePod("p").Info();
  framework::StatusTable statuses_;
  std::vector<VerdictId> verdicts_ = std::vector<VerdictId>(3, framework::kVerdictOk);
  std::vector<std::int64_t> scores_ = std::vector<std::int64_t>(3, -1);
};

TEST_F(RowPlugins, APlainFilterIsAskedAboutEachRowThatPassedSoFar) {
  const Plain plain;
  const RowFilter filter(plain);
  verdicts_[0] = statuses_.Intern(Status::Unschedulable("before"));
  filter.FilterRows(cycle_, *pod_, table_.rows(), verdicts_, statuses_);
  EXPECT_EQ(plain.asked, "bc");
  EXPECT_EQ(statuses_.Get(verdicts_[0]).Message(), "before");
  EXPECT_EQ(statuses_.Get(verdicts_[1]).Message(), "it is b");
  EXPECT_EQ(statuses_.Get(verdicts_[1]).plugin(), "Plain");
  EXPECT_EQ(statuses_.Position(verdicts_[1]), 3);
  EXPECT_EQ(verdicts_[2], framework::kVerdictOk);
  EXPECT_FALSE(filter.RefusesNone(cycle_, *pod_));
  EXPECT_EQ(&filter.plugin(), &plain);
}

TEST_F(RowPlugins, APlainScoreIsAskedRowByRowUntilItFails) {
  const Plain plain;
  const RowScore score(plain);
  Status status;
  score.ScoreRows(cycle_, *pod_, table_.rows(), scores_, status);
  EXPECT_EQ(plain.asked, "ab");
  EXPECT_EQ(scores_[0], 7);
  EXPECT_EQ(scores_[2], -1);
  EXPECT_FALSE(status.IsSuccess());
  EXPECT_FALSE(score.ScoresNothing(cycle_, *pod_));
  EXPECT_EQ(score.ScoreOfAll(cycle_, *pod_), std::nullopt);
}

TEST_F(RowPlugins, AFastPluginIsAskedOnceForAllRows) {
  const Fast fast;
  const RowFilter filter(fast);
  filter.FilterRows(cycle_, *pod_, table_.rows(), verdicts_, statuses_);
  EXPECT_EQ(fast.calls, 1);
  for (const VerdictId verdict : verdicts_) EXPECT_EQ(statuses_.Get(verdict).Message(), "by rows");
  EXPECT_TRUE(filter.RefusesNone(cycle_, *pod_));

  const RowScore score(fast);
  Status status;
  score.ScoreRows(cycle_, *pod_, table_.rows(), scores_, status);
  EXPECT_EQ(fast.calls, 2);
  EXPECT_EQ(scores_, std::vector<std::int64_t>(3, 9));
  EXPECT_TRUE(score.ScoresNothing(cycle_, *pod_));
  EXPECT_EQ(score.ScoreOfAll(cycle_, *pod_), 9);
}

}  // namespace
}  // namespace berth::runtime
