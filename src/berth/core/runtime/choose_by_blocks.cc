// The choice of the best node among blocks of similar rows: what it takes, and what comes out of it.
#include <algorithm>

#include "berth/base/random.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;

namespace {

// So many rows may be odd, and a part of all: they are looked at one by one.
constexpr std::size_t kOddRowsAnyway = 16;
constexpr std::size_t kOddShare = 16;

}  // namespace

// Asks the plugins that have a say in this cycle. False when one of them looks at more than a node's amounts.
bool Evaluator::PlanBlocks() {
  const framework::Cycle cycle{block_choice_.Plain(*nodes_), state_, seed_, now_};
  block_question_.filters.clear();
  block_question_.scores.clear();
  block_raw_scores_.assign(kept_->columns.size(), 0);
  block_constant_ = 0;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    const framework::FilterPlugin* plugin = plugins_.filter[f];
    if (!is_filter_active_[f] || plugin->RefusesNone(cycle, *pod_)) continue;
    if (filter_amounts_[f] == nullptr || !filter_amounts_[f]->RestsOnAmounts(cycle, *pod_)) return false;
    block_question_.filters.push_back({plugin, static_cast<int>(f)});
  }
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (!kept_->is_fixed_score[s]) continue;
    const auto& [plugin, weight] = plugins_.score[s];
    if (const auto score = plugin->ScoreOfAll(cycle, *pod_)) {
      if (*score < 0 || *score > framework::kNodeScoreMax) return false;
      block_constant_ += weight * *score;
    } else if (score_amounts_[s] != nullptr && score_amounts_[s]->RestsOnAmounts(cycle, *pod_)) {
      block_question_.scores.push_back({plugin, score_amounts_[s], weight});
    } else {
      return false;
    }
  }
  for (std::size_t c = 0; c < kept_->columns.size(); ++c) {
    const ScoreColumn& column = kept_->columns[c];
    const auto& [plugin, weight] = plugins_.score[column.score];
    const auto score = plugin->ScoreOfAll(cycle, *pod_);
    if (!score || *score < 0 || *score > framework::kRawScoreMax) return false;
    block_raw_scores_[c] = *score;
    const RawRange range = RawRangeOf(column.normalization, std::span(&*score, 1));
    block_constant_ += weight * Normalized(column.normalization, *score, range);
  }
  return true;
}

// Adds the odd rows to the counts, and makes feasible_ the feasible ones. False when a filter fails.
bool Evaluator::FilterOddRows() {
  const std::span<const NodeIndex> rows = block_choice_.odd_rows();
  feasible_.clear();
  if (rows.empty()) return true;
  scratch_verdicts_.resize(nodes_->row_count());
  for (const NodeIndex row : rows) scratch_verdicts_[row] = kVerdictOk;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (is_filter_active_[f]) FilterRowsInto(f, rows, scratch_verdicts_);
  }
  for (const NodeIndex row : rows) {
    const framework::VerdictId verdict = scratch_verdicts_[row];
    if (verdict == kVerdictOk) {
      feasible_.push_back(row);
    } else if (!kept_->statuses.Get(verdict).IsRejected()) {
      return false;
    }
    std::vector<std::uint32_t>& counts = kept_->verdict_counts;
    if (verdict >= counts.size()) counts.resize(verdict + 1, 0);
    ++counts[verdict];
  }
  return true;
}

// False when an odd row has another raw score than all others, so that it matters to how theirs are normalised.
bool Evaluator::ScoreOddRows() {
  if (feasible_.empty()) return true;
  scratch_scores_.resize(nodes_->row_count());
  for (std::size_t c = 0; c < kept_->columns.size(); ++c) {
    if (!ScoreRowsInto(kept_->columns[c].score, feasible_, scratch_scores_).IsSuccess()) return false;
    for (const NodeIndex row : feasible_) {
      if (scratch_scores_[row] != block_raw_scores_[c]) return false;
    }
  }
  totals_.assign(feasible_.size(), 0);
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (!kept_->is_fixed_score[s]) continue;
    std::optional<std::int64_t> score;
    const Status failed = GuardedCall([&] {
      score = plugins_.score[s].plugin->ScoreOfAll({block_choice_.Plain(*nodes_), state_, seed_, now_}, *pod_);
    });
    if (!failed.IsSuccess()) return false;
    if (!ScoreRowsInto(s, feasible_, scratch_scores_).IsSuccess()) return false;
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
      const std::int64_t of_row = scratch_scores_[feasible_[i]];
      if (of_row < 0 || of_row > framework::kNodeScoreMax) return false;
      // What all others have the same of is not in their totals either.
      totals_[i] += plugins_.score[s].weight * (of_row - score.value_or(0));
    }
  }
  for (std::size_t i = 0; i < feasible_.size(); ++i) block_choice_.Offer(feasible_[i], totals_[i]);
  return true;
}

bool Evaluator::ChooseByBlocks() {
  if (options_.form != Form::kReuse || !is_kept_fresh_ || do_nominations_matter_) return false;
  if (has_cycle_filters_ || has_cycle_scores_ || nodes_->row_count() < options_.block_rows_min) return false;
  if (AmountBlocks::OddCountMax(*nodes_) > kOddRowsAnyway + nodes_->row_count() / kOddShare || !PlanKept())
    return false;
  bool can = false;
  const Status failed = Guarded([&] {
    can = PlanBlocks();
    return Status();
  });
  if (!failed.IsSuccess() || !can || !block_choice_.IsWorthwhile(*nodes_)) return false;
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  std::vector<std::uint32_t>& counts = kept_->verdict_counts;
  // A pod that fits nowhere has every row looked at, for those who want to know why.
  if (!block_choice_.Find(cycle, *pod_, block_question_, kept_->statuses, counts) || !FilterOddRows() ||
      !ScoreOddRows() || counts.empty() || counts[kVerdictOk] == 0) {
    kept_->statuses = framework::StatusTable();
    counts.clear();
    return false;
  }
  const std::size_t best_count = block_choice_.best_count();
  outcome_.node = block_choice_.NthBest(best_count == 1 ? 0 : Random(seed_).Below(best_count));
  outcome_.result = Result::kFeasible;
  outcome_.feasible_count = kept_->feasible_count = counts[kVerdictOk];
  outcome_.is_scored = outcome_.feasible_count > 1 && !plugins_.score.empty();
  outcome_.total = outcome_.is_scored ? block_choice_.best_total() + block_constant_ : 0;
  is_chosen_by_blocks_ = true;
  ++block_choice_count_;
  if (!options_.with_detail) return true;
  for (std::size_t n = 0; n < best_count; ++n) outcome_.best.push_back(block_choice_.NthBest(n));
  std::sort(outcome_.best.begin(), outcome_.best.end());
  return true;
}

}  // namespace berth::runtime
