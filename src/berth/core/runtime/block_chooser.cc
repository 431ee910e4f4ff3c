// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/block_chooser.h"

#include <algorithm>
#include <optional>

#include "berth/base/random.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/node_filters.h"
#include "berth/core/runtime/normalization.h"
#include "berth/core/runtime/plugin_calls.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;

namespace {

// Limits on odd rows (amount_blocks.h), which are evaluated one by one: this number, or one for each kRowsPerOddRow
// rows if that is more.
constexpr std::size_t kOddRowsMin = 16;
constexpr std::size_t kRowsPerOddRow = 16;

template <typename Entry>
std::vector<const framework::AmountsPlugin*> AmountsPluginsOf(const std::vector<Entry>& entries) {
  std::vector<const framework::AmountsPlugin*> plugins;
  for (const Entry& entry : entries) plugins.push_back(dynamic_cast<const framework::AmountsPlugin*>(entry.plugin));
  return plugins;
}

}  // namespace

BlockChooser::BlockChooser(const ProfileTraits& profile, ClassUpdater& updater)
    : filter_amounts_(AmountsPluginsOf(profile.filters)),
      score_amounts_(AmountsPluginsOf(profile.scores)),
      updater_(updater) {}

bool BlockChooser::CanUseBlocks(const EvaluationCycle& cycle) {
  if (cycle.options.form != Form::kReuse || !cycle.is_first_sight) return false;
  if (cycle.request.extenders != nullptr || cycle.outcome.narrowed_to || cycle.do_nominations_matter) return false;
  if (!cycle.plan.unkept_filters.empty() || cycle.plan.has_unkept_scores) return false;
  const std::size_t row_count = cycle.nodes().row_count();
  return row_count >= cycle.options.block_rows_min &&
         AmountBlocks::OddCountMax(cycle.nodes()) <= kOddRowsMin + row_count / kRowsPerOddRow;
}

bool BlockChooser::Choose(EvaluationCycle& cycle) {
  if (!CanUseBlocks(cycle) || !updater_.Plan(cycle)) return false;
  bool can = false;
  const Status failed = GuardedCall([&] { can = Plan(cycle); });
  if (!failed.IsSuccess() || !can || !search_.IsWorthwhile(cycle.nodes())) return false;
  if (!Search(cycle)) {
    // If the pod fits nowhere, the scan evaluates every row to report the reasons.
    cycle.kept->statuses = framework::StatusTable();
    return false;
  }
  Outcome& outcome = cycle.outcome;
  const std::size_t best_count = search_.best_count();
  outcome.node = search_.NthBest(best_count == 1 ? 0 : Random(cycle.request.seed).Below(best_count));
  outcome.result = Result::kFeasible;
  outcome.feasible_count = verdict_counts_[kVerdictOk];
  outcome.is_scored = outcome.feasible_count > 1 && !cycle.profile.scores.empty();
  outcome.total = outcome.is_scored ? search_.best_total() + constant_ : 0;
  if (!cycle.options.with_detail) return true;
  for (std::size_t n = 0; n < best_count; ++n) outcome.best.push_back(search_.NthBest(n));
  std::sort(outcome.best.begin(), outcome.best.end());
  return true;
}

// Determines what the plugins of this cycle depend on. Returns false when one of them depends on more than a node's
// amounts.
bool BlockChooser::Plan(EvaluationCycle& cycle) {
  const framework::Cycle of_plain_nodes{search_.Plain(cycle.nodes()), cycle.state, cycle.request.seed,
                                        cycle.request.wall_now};
  question_.filters.clear();
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    const RowFilter& by_rows = cycle.profile.filters[f].by_rows;
    if (!cycle.plan.is_filter_active[f] || by_rows.RefusesNone(of_plain_nodes, cycle.pod())) continue;
    if (filter_amounts_[f] == nullptr || !filter_amounts_[f]->RestsOnAmounts(of_plain_nodes, cycle.pod())) return false;
    question_.filters.push_back({&by_rows, static_cast<int>(f)});
  }
  return PlanScores(cycle, of_plain_nodes);
}

