// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/block_search.h"

#include <algorithm>
#include <numeric>

#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/row_loops.h"
#include "berth/framework/row_runs.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

namespace {

constexpr std::size_t kMoreAtOnce = 4;

}  // namespace

bool BlockSearch::IsWorthwhile(const framework::NodeTable& nodes) {
  const std::size_t cost = blocks_.UpdateCost(nodes);
  if (cost > nodes.row_count()) {
    saved_ += nodes.row_count();
    if (saved_ < cost) return false;
    saved_ = 0;
  }
  blocks_.Update(nodes);
  return true;
}

bool BlockSearch::Find(const framework::Cycle& cycle, const framework::PodInfo& pod, const Question& question,
                       framework::StatusTable& statuses, std::vector<std::uint32_t>& counts) {
  cycle_ = &cycle;
  pod_ = &pod;
  question_ = &question;
  statuses_ = &statuses;
  best_total_ = INT64_MIN;
  best_count_ = 0;
  best_points_.clear();
  best_odd_rows_.clear();
  verdicts_.resize(blocks_.points().row_count());
  scores_.resize(blocks_.points().row_count());
  totals_.resize(blocks_.points().row_count());
  if (!FilterBlocks() || !BoundBlocks() || !CountRefused(counts)) return false;

  // Searches blocks in order of their bounds, in growing batches, until the next bound is below the best total found.
  block_ids_.clear();
  for (BlockId block = 0; block < blocks_.block_count(); ++block) {
    if (bounds_[block] != INT64_MIN) block_ids_.push_back(block);
  }
  const auto promises_more = [this](BlockId a, BlockId b) {
    return bounds_[a] != bounds_[b] ? bounds_[a] > bounds_[b] : a < b;
  };
  std::size_t at_once = 1;
  for (std::span<BlockId> left(block_ids_); !left.empty();) {
    const auto end = std::remove_if(left.begin(), left.end(), [this](BlockId b) { return bounds_[b] < best_total_; });
    left = left.first(static_cast<std::size_t>(end - left.begin()));
    if (left.empty()) break;
    at_once = std::min(at_once, left.size());
    std::nth_element(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(at_once - 1), left.end(), promises_more);
    std::sort(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(at_once));
    if (!ScorePoints(left.first(at_once))) return false;
    left = left.subspan(at_once);
    at_once *= kMoreAtOnce;
  }
  return true;
}

bool BlockSearch::FilterRowsOf(const framework::NodeTable& table, std::span<const NodeIndex> rows,
                               std::vector<VerdictId>& verdicts) {
  const framework::Cycle cycle{table, cycle_->state, cycle_->seed, cycle_->wall_now};
  for (const NodeIndex row : rows) verdicts[row] = kVerdictOk;
  for (const Filter& filter : question_->filters) {
    statuses_->SetPlugin(filter.filter->plugin().Name(), filter.position);
    const Status failed = Guarded([&] {
      filter.filter->FilterRows(cycle, *pod_, rows, verdicts, *statuses_);
      return Status();
    });
    if (!failed.IsSuccess()) return false;
  }
  return true;
}

bool BlockSearch::FilterBlocks() {
  emptiest_verdicts_.resize(blocks_.block_count());
  fullest_verdicts_.resize(blocks_.block_count());
  return FilterRowsOf(blocks_.emptiest(), blocks_.emptiest().rows(), emptiest_verdicts_) &&
         FilterRowsOf(blocks_.fullest(), blocks_.fullest().rows(), fullest_verdicts_);
}

// Bounds are INT64_MIN for blocks without a feasible row.
bool BlockSearch::BoundBlocks() {
  const std::size_t count = blocks_.block_count();
  bounds_.assign(count, 0);
  const framework::Cycle emptiest{blocks_.emptiest(), cycle_->state, cycle_->seed, cycle_->wall_now};
  const framework::Cycle fullest{blocks_.fullest(), cycle_->state, cycle_->seed, cycle_->wall_now};
  scores_.resize(std::max(scores_.size(), count));
  for (const Score& score : question_->scores) {
    const Status failed = Guarded([&] {
      score.as_amounts->ScoreBounds(emptiest, fullest, *pod_, std::span(scores_).first(count));
      return Status();
    });
    if (!failed.IsSuccess()) return false;
    for (BlockId block = 0; block < count; ++block) bounds_[block] += score.weight * scores_[block];
  }
  for (BlockId block = 0; block < count; ++block) {
    const bool are_refused = emptiest_verdicts_[block] != kVerdictOk;
    if (blocks_.point_count(block) == 0 || are_refused) bounds_[block] = INT64_MIN;
  }
  return true;
}

