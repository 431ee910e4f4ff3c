// SPDX-License-Identifier: Apache-2.0
// BlockSearch: finds the best node for a pod if every active plugin depends on a node's amounts only, or gives all
// nodes the same answer. Branch and bound over the blocks of a k-d tree: blocks with the best bounds are searched
// first, and blocks that cannot hold the best node are skipped. The caller handles odd nodes (AmountBlocks).
// Single-threaded.
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
    int position = 0;  // index in the profile
  };
  struct Score {
    const RowScore* score = nullptr;
    const framework::AmountsPlugin* as_amounts = nullptr;
    std::int64_t weight = 1;
  };
  // The active plugins that depend on amounts, in the profile's order. RestsOnAmounts() holds for each of them.
  struct Question {
    std::vector<Filter> filters;
    std::vector<Score> scores;
  };

  // Whether to search by blocks. Following the node table has a cost for each changed row. It is paid once scans have
  // cost as much; each call that returned false stands for one scan.
  bool IsWorthwhile(const framework::NodeTable& nodes);

  // A node table that stands for the nodes that are not odd: plugins that give all of them the same answer are asked
  // with it.
  const framework::NodeTable& Plain(const framework::NodeTable& nodes) {
    blocks_.StandFor(nodes);
    return blocks_.points();
  }
  // Only after IsWorthwhile().
  std::span<const framework::NodeIndex> odd_rows() const { return blocks_.odd_rows(); }

  // Only after IsWorthwhile(). `counts` receives the number of rows by verdict. Returns false when a plugin failed; the
  // results are then meaningless.
  bool Find(const framework::Cycle& cycle, const framework::PodInfo& pod, const Question& question,
            framework::StatusTable& statuses, std::vector<std::uint32_t>& counts);

  // Adds a feasible odd row with its sum of weighted scores. Only after Find().
  void Offer(framework::NodeIndex odd_row, std::int64_t total);

  // The largest sum of weighted scores among the results of Find() and Offer(), and the rows that have it. Only if some
  // row was feasible.
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
  // `blocks` must be ascending.
  bool ScorePoints(std::span<const BlockId> blocks);
  void AddBest(NodeIndex first, std::size_t count);
  bool FilterRowsOf(const framework::NodeTable& table, std::span<const NodeIndex> rows,
                    std::vector<VerdictId>& verdicts);
  void AddPointsOf(BlockId block);

  AmountBlocks blocks_;
  std::size_t saved_ = 0;  // work of scans so far, in rows

  // Set during Find().
  const framework::Cycle* cycle_ = nullptr;
  const framework::PodInfo* pod_ = nullptr;
  const Question* question_ = nullptr;
  framework::StatusTable* statuses_ = nullptr;
  std::vector<VerdictId> emptiest_verdicts_, fullest_verdicts_;  // by block
  std::vector<std::int64_t> bounds_;                             // by block
  std::vector<VerdictId> verdicts_;                              // by point, if it was searched
  std::vector<std::int64_t> scores_, totals_;                    // by point, if it was searched
  std::vector<NodeIndex> point_rows_;
  std::vector<BlockId> block_ids_;
  std::int64_t best_total_ = 0;
  std::size_t best_count_ = 0;
  std::vector<NodeIndex> best_points_;
  std::vector<NodeIndex> best_odd_rows_;
};

}  // namespace berth::runtime
