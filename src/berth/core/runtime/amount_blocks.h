// SPDX-License-Identifier: Apache-2.0
// AmountBlocks: a k-d tree of the node table's rows by their amounts. Rows with equal amounts are one point. A leaf of
// the tree, called a block, holds points with similar amounts, and its bounding box gives bounds on their scores. Odd
// rows are in no block: their nodes are tainted, cordoned, or have an unusual amount. Single-threaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/core/runtime/amount_table.h"

namespace berth::runtime {

class AmountBlocks {
 public:
  using BlockId = std::uint32_t;
  static constexpr std::size_t kPointsPerBlock = 128;

  // Estimated work of Update(), in units of one row of a scan.
  std::size_t UpdateCost(const framework::NodeTable& nodes) const;
  // Follows the changes of `nodes`, which must always be the same table.
  void Update(const framework::NodeTable& nodes);

  // Sets the table whose images points() reports, until the next call. To be called before and after Update().
  void StandFor(const framework::NodeTable& nodes) { points_.StandFor(&nodes); }
  // One row for each point. The points of block b are the first point_count(b) rows from b * kPointsPerBlock on; the
  // rows behind them are unused.
  const AmountTable& points() const { return points_; }
  // One row for each block: the two corners of its bounding box. emptiest() has the largest capacities and the smallest
  // taken amounts of the block's points, fullest() the opposite.
  const AmountTable& emptiest() const { return emptiest_; }
  const AmountTable& fullest() const { return fullest_; }

  // Upper bound on the number of odd rows of `nodes`.
  static std::size_t OddCountMax(const framework::NodeTable& nodes) {
    const framework::NodeTable::Columns& columns = nodes.columns();
    return columns.tainted_count + columns.unschedulable_count + columns.unusual_count;
  }
  // Ascending.
  std::span<const framework::NodeIndex> odd_rows() const { return odd_rows_; }

  std::size_t block_count() const { return blocks_.size(); }
  std::size_t point_count(BlockId block) const { return blocks_[block].point_count; }
  // Number of rows of the node table in the block.
  std::size_t row_count(BlockId block) const { return blocks_[block].row_count; }
  // The rows of the node table that have the amounts of this row of points().
  std::span<const framework::NodeIndex> RowsOf(framework::NodeIndex point_row) const {
    return point_infos_[point_at_[point_row]].rows;
  }

 private:
  using PointId = std::uint32_t;
  static constexpr PointId kNoPoint = UINT32_MAX;
  static constexpr std::size_t kPointsWhenBuilt = kPointsPerBlock * 3 / 4;

  struct Point {
    Amounts amounts{};
    framework::NodeIndex at = framework::kNoNode;  // row of points()
    std::vector<framework::NodeIndex> rows;
  };
  struct Block {
    std::size_t point_count = 0;
    std::size_t row_count = 0;
    bool is_loose = false;  // its rows of emptiest_ and fullest_ are out of date
  };
  // An inner node of the tree: points whose amount is at most the threshold are in the first child, the others in the
  // second. A child is the index of a split, or ~block.
  struct Split {
    std::size_t amount = 0;
    std::int64_t threshold = 0;
    std::int32_t children[2] = {0, 0};
  };
  // The position of a block in the tree: the root, or a side of a split.
  struct Place {
    std::int32_t parent = -1;
    int side = 0;
    std::size_t depth = 0;
  };
  struct Cut {
    std::size_t amount = 0;
    std::int64_t threshold = 0;
  };

  void Rebuild(const framework::NodeTable& nodes);
  std::int32_t Build(std::span<PointId> points, std::size_t depth);
  bool IsLopsided() const;
  static bool IsOdd(framework::NodeIndex row, const framework::NodeTable::Columns& columns) {
    return columns.taint_set[row] != 0 || columns.is_unschedulable[row] != 0 || columns.is_unusual[row] != 0;
  }
  // Fills moved_ with the rows whose point or oddness has changed.
  void FindMoved(const framework::NodeTable& nodes);
  bool IsMoved(framework::NodeIndex row, const framework::NodeTable::Columns& columns) const;
  void SetRow(framework::NodeIndex row, const framework::NodeTable::Columns& columns);
  void SetOdd(framework::NodeIndex row, bool is_odd);
  void AddRow(framework::NodeIndex row, const Amounts& amounts);
  void RemoveRow(framework::NodeIndex row);
  PointId NewPoint(const Amounts& amounts);
  void PutInTree(PointId point);
  void PutInBlock(PointId point, BlockId block);
  void TakeOut(PointId point);
  BlockId BlockFor(const Amounts& amounts, Place& place) const;
  void SplitBlock(BlockId block, const Place& place);
  BlockId NewBlock();
  Cut CutOf(std::span<const PointId> points) const;
  void Tighten(BlockId block);
  static BlockId BlockOf(framework::NodeIndex at) { return at / static_cast<BlockId>(kPointsPerBlock); }

  std::uint64_t version_ = 0;  // version of the node table at the last update; 0: never built
  AmountTable points_, emptiest_, fullest_;
  std::vector<Block> blocks_;
  std::vector<BlockId> loose_;
  std::vector<framework::NodeIndex> moved_;  // local to Update()
  std::vector<Split> splits_;
  std::int32_t root_ = 0;
  std::size_t depth_ = 0;  // depth of the deepest block
  std::vector<Point> point_infos_;
  std::vector<PointId> free_points_;
  std::vector<PointId> point_at_;  // by row of points_
  absl::flat_hash_map<Amounts, PointId> point_of_amounts_;
  std::vector<framework::NodeIndex> odd_rows_;
  std::vector<PointId> point_of_row_;          // by row of the node table
  std::vector<std::uint32_t> index_in_point_;  // by row of the node table
};

}  // namespace berth::runtime