void BlockSearch::AddPointsOf(BlockId block) {
  const std::size_t begin = point_rows_.size();
  point_rows_.resize(begin + blocks_.point_count(block));
  std::iota(point_rows_.begin() + static_cast<std::ptrdiff_t>(begin), point_rows_.end(),
            static_cast<NodeIndex>(block * AmountBlocks::kPointsPerBlock));
}

bool BlockSearch::CountRefused(std::vector<std::uint32_t>& counts) {
  counts.clear();
  const auto add = [&counts](VerdictId verdict, std::size_t count) {
    if (verdict >= counts.size()) counts.resize(verdict + 1, 0);
    counts[verdict] += static_cast<std::uint32_t>(count);
  };
  point_rows_.clear();
  for (BlockId block = 0; block < blocks_.block_count(); ++block) {
    if (emptiest_verdicts_[block] == fullest_verdicts_[block]) {
      add(emptiest_verdicts_[block], blocks_.row_count(block));
    } else {
      AddPointsOf(block);
    }
  }
  if (point_rows_.empty()) return true;
  if (!FilterRowsOf(blocks_.points(), point_rows_, verdicts_)) return false;
  for (const NodeIndex point : point_rows_) add(verdicts_[point], blocks_.RowsOf(point).size());
  return true;
}

bool BlockSearch::ScorePoints(std::span<const BlockId> blocks) {
  point_rows_.clear();
  for (const BlockId block : blocks) {
    const std::size_t begin = point_rows_.size();
    AddPointsOf(block);
    if (emptiest_verdicts_[block] == fullest_verdicts_[block]) {
      const auto points = std::span(verdicts_).subspan(block * AmountBlocks::kPointsPerBlock);
      std::fill_n(points.begin(), point_rows_.size() - begin, kVerdictOk);
    } else {
      // Only feasible points are scored.
      point_rows_.erase(std::remove_if(point_rows_.begin() + static_cast<std::ptrdiff_t>(begin), point_rows_.end(),
                                       [this](NodeIndex point) { return verdicts_[point] != kVerdictOk; }),
                        point_rows_.end());
    }
  }
  if (point_rows_.empty()) return true;
  const framework::Cycle cycle{blocks_.points(), cycle_->state, cycle_->seed, cycle_->wall_now};
  framework::FillRows<std::int64_t>(point_rows_, totals_, 0);
  const auto for_each_run = [this](const auto& visit) {
    framework::ForEachRun(point_rows_, point_rows_.size(), visit);
  };
  for (const Score& score : question_->scores) {
    Status status;
    const Status failed = Guarded([&] {
      score.score->ScoreRows(cycle, *pod_, point_rows_, scores_, status);
      return status;
    });
    if (!failed.IsSuccess()) return false;
    for_each_run([&](NodeIndex first, std::size_t count) {
      AddWeighted(std::span(totals_).subspan(first, count), std::span(scores_).subspan(first, count), score.weight);
    });
  }
  for_each_run([&](NodeIndex first, std::size_t count) { AddBest(first, count); });
  return true;
}

void BlockSearch::AddBest(NodeIndex first, std::size_t count) {
  const std::span<const std::int64_t> totals = std::span(totals_).subspan(first, count);
  const std::int64_t best = MinMaxOf(totals).max;
  if (best < best_total_) return;
  if (best > best_total_) {
    best_total_ = best;
    best_count_ = 0;
    best_points_.clear();
  }
  NodeIndex point = first;
  for (const std::int64_t total : totals) {
    if (total == best) {
      best_points_.push_back(point);
      best_count_ += blocks_.RowsOf(point).size();
    }
    ++point;
  }
}

void BlockSearch::Offer(NodeIndex odd_row, std::int64_t total) {
  if (total < best_total_) return;
  if (total > best_total_) {
    best_total_ = total;
    best_count_ = 0;
    best_points_.clear();
    best_odd_rows_.clear();
  }
  best_odd_rows_.push_back(odd_row);
  ++best_count_;
}

NodeIndex BlockSearch::NthBest(std::size_t n) const {
  for (const NodeIndex point : best_points_) {
    const std::span<const NodeIndex> rows = blocks_.RowsOf(point);
    if (n < rows.size()) return rows[n];
    n -= rows.size();
  }
  return best_odd_rows_[n];
}

}  // namespace berth::runtime
