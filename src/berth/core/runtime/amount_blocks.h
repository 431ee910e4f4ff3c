// AmountBlocks: the rows of the node table by their amounts. Rows of equal amounts are of one kind, kinds of similar
// amounts are in one block, so that a look at the blocks tells which kinds can be of interest at all. Odd rows are in
// no block: those of nodes that are tainted, cordoned, or have an amount that is unusual. Single-threaded.
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
  static constexpr std::size_t kKindsPerBlock = 128;

  // About how much work Update() would be; a look at one row in a scan of all is 1.
  std::size_t UpdateCost(const framework::NodeTable& nodes) const;
  // Follows `nodes`, always the same table.
  void Update(const framework::NodeTable& nodes);

  // For kinds(), until the next call; before and after Update().
  void StandFor(const framework::NodeTable& nodes) { kinds_.StandFor(&nodes); }
  // One row a kind. Block b has the first kind_count(b) rows from b * kKindsPerBlock on; the others mean nothing.
  const AmountTable& kinds() const { return kinds_; }
  // One row a block: the largest capacities and the smallest taken amounts of its kinds, and the opposite.
  const AmountTable& emptiest() const { return emptiest_; }
  const AmountTable& fullest() const { return fullest_; }

  // At most this many rows of `nodes` are odd.
  static std::size_t OddCountMax(const framework::NodeTable& nodes) {
    const framework::NodeTable::Columns& columns = nodes.columns();
    return columns.tainted_count + columns.unschedulable_count + columns.unusual_count;
  }
  // Ascending.
  std::span<const framework::NodeIndex> odd_rows() const { return odd_rows_; }

  std::size_t block_count() const { return blocks_.size(); }
  std::size_t kind_count(BlockId block) const { return blocks_[block].kind_count; }
  // How many rows of the node table are in the block.
  std::size_t row_count(BlockId block) const { return blocks_[block].row_count; }
  // The rows of the node table that are of the kind in a row of kinds().
  std::span<const framework::NodeIndex> RowsOf(framework::NodeIndex kind_row) const {
    return kind_infos_[kind_at_[kind_row]].rows;
  }

 private:
  using KindId = std::uint32_t;
  static constexpr KindId kNoKind = UINT32_MAX;
  static constexpr std::size_t kKindsWhenBuilt = kKindsPerBlock * 3 / 4;

  struct Kind {
    Amounts amounts{};
    framework::NodeIndex at = framework::kNoNode;  // row of kinds()
    std::vector<framework::NodeIndex> rows;
  };
  struct Block {
    std::size_t kind_count = 0;
    std::size_t row_count = 0;
    bool is_loose = false;  // its rows of emptiest_ and fullest_ are out of date
  };
  // A tree over the blocks: kinds whose amount is at most the threshold are under the first child, the others under
  // the second. A child is the index of a split, or ~block.
  struct Split {
    std::size_t amount = 0;
    std::int64_t threshold = 0;
    std::int32_t children[2] = {0, 0};
  };
  // Where a block hangs: at the root, or under a split.
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
  std::int32_t Build(std::span<KindId> kinds, std::size_t depth);
  bool IsLopsided() const;
  static bool IsOdd(framework::NodeIndex row, const framework::NodeTable::Columns& columns) {
    return columns.taint_set[row] != 0 || columns.is_unschedulable[row] != 0 || columns.is_unusual[row] != 0;
  }
  void SetRow(framework::NodeIndex row, const framework::NodeTable::Columns& columns);
  void SetOdd(framework::NodeIndex row, bool is_odd);
  void AddRow(framework::NodeIndex row, const Amounts& amounts);
  void RemoveRow(framework::NodeIndex row);
  KindId NewKind(const Amounts& amounts);
  void PutInTree(KindId kind);
  void PutInBlock(KindId kind, BlockId block);
  void TakeOut(KindId kind);
  BlockId BlockFor(const Amounts& amounts, Place& place) const;
  void SplitBlock(BlockId block, const Place& place);
  BlockId NewBlock();
  Cut CutOf(std::span<const KindId> kinds) const;
  void Tighten(BlockId block);
  static BlockId BlockOf(framework::NodeIndex at) { return at / static_cast<BlockId>(kKindsPerBlock); }

  std::uint64_t version_ = 0;  // of the node table; 0: never built
  AmountTable kinds_, emptiest_, fullest_;
  std::vector<Block> blocks_;
  std::vector<BlockId> loose_;
  std::vector<Split> splits_;
  std::int32_t root_ = 0;
  std::size_t depth_ = 0;  // of the deepest block
  std::vector<Kind> kind_infos_;
  std::vector<KindId> free_kinds_;
  std::vector<KindId> kind_at_;  // by row of kinds_
  absl::flat_hash_map<Amounts, KindId> kind_of_amounts_;
  std::vector<framework::NodeIndex> odd_rows_;
  std::vector<KindId> kind_of_row_;           // by row of the node table
  std::vector<std::uint32_t> index_in_kind_;  // the same
};

}  // namespace berth::runtime