bool BlockChooser::PlanScores(EvaluationCycle& cycle, const framework::Cycle& of_plain_nodes) {
  const KeptEvaluation& kept = *cycle.kept;
  question_.scores.clear();
  raw_scores_.assign(kept.columns.size(), 0);
  constant_ = 0;
  for (std::size_t s = 0; s < cycle.profile.scores.size(); ++s) {
    if (!kept.is_fixed_score[s]) continue;
    const RowScore& by_rows = cycle.profile.scores[s].by_rows;
    const std::int64_t weight = cycle.profile.scores[s].weight;
    if (const auto score = by_rows.ScoreOfAll(of_plain_nodes, cycle.pod())) {
      if (*score < 0 || *score > framework::kNodeScoreMax) return false;
      constant_ += weight * *score;
    } else if (score_amounts_[s] != nullptr && score_amounts_[s]->RestsOnAmounts(of_plain_nodes, cycle.pod())) {
      question_.scores.push_back({&by_rows, score_amounts_[s], weight});
    } else {
      return false;
    }
  }
  for (std::size_t c = 0; c < kept.columns.size(); ++c) {
    const ScoreColumn& column = kept.columns[c];
    const ProfileTraits::Score& entry = cycle.profile.scores[column.score];
    const auto score = entry.by_rows.ScoreOfAll(of_plain_nodes, cycle.pod());
    if (!score || *score < 0 || *score > framework::kRawScoreMax) return false;
    raw_scores_[c] = *score;
    const RawRange range = RawRangeOf(column.normalization, std::span(&*score, 1));
    constant_ += entry.weight * Normalized(column.normalization, *score, range);
  }
  return true;
}

// Returns false also when no row is feasible.
bool BlockChooser::Search(EvaluationCycle& cycle) {
  return search_.Find(cycle.ForPlugins(), cycle.pod(), question_, cycle.kept->statuses, verdict_counts_) &&
         FilterOddRows(cycle) && ScoreOddRows(cycle) && !verdict_counts_.empty() && verdict_counts_[kVerdictOk] > 0;
}

// Filters the odd rows, adds them to the counts and fills feasible_. Returns false when a filter fails.
bool BlockChooser::FilterOddRows(EvaluationCycle& cycle) {
  const std::span<const NodeIndex> rows = search_.odd_rows();
  feasible_.clear();
  if (rows.empty()) return true;
  odd_verdicts_.resize(cycle.nodes().row_count());
  for (const NodeIndex row : rows) odd_verdicts_[row] = kVerdictOk;
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    if (cycle.plan.is_filter_active[f]) FilterRows(cycle, f, rows, odd_verdicts_);
  }
  for (const NodeIndex row : rows) {
    const framework::VerdictId verdict = odd_verdicts_[row];
    if (verdict == kVerdictOk) {
      feasible_.push_back(row);
    } else if (!cycle.kept->statuses.Get(verdict).IsRejected()) {
      return false;
    }
    if (verdict >= verdict_counts_.size()) verdict_counts_.resize(verdict + 1, 0);
    ++verdict_counts_[verdict];
  }
  return true;
}

// Returns false when an odd row changes the normalisation of the other rows' scores, or when a plugin fails.
bool BlockChooser::ScoreOddRows(EvaluationCycle& cycle) {
  if (feasible_.empty()) return true;
  odd_scores_.resize(cycle.nodes().row_count());
  if (!HaveUsualRawScores(cycle)) return false;
  const framework::Cycle of_plain_nodes{search_.Plain(cycle.nodes()), cycle.state, cycle.request.seed,
                                        cycle.request.wall_now};
  totals_.assign(feasible_.size(), 0);
  for (std::size_t s = 0; s < cycle.profile.scores.size(); ++s) {
    if (!cycle.kept->is_fixed_score[s]) continue;
    const ProfileTraits::Score& entry = cycle.profile.scores[s];
    std::optional<std::int64_t> score;
    const Status failed = GuardedCall([&] { score = entry.by_rows.ScoreOfAll(of_plain_nodes, cycle.pod()); });
    if (!failed.IsSuccess() || !ScoreRows(cycle, s, feasible_, odd_scores_).IsSuccess()) return false;
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
      const std::int64_t of_row = odd_scores_[feasible_[i]];
      if (of_row < 0 || of_row > framework::kNodeScoreMax) return false;
      // The score that all other nodes share is left out of all totals.
      totals_[i] += entry.weight * (of_row - score.value_or(0));
    }
  }
  for (std::size_t i = 0; i < feasible_.size(); ++i) search_.Offer(feasible_[i], totals_[i]);
  return true;
}

bool BlockChooser::HaveUsualRawScores(EvaluationCycle& cycle) {
  for (std::size_t c = 0; c < cycle.kept->columns.size(); ++c) {
    if (!ScoreRows(cycle, cycle.kept->columns[c].score, feasible_, odd_scores_).IsSuccess()) return false;
    for (const NodeIndex row : feasible_) {
      if (odd_scores_[row] != raw_scores_[c]) return false;
    }
  }
  return true;
}

Status BlockChooser::StatusOf(const EvaluationCycle& cycle, NodeIndex row) const {
  // Only blocks that could hold the best node were searched, so that the filters are run now.
  const framework::NodeInfo& node = cycle.nodes().Info(row);
  framework::CycleState state = cycle.state.Clone();
  return node.has_node() ? RunFilters(cycle, state, cycle.pod(), node) : cycle.absent_status;
}

void BlockChooser::CountVerdicts(const EvaluationCycle&, VerdictCounts& counts) const {
  counts.by_verdict.assign(verdict_counts_.begin(), verdict_counts_.end());
}

}  // namespace berth::runtime
