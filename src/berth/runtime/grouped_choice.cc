// The choice of the best node from what the class has kept, without a look at every row: plugins whose answers rest on
// pods anywhere are asked about one row of each group that they tell apart (framework::GroupingPlugin), and the best
// row of a group is known.
#include <algorithm>

#include "berth/base/check.h"
#include "berth/base/random.h"
#include "berth/runtime/evaluator.h"
#include "berth/runtime/guarded.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Status;
using framework::VerdictId;

namespace {

// Rows that are marked at once.
constexpr std::size_t kChunkRows = 1024;
// A raw score's share of the marks.
constexpr std::size_t kMarksPerScore = sizeof(std::int64_t) / sizeof(std::uint32_t);

}  // namespace

bool Evaluator::HasErrorCount() const {
  for (VerdictId id = 1; id < kept_->verdict_counts.size(); ++id) {
    if (kept_->verdict_counts[id] > 0 && !kept_->statuses.Get(id).IsRejected()) return true;
  }
  return false;
}

bool Evaluator::CanChooseFromKept() const {
  return options_.form == Form::kReuse && are_scores_kept_ && !outcome_.narrowed_to && !IsNominationRelevant() &&
         !HasErrorCount();
}

bool Evaluator::ChooseFromKept() {
  if (!is_kept_fresh_ && ChooseByGroups()) return true;
  order_ = nullptr;
  return ChooseByScan();
}

// For the first pod of its kind, which has no order of rows yet.
bool Evaluator::ChooseByScan() {
  if (has_cycle_filters_ || has_cycle_scores_ || kept_->feasible_count == 0) return false;
  if (!std::all_of(kept_->columns.begin(), kept_->columns.end(), [](const auto& column) { return column.is_zero; }))
    return false;
  const std::vector<VerdictId>& verdicts = kept_->verdicts;
  const std::vector<std::int64_t>& fixed = kept_->fixed;
  std::int64_t best = 0;
  std::size_t count = 0;
  for (const NodeIndex row : nodes_->rows()) {
    if (verdicts[row] != kVerdictOk) continue;
    if (count == 0 || fixed[row] > best) {
      best = fixed[row];
      count = 0;
    }
    count += fixed[row] == best ? 1 : 0;
  }
  std::size_t left = count == 1 ? 0 : Random(seed_).Below(count);
  for (const NodeIndex row : nodes_->rows()) {
    if (verdicts[row] != kVerdictOk || fixed[row] != best) continue;
    if (options_.with_detail) outcome_.best.push_back(row);
    if (left-- > 0) continue;
    outcome_.node = row;
    if (!options_.with_detail) break;
  }
  outcome_.result = Result::kFeasible;
  outcome_.feasible_count = kept_->feasible_count;
  outcome_.is_scored = kept_->feasible_count > 1 && !plugins_.score.empty();
  if (!outcome_.is_scored) return true;
  outcome_.total = best;
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    const framework::PreScorePlugin* prepares = pre_score_of_[s];
    if (!is_score_kept_[s] || kept_->is_fixed_score[s]) continue;
    const auto column = std::find_if(kept_->columns.begin(), kept_->columns.end(),
                                     [s](const ScoreColumn& candidate) { return candidate.score == s; });
    if (column == kept_->columns.end()) continue;  // PreScore skipped it
    BERTH_CHECK(prepares == nullptr || column->is_zero);
    outcome_.total += plugins_.score[s].weight * Normalized(column->normalization, 0, 0);
  }
  return true;
}

bool Evaluator::ChooseByGroups() {
  if (!PlanGroups() || !UpdateOrder() || !FilterGroups()) return false;
  outcome_.feasible_count = 0;
  for (const std::size_t size : feasible_sizes_) outcome_.feasible_count += size;
  if (outcome_.feasible_count == 0) {
    outcome_.result = Result::kRefused;
    for (const auto& [status, count] : RefusalCounts()) {
      outcome_.unschedulable_plugins.insert(std::string(status.plugin()));
    }
    if (options_.with_detail) outcome_.evaluated.assign(nodes_->rows().begin(), nodes_->rows().end());
    return true;
  }
  totals_.clear();
  for (const TotalsOrder::GroupId group : feasible_groups_) totals_.push_back(order_->BestTotal(group));
  outcome_.is_scored = outcome_.feasible_count > 1 && !plugins_.score.empty();
  if (outcome_.is_scored && !ScoreRepresentatives()) {
    // A plugin failed: the way of all rows words it.
    outcome_.result = Result::kError;
    outcome_.error.clear();
    outcome_.is_scored = false;
    outcome_.scores.clear();
    return false;
  }
  ChooseAmongGroups();
  return true;
}

