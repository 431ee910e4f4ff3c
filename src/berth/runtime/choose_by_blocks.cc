// The choice of the best node among blocks of similar rows: what it takes, and what comes out of it.
#include <algorithm>

#include "berth/base/random.h"
#include "berth/runtime/evaluator.h"
#include "berth/runtime/guarded.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::Status;

// Asks the plugins that have a say in this cycle. False when one of them looks at more than a node's amounts.
bool Evaluator::PlanBlocks() {
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  block_question_.filters.clear();
  block_question_.scores.clear();
  block_constant_ = 0;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    const framework::FilterPlugin* plugin = plugins_.filter[f];
    if (!is_filter_active_[f] || plugin->RefusesNone(cycle, *pod_)) continue;
    if (filter_amounts_[f] == nullptr || !filter_amounts_[f]->RestsOnAmounts(cycle, *pod_)) return false;
    block_question_.filters.push_back({plugin, static_cast<int>(f)});
  }
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    const auto& [plugin, weight] = plugins_.score[s];
    if (!is_score_kept_[s]) continue;  // idle, or has_cycle_scores_
    const auto column = std::find_if(kept_->columns.begin(), kept_->columns.end(),
                                     [s](const ScoreColumn& of) { return of.score == s; });
    if (!kept_->is_fixed_score[s] && column == kept_->columns.end()) continue;  // PreScore skipped it
    if (const auto score = plugin->ScoreOfAll(cycle, *pod_)) {
      if (*score < 0 || *score > kRawScoreMax) return false;
      const std::int64_t normalized = Normalized(plugin->ScoreNormalization(), *score, *score);
      if (normalized > framework::kNodeScoreMax) return false;
      block_constant_ += weight * normalized;
    } else if (kept_->is_fixed_score[s] && score_amounts_[s] != nullptr &&
               score_amounts_[s]->RestsOnAmounts(cycle, *pod_)) {
      block_question_.scores.push_back({plugin, score_amounts_[s], weight});
    } else {
      return false;
    }
  }
  return true;
}

bool Evaluator::ChooseByBlocks() {
  if (options_.form != Form::kReuse || !is_kept_fresh_ || do_nominations_matter_) return false;
  if (has_cycle_filters_ || has_cycle_scores_ || nodes_->row_count() < options_.block_rows_min) return false;
  if (nodes_->columns().unusual_count > 0 || !PlanKept()) return false;
  bool can = false;
  const Status failed = Guarded([&] {
    can = PlanBlocks();
    return Status();
  });
  if (!failed.IsSuccess() || !can || !block_choice_.IsWorthwhile(*nodes_)) return false;
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  std::vector<std::uint32_t>& counts = kept_->verdict_counts;
  // A pod that fits nowhere has every row looked at, for those who want to know why.
  if (!block_choice_.Find(cycle, *pod_, block_question_, kept_->statuses, counts) || counts.empty() ||
      counts[kVerdictOk] == 0) {
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
