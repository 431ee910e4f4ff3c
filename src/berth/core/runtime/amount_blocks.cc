// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/amount_blocks.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::NodeIndex;

namespace {

// Measured costs per row, in units of one row of a scan: moving a row to another point, and a rebuild.
constexpr std::size_t kCostOfMove = 32;
constexpr std::size_t kCostOfBuild = 32;

// For each amount, the index of the node's capacity of the same resource. The range of an amount is measured as a share
// of it.
constexpr std::array<std::size_t, kAmountCount> kCapacityOf{0, 1, 2, 0, 1, 0, 1, 2};

}  // namespace

std::size_t AmountBlocks::UpdateCost(const framework::NodeTable& nodes) const {
  const std::size_t cost_of_build = nodes.row_count() * kCostOfBuild;
  if (version_ == 0 || IsLopsided()) return cost_of_build;
  const auto changed = nodes.ChangedSince(version_);
  return changed ? std::min(cost_of_build, changed->size() * kCostOfMove) : cost_of_build;
}

void AmountBlocks::Update(const framework::NodeTable& nodes) {
  if (version_ == 0 || IsLopsided()) {
    Rebuild(nodes);
  } else {
    point_of_row_.resize(nodes.row_count(), kNoPoint);
    index_in_point_.resize(nodes.row_count());
    FindMoved(nodes);
    if (moved_.size() * kCostOfMove < nodes.row_count() * kCostOfBuild) {
      for (const NodeIndex row : moved_) SetRow(row, nodes.columns());
    } else if (!moved_.empty()) {
      Rebuild(nodes);
    }
  }
  version_ = nodes.version();
  for (const BlockId block : loose_) Tighten(block);
  loose_.clear();
}

// Sorted, so that the order of a point's rows does not depend on rows that a "what if" question changed and changed
// back.
void AmountBlocks::FindMoved(const framework::NodeTable& nodes) {
  const auto changed = nodes.ChangedSince(version_);
  if (changed) {
    moved_.assign(changed->begin(), changed->end());
    std::sort(moved_.begin(), moved_.end());
    moved_.erase(std::unique(moved_.begin(), moved_.end()), moved_.end());
  } else {
    moved_.resize(nodes.row_count());
    std::iota(moved_.begin(), moved_.end(), NodeIndex{0});
  }
  std::erase_if(moved_, [&](NodeIndex row) { return row >= nodes.row_count() || !IsMoved(row, nodes.columns()); });
}

bool AmountBlocks::IsMoved(NodeIndex row, const framework::NodeTable::Columns& columns) const {
  const bool is_odd = IsOdd(row, columns);
  if (is_odd != std::binary_search(odd_rows_.begin(), odd_rows_.end(), row)) return true;
  const Amounts amounts = AmountsOf(columns, row);
  const PointId point = point_of_row_[row];
  if (amounts[0] <= 0 || is_odd) return point != kNoPoint;
  return point == kNoPoint || point_infos_[point].amounts != amounts;
}

// Whether the tree should be rebuilt: points with ever larger amounts make one side deep, and removed points leave
// empty blocks.
bool AmountBlocks::IsLopsided() const {
  constexpr std::size_t kMore = 16;
  const std::size_t full_blocks = point_of_amounts_.size() / kPointsPerBlock;
  return blocks_.size() > 4 * full_blocks + kMore || depth_ > 2 * std::bit_width(full_blocks) + kMore;
}

void AmountBlocks::Rebuild(const framework::NodeTable& nodes) {
  blocks_.clear();
  loose_.clear();
  splits_.clear();
  depth_ = 0;
  point_infos_.clear();
  free_points_.clear();
  point_of_amounts_.clear();
  odd_rows_.clear();
  point_of_row_.assign(nodes.row_count(), kNoPoint);
  index_in_point_.assign(nodes.row_count(), 0);
  for (const NodeIndex row : nodes.rows()) {
    if (IsOdd(row, nodes.columns())) {
      odd_rows_.push_back(row);
      continue;
    }
    const Amounts amounts = AmountsOf(nodes.columns(), row);
    const auto it = point_of_amounts_.find(amounts);
    const PointId point = it != point_of_amounts_.end() ? it->second : NewPoint(amounts);
    point_of_row_[row] = point;
    index_in_point_[row] = static_cast<std::uint32_t>(point_infos_[point].rows.size());
    point_infos_[point].rows.push_back(row);
  }
  std::vector<PointId> all(point_infos_.size());
  std::iota(all.begin(), all.end(), 0);
  root_ = Build(all, 0);
}