// Whether every plugin that has a say in this cycle, and that the class cannot keep, can tell groups.
bool Evaluator::PlanGroups() {
  groupers_.clear();
  const auto add = [this](const framework::GroupingPlugin* plugin) {
    if (plugin == nullptr) return false;
    if (std::find(groupers_.begin(), groupers_.end(), plugin) == groupers_.end()) groupers_.push_back(plugin);
    return true;
  };
  int first_cycle_filter = INT_MAX;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (!is_filter_active_[f] || is_filter_kept_[f]) continue;
    if (!add(filter_grouper_[f])) return false;
    first_cycle_filter = std::min(first_cycle_filter, static_cast<int>(f));
  }
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (!is_score_kept_[s] && !is_score_idle_[s] && !add(score_grouper_[s])) return false;
  }
  // The first plugin that refuses a row is the one that counts. The order does not hold the rows that a later one,
  // which is kept, refuses.
  for (VerdictId id = 1; id < kept_->verdict_counts.size(); ++id) {
    if (kept_->verdict_counts[id] > 0 && kept_->statuses.Position(id) > first_cycle_filter) return false;
  }
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  group_marks_.clear();
  marks_width_ = 0;
  for (const framework::GroupingPlugin* plugin : groupers_) {
    std::optional<framework::GroupingPlugin::Marks> marks;
    const Status failed = Guarded([&] {
      marks = plugin->MarksOf(cycle, *pod_);
      return Status();
    });
    if (!failed.IsSuccess() || !marks) return false;
    group_marks_.push_back(*marks);
    marks_width_ += marks->width;
  }
  for (const ScoreColumn& column : kept_->columns) marks_width_ += column.is_zero ? 0 : kMarksPerScore;
  return true;
}

// Brings the order up to date with the kept verdicts and scores, and with the plugins' marks.
bool Evaluator::UpdateOrder() {
  const std::uint64_t key = groupers_.empty() ? KeyOf(*pod_) * 2 : pod_->pod_class->id * 2 + 1;
  kept_order_ = orders_.Find(key);
  if (kept_order_ == nullptr) {
    if (!groupers_.empty() && IsFirstSight(~key)) return false;
    kept_order_ = &orders_.Add(key, std::make_unique<KeptOrder>());
  }
  KeptOrder& kept = *kept_order_;
  if (kept.cycles_to_wait > 0 && --kept.cycles_to_wait > 0) return false;
  const bool has_other_marks = kept.marks != group_marks_ || kept.order.width() != marks_width_;
  const auto changed =
      kept.rebuild != kept_->rebuild || has_other_marks ? std::nullopt : nodes_->ChangedSince(kept.version);
  if (changed) {
    scratch_rows_.clear();
    for (const NodeIndex row : *changed) {
      if (kept_->verdicts[row] == kVerdictOk) {
        scratch_rows_.push_back(row);
      } else {
        kept.order.Remove(row);
      }
    }
    PutRows(scratch_rows_);
  } else {
    kept.order.Reset(marks_width_);
    kept.marks = group_marks_;
    kept.rebuild = kept_->rebuild;
    feasible_.clear();
    for (const NodeIndex row : nodes_->rows()) {
      if (kept_->verdicts[row] == kVerdictOk) feasible_.push_back(row);
    }
    PutRows(feasible_);
  }
  kept.version = nodes_->version();
  order_ = &kept.order;
  if (kept.cycles_to_wait == 0) return true;
  kept.order.Reset(0);
  kept.rebuild = 0;
  return false;
}

