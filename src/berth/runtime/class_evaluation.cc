#include "berth/runtime/class_evaluation.h"

#include <algorithm>

#include "berth/base/check.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;

void ClassEvaluation::Resize(std::size_t row_count) {
  if (verdicts.size() == row_count) return;
  verdicts.resize(row_count, kVerdictNoNode);
  fixed.resize(row_count, 0);
  totals.resize(row_count, kNoTotal);
  for (ScoreColumn& column : columns) column.raw.resize(row_count, 0);
  const std::size_t blocks = (row_count + kBlockRows - 1) / kBlockRows;
  block_best_.resize(blocks, kNoTotal);
  block_count_.resize(blocks, 0);
}

std::size_t ClassEvaluation::Bytes() const {
  const std::size_t per_row = sizeof(framework::VerdictId) + (2 + columns.size()) * sizeof(std::int64_t);
  return sizeof(*this) + verdicts.capacity() * per_row + block_best_.capacity() * 12;
}

void ClassEvaluation::Count(framework::VerdictId verdict, int sign) {
  if (verdict == kVerdictNoNode) return;
  if (verdict >= verdict_counts.size()) verdict_counts.resize(verdict + 1, 0);
  verdict_counts[verdict] += static_cast<std::uint32_t>(sign);
  if (verdict == kVerdictOk) feasible_count += static_cast<std::size_t>(sign);
}

void ClassEvaluation::RemoveFromMaxima(std::span<const NodeIndex> rows) {
  for (const NodeIndex row : rows) {
    Count(verdicts[row], -1);
    if (verdicts[row] != kVerdictOk) continue;
    for (ScoreColumn& column : columns) {
      if (column.raw[row] == column.max && column.count_at_max > 0) --column.count_at_max;
    }
  }
}

bool ClassEvaluation::RecountMaximum(ScoreColumn& column) {
  const std::int64_t before = column.max;
  column.max = 0;
  column.count_at_max = 0;
  for (NodeIndex row = 0; row < verdicts.size(); ++row) {
    if (verdicts[row] != kVerdictOk) continue;
    const std::int64_t raw = column.raw[row];
    if (raw > column.max) {
      column.max = raw;
      column.count_at_max = 0;
    }
    if (raw == column.max) ++column.count_at_max;
  }
  return column.max != before;
}

void ClassEvaluation::AddToMaxima(std::span<const NodeIndex> rows) {
  bool all_totals = false;
  for (const NodeIndex row : rows) Count(verdicts[row], +1);
  for (ScoreColumn& column : columns) {
    if (column.normalization == framework::Normalization::kNone) continue;
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      if (column.raw[row] > column.max) {
        column.max = column.raw[row];
        column.count_at_max = 1;
        all_totals = true;
      } else if (column.raw[row] == column.max) {
        ++column.count_at_max;
      }
    }
    if (column.count_at_max == 0 && feasible_count > 0) all_totals |= RecountMaximum(column);
  }
  if (all_totals) {
    RebuildTotals();
    return;
  }
  std::size_t last_block = SIZE_MAX;
  for (const NodeIndex row : rows) {
    UpdateTotal(row);
    const std::size_t block = row / kBlockRows;
    if (last_block != SIZE_MAX && block != last_block) UpdateBlock(last_block);
    last_block = block;
  }
  if (last_block != SIZE_MAX) UpdateBlock(last_block);
}

void ClassEvaluation::Rebuild() {
  verdict_counts.clear();
  feasible_count = 0;
  for (const framework::VerdictId verdict : verdicts) Count(verdict, +1);
  RebuildTotals();
}

void ClassEvaluation::RebuildTotals() {
  for (ScoreColumn& column : columns) {
    if (column.normalization != framework::Normalization::kNone) RecountMaximum(column);
  }
  for (NodeIndex row = 0; row < verdicts.size(); ++row) UpdateTotal(row);
  for (std::size_t block = 0; block < block_best_.size(); ++block) UpdateBlock(block);
}

void ClassEvaluation::UpdateTotal(NodeIndex row) {
  if (verdicts[row] != kVerdictOk) {
    totals[row] = kNoTotal;
    return;
  }
  std::int64_t total = fixed[row];
  for (const ScoreColumn& column : columns)
    total += column.weight * Normalized(column.normalization, column.raw[row], column.max);
  totals[row] = total;
}

void ClassEvaluation::UpdateBlock(std::size_t block) {
  const std::size_t begin = block * kBlockRows;
  const std::size_t end = std::min(begin + kBlockRows, totals.size());
  std::int64_t best = kNoTotal;
  std::uint32_t count = 0;
  for (std::size_t row = begin; row < end; ++row) {
    const std::int64_t total = totals[row];
    if (total > best) {
      best = total;
      count = 1;
    } else if (total == best) {
      ++count;
    }
  }
  block_best_[block] = best;
  block_count_[block] = best == kNoTotal ? 0 : count;
}

ClassEvaluation::Best ClassEvaluation::FindBest() const {
  Best best;
  for (std::size_t block = 0; block < block_best_.size(); ++block) {
    if (block_best_[block] > best.total) {
      best = {block_best_[block], block_count_[block]};
    } else if (block_best_[block] == best.total) {
      best.count += block_count_[block];
    }
  }
  return best;
}

NodeIndex ClassEvaluation::NthBest(const Best& best, std::size_t n) const {
  for (std::size_t block = 0; block < block_best_.size(); ++block) {
    if (block_best_[block] != best.total) continue;
    if (n >= block_count_[block]) {
      n -= block_count_[block];
      continue;
    }
    for (std::size_t row = block * kBlockRows;; ++row) {
      if (totals[row] == best.total && n-- == 0) return static_cast<NodeIndex>(row);
    }
  }
  BERTH_CHECK(false, best.total, best.count, n);
  return framework::kNoNode;
}

}  // namespace berth::runtime
