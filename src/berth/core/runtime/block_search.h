// SPDX-License-Identifier: Apache-2.0
// BlockSearch: the best node for a pod for which every plugin that has a say looks at a node's amounts alone, or says
// the same of all nodes. Branch and bound: the blocks of a k-d tree that promise most are looked into first, and those
// that cannot hold the best node not at all. Odd nodes (AmountBlocks) are left to the caller. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/runtime/amount_blocks.h"
#include "berth/core/runtime/row_plugins.h"

namespace berth::runtime {

class BlockSearch {
 public:
  struct Filter {
    const RowFilter* filter = nullptr;
    int position = 0;  // in the profile
  };
  struct Score {
    const RowScore* score = nullptr;
    const framework::AmountsPlugin* as_amounts = nullptr;
    std::int64_t weight = 1;
  };
  // Those that look at amounts, in the profile's order; for each of them RestsOnAmounts() holds.
  struct Question {
    std::vector<Filter> filters;
    std::vector<Score> scores;
  };

  // Whether to choose by blocks. To follow the node table costs something for each changed row: it is only done once
  // that has been saved by scans of all rows, each of which is a call that returned false.
  bool IsWorthwhile(const framework::NodeTable& nodes);

  // The nodes of `nodes` that are not odd, as far as plugins can tell that they say the same of all of them.
  const framework::NodeTable& Plain(const framework::NodeTable& nodes) {
    blocks_.StandFor(nodes);
    return blocks_.points();
  }
  // After IsWorthwhile().
  std::span<const framework::NodeIndex> odd_rows() const { return blocks_.odd_rows(); }

  // After IsWorthwhile(). `counts` becomes the number of rows by verdict. False: a plugin failed; then all that was
  // found means nothing.
  bool Find(const framework::Cycle& cycle, const framework::PodInfo& pod, const Question& question,
            framework::StatusTable& statuses, std::vector<std::uint32_t>& counts);

  // After Find(): an odd row that is feasible, with its sum of weighted scores.
  void Offer(framework::NodeIndex odd_row, std::int64_t total);

  // Of the last Find() and what was offered since, when some row was feasible: the largest sum of weighted scores, and
  // the rows that have it.
  std::int64_t best_total() const { return best_total_; }
  std::size_t best_count() const { return best_count_; }
  framework::NodeIndex NthBest(std::size_t n) const;

 private:
  using BlockId = AmountBlocks::BlockId;
  using NodeIndex = framework::NodeIndex;
  using VerdictId = framework::VerdictId;

  bool FilterBlocks();
  bool BoundBlocks();
  bool CountRefused(std::vector<std::uint32_t>& counts);
  // `blocks` ascend.
  bool ScorePoints(std::span<const BlockId> blocks);
  void AddBest(NodeIndex first, std::size_t count);
  bool FilterRowsOf(const framework::NodeTable& table, std::span<const NodeIndex> rows,
                    std::vector<VerdictId>& verdicts);
  void AddPointsOf(BlockId block);

  AmountBlocks blocks_;
  std::size_t saved_ = 0;  // looks at rows

  // This call's.
  const framework::Cycle* cycle_ = nullptr;
  const framework::PodInfo* pod_ = nullptr;
  const Question* question_ = nullptr;
  framework::StatusTable* statuses_ = nullptr;
  std::vector<VerdictId> emptiest_verdicts_, fullest_verdicts_;  // by block
  std::vector<std::int64_t> bounds_;                             // by block
  std::vector<VerdictId> verdicts_;                              // by point, where it was asked for
  std::vector<std::int64_t> scores_, totals_;                    // the same
  std::vector<NodeIndex> point_rows_;
  std::vector<BlockId> block_ids_;
  std::int64_t best_total_ = 0;
  std::size_t best_count_ = 0;
  std::vector<NodeIndex> best_points_;
  std::vector<NodeIndex> best_odd_rows_;
};

}  // namespace berth::runtime