void Evaluator::PutRows(std::span<const NodeIndex> rows) {
  TotalsOrder& order = kept_order_->order;
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  const std::size_t groups_max = std::max(kGroupsMin, nodes_->row_count() / kRowsPerGroup);
  for (std::size_t begin = 0; begin < rows.size(); begin += kChunkRows) {
    const auto chunk = rows.subspan(begin, std::min(kChunkRows, rows.size() - begin));
    scratch_marks_.resize(chunk.size() * marks_width_);
    std::size_t offset = 0;
    for (std::size_t g = 0; g < groupers_.size(); ++g) {
      if (group_marks_[g].width == 0) continue;
      groupers_[g]->MarkRows(cycle, *pod_, chunk, std::span(scratch_marks_).subspan(offset), marks_width_);
      offset += group_marks_[g].width;
    }
    for (const ScoreColumn& column : kept_->columns) {
      if (column.is_zero) continue;
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        const auto raw = static_cast<std::uint64_t>(column.raw[chunk[i]]);
        scratch_marks_[i * marks_width_ + offset] = static_cast<std::uint32_t>(raw);
        scratch_marks_[i * marks_width_ + offset + 1] = static_cast<std::uint32_t>(raw >> 32);
      }
      offset += kMarksPerScore;
    }
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      order.Put(chunk[i], kept_->fixed[chunk[i]], std::span(scratch_marks_).subspan(i * marks_width_, marks_width_));
    }
    if (order.groups().size() > groups_max) {
      kept_order_->cycles_to_wait = kCyclesToWait;
      return;
    }
  }
}

// Asks this cycle's filters about one row of each group. False when one fails.
bool Evaluator::FilterGroups() {
  scratch_live_.clear();
  if (cycle_verdicts_.size() < nodes_->row_count()) cycle_verdicts_.resize(nodes_->row_count(), kVerdictNoNode);
  for (const TotalsOrder::GroupId group : order_->groups()) {
    scratch_live_.push_back(order_->SomeRowOf(group));
    cycle_verdicts_[scratch_live_.back()] = kVerdictOk;
  }
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (is_filter_active_[f] && !is_filter_kept_[f]) FilterRowsInto(f, scratch_live_, cycle_verdicts_);
  }
  feasible_.clear();
  feasible_groups_.clear();
  feasible_sizes_.clear();
  for (std::size_t i = 0; i < scratch_live_.size(); ++i) {
    const TotalsOrder::GroupId group = order_->groups()[i];
    const VerdictId verdict = cycle_verdicts_[scratch_live_[i]];
    if (group >= group_verdicts_.size()) group_verdicts_.resize(group + 1);
    group_verdicts_[group] = verdict;
    if (verdict != kVerdictOk) {
      if (!kept_->statuses.Get(verdict).IsRejected()) return false;
      continue;
    }
    feasible_.push_back(scratch_live_[i]);
    feasible_groups_.push_back(group);
    feasible_sizes_.push_back(order_->SizeOf(group));
  }
  return true;
}

// Fills is_score_active_.
bool Evaluator::PreScoreGroups() {
  is_score_active_.assign(plugins_.score.size(), true);
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    const framework::PreScorePlugin* plugin = pre_score_of_[s];
    if (plugin == nullptr) continue;
    const auto at = std::find(plugins_.pre_score.begin(), plugins_.pre_score.end(), plugin);
    const auto& kept = kept_->pre_score[static_cast<std::size_t>(at - plugins_.pre_score.begin())];
    Status status;
    if (kept) {
      status = *kept;
    } else if (is_score_idle_[s]) {
      status = Status::Skip();
    } else {
      status = Guarded([&] { return score_grouper_[s]->PreScoreGroups(cycle, *pod_, feasible_, feasible_sizes_); });
    }
    if (status.IsSkip()) {
      is_score_active_[s] = false;
    } else if (!status.IsSuccess()) {
      return false;
    }
  }
  return true;
}

// Adds to totals_, which are parallel to feasible_ and hold what was kept, what normalisation and this cycle add.
bool Evaluator::ScoreRepresentatives() {
  if (!PreScoreGroups()) return false;
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (is_score_active_[s] && !is_score_idle_[s] && !kept_->is_fixed_score[s] && !AddScores(s)) return false;
  }
  return true;
}

void Evaluator::ChooseAmongGroups() {
  const std::int64_t best = *std::max_element(totals_.begin(), totals_.end());
  std::size_t count = 0;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] == best) count += order_->BestRows(feasible_groups_[i]).size();
  }
  std::size_t left = count == 1 ? 0 : Random(seed_).Below(count);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] != best) continue;
    const std::span<const NodeIndex> rows = order_->BestRows(feasible_groups_[i]);
    if (options_.with_detail) outcome_.best.insert(outcome_.best.end(), rows.begin(), rows.end());
    if (left < rows.size() && outcome_.node == framework::kNoNode) outcome_.node = rows[left];
    left -= std::min(left, rows.size());
  }
  std::sort(outcome_.best.begin(), outcome_.best.end());
  outcome_.result = Result::kFeasible;
  outcome_.total = outcome_.is_scored ? best : 0;
}

}  // namespace berth::runtime