std::int32_t AmountBlocks::Build(std::span<PointId> points, std::size_t depth) {
  if (points.size() <= kPointsWhenBuilt) {
    depth_ = std::max(depth_, depth);
    const BlockId block = NewBlock();
    for (const PointId point : points) {
      PutInBlock(point, block);
      blocks_[block].row_count += point_infos_[point].rows.size();
    }
    return ~static_cast<std::int32_t>(block);
  }
  const Cut cut = CutOf(points);
  const auto middle = std::partition(points.begin(), points.end(), [&](PointId point) {
    return point_infos_[point].amounts[cut.amount] <= cut.threshold;
  });
  const auto first_count = static_cast<std::size_t>(middle - points.begin());
  const auto split = static_cast<std::int32_t>(splits_.size());
  splits_.push_back({cut.amount, cut.threshold, {0, 0}});
  const std::int32_t first = Build(points.first(first_count), depth + 1);
  const std::int32_t second = Build(points.subspan(first_count), depth + 1);
  splits_[static_cast<std::size_t>(split)].children[0] = first;
  splits_[static_cast<std::size_t>(split)].children[1] = second;
  return split;
}

// Cuts at the median of the amount with the widest range, relative to the nodes' capacity. With two or more different
// points both parts are non-empty.
AmountBlocks::Cut AmountBlocks::CutOf(std::span<const PointId> points) const {
  Amounts min = point_infos_[points[0]].amounts;
  Amounts max = min;
  for (const PointId point : points) {
    const Amounts& amounts = point_infos_[point].amounts;
    for (std::size_t i = 0; i < kAmountCount; ++i) {
      min[i] = std::min(min[i], amounts[i]);
      max[i] = std::max(max[i], amounts[i]);
    }
  }
  Cut cut;
  double widest = -1;
  for (std::size_t i = 0; i < kAmountCount; ++i) {
    if (min[i] == max[i]) continue;
    const double width = (static_cast<double>(max[i]) - static_cast<double>(min[i])) /
                         std::max(1.0, static_cast<double>(max[kCapacityOf[i]]));
    if (width <= widest) continue;
    widest = width;
    cut.amount = i;
  }
  std::vector<std::int64_t> values;
  values.reserve(points.size());
  for (const PointId point : points) values.push_back(point_infos_[point].amounts[cut.amount]);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  cut.threshold = *middle;
  if (cut.threshold < max[cut.amount]) return cut;
  cut.threshold = min[cut.amount];
  for (const std::int64_t value : values) {
    if (value < max[cut.amount]) cut.threshold = std::max(cut.threshold, value);
  }
  return cut;
}

void AmountBlocks::SetRow(NodeIndex row, const framework::NodeTable::Columns& columns) {
  const Amounts amounts = AmountsOf(columns, row);
  const bool is_odd = IsOdd(row, columns);
  SetOdd(row, is_odd);
  // Rows without a node have amounts of 0, and a node without CPU is unusual.
  const bool has_node = amounts[0] > 0 && !is_odd;
  const PointId point = point_of_row_[row];
  if (point != kNoPoint) {
    if (has_node && point_infos_[point].amounts == amounts) return;
    RemoveRow(row);
  }
  if (has_node) AddRow(row, amounts);
}

void AmountBlocks::SetOdd(NodeIndex row, bool is_odd) {
  const auto at = std::lower_bound(odd_rows_.begin(), odd_rows_.end(), row);
  const bool was_odd = at != odd_rows_.end() && *at == row;
  if (is_odd == was_odd) return;
  if (is_odd) {
    odd_rows_.insert(at, row);
  } else {
    odd_rows_.erase(at);
  }
}

void AmountBlocks::AddRow(NodeIndex row, const Amounts& amounts) {
  const auto it = point_of_amounts_.find(amounts);
  PointId id = kNoPoint;
  if (it != point_of_amounts_.end()) {
    id = it->second;
  } else {
    id = NewPoint(amounts);
    PutInTree(id);
  }
  Point& point = point_infos_[id];
  point_of_row_[row] = id;
  index_in_point_[row] = static_cast<std::uint32_t>(point.rows.size());
  point.rows.push_back(row);
  ++blocks_[BlockOf(point.at)].row_count;
}

void AmountBlocks::RemoveRow(NodeIndex row) {
  const PointId id = point_of_row_[row];
  Point& point = point_infos_[id];
  const NodeIndex last = point.rows.back();
  point.rows[index_in_point_[row]] = last;
  index_in_point_[last] = index_in_point_[row];
  point.rows.pop_back();
  point_of_row_[row] = kNoPoint;
  --blocks_[BlockOf(point.at)].row_count;
  if (!point.rows.empty()) return;
  TakeOut(id);
  point_of_amounts_.erase(point.amounts);
  free_points_.push_back(id);
}

AmountBlocks::PointId AmountBlocks::NewPoint(const Amounts& amounts) {
  PointId id = static_cast<PointId>(point_infos_.size());
  if (free_points_.empty()) {
    point_infos_.emplace_back();
  } else {
    id = free_points_.back();
    free_points_.pop_back();
  }
  point_infos_[id].amounts = amounts;
  point_of_amounts_.emplace(amounts, id);
  return id;
}

void AmountBlocks::PutInTree(PointId id) {
  Place place;
  BlockId block = BlockFor(point_infos_[id].amounts, place);
  if (blocks_[block].point_count == kPointsPerBlock) {
    SplitBlock(block, place);
    block = BlockFor(point_infos_[id].amounts, place);
  }
  PutInBlock(id, block);
}

AmountBlocks::BlockId AmountBlocks::BlockFor(const Amounts& amounts, Place& place) const {
  place = Place();
  std::int32_t child = root_;
  while (child >= 0) {
    const Split& split = splits_[static_cast<std::size_t>(child)];
    const int side = amounts[split.amount] <= split.threshold ? 0 : 1;
    place = {child, side, place.depth + 1};
    child = split.children[side];
  }
  return static_cast<BlockId>(~child);
}

void AmountBlocks::PutInBlock(PointId id, BlockId block) {
  Block& into = blocks_[block];
  Point& point = point_infos_[id];
  point.at = static_cast<NodeIndex>(block * kPointsPerBlock + into.point_count++);
  point_at_[point.at] = id;
  points_.Set(point.at, point.amounts);
  if (!into.is_loose) loose_.push_back(block);
  into.is_loose = true;
}

// Moves the block's last point into the gap. The caller updates the count of rows.
void AmountBlocks::TakeOut(PointId id) {
  const NodeIndex at = point_infos_[id].at;
  const BlockId block = BlockOf(at);
  Block& from = blocks_[block];
  const auto last = static_cast<NodeIndex>(block * kPointsPerBlock + --from.point_count);
  point_at_[at] = point_at_[last];
  point_infos_[point_at_[at]].at = at;
  points_.Set(at, points_.Get(last));
  if (!from.is_loose) loose_.push_back(block);
  from.is_loose = true;
}

void AmountBlocks::SplitBlock(BlockId block, const Place& place) {
  const auto first = point_at_.begin() + static_cast<std::ptrdiff_t>(block * kPointsPerBlock);
  const std::vector<PointId> points(first, first + kPointsPerBlock);
  const Cut cut = CutOf(points);
  const BlockId other = NewBlock();
  for (const PointId point : points) {
    if (point_infos_[point].amounts[cut.amount] <= cut.threshold) continue;
    const std::size_t row_count = point_infos_[point].rows.size();
    TakeOut(point);
    blocks_[block].row_count -= row_count;
    PutInBlock(point, other);
    blocks_[other].row_count += row_count;
  }
  const auto split = static_cast<std::int32_t>(splits_.size());
  splits_.push_back(
      {cut.amount, cut.threshold, {~static_cast<std::int32_t>(block), ~static_cast<std::int32_t>(other)}});
  depth_ = std::max(depth_, place.depth + 1);
  if (place.parent < 0) {
    root_ = split;
  } else {
    splits_[static_cast<std::size_t>(place.parent)].children[place.side] = split;
  }
}

AmountBlocks::BlockId AmountBlocks::NewBlock() {
  const auto block = static_cast<BlockId>(blocks_.size());
  blocks_.emplace_back();
  points_.Resize(blocks_.size() * kPointsPerBlock);
  point_at_.resize(blocks_.size() * kPointsPerBlock, kNoPoint);
  emptiest_.Resize(blocks_.size());
  fullest_.Resize(blocks_.size());
  return block;
}

void AmountBlocks::Tighten(BlockId block) {
  blocks_[block].is_loose = false;
  const std::size_t count = blocks_[block].point_count;
  if (count == 0) return;
  Amounts emptiest;
  Amounts fullest;
  for (std::size_t i = 0; i < kAmountCount; ++i) {
    const std::span values(points_.columns().*kAmountColumns[i]);
    const auto [min, max] = MinMaxOf(values.subspan(block * kPointsPerBlock, count));
    emptiest[i] = i < kCapacityCount ? max : min;
    fullest[i] = i < kCapacityCount ? min : max;
  }
  emptiest_.Set(block, emptiest);
  fullest_.Set(block, fullest);
}

}  // namespace berth::runtime
