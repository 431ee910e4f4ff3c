// The choice of the best node from what the class has kept, without a look at every row: plugins whose answers rest on
// pods anywhere are asked about one row of each group that they tell apart (framework::GroupingPlugin), and the best
// row of a group is known.
#include <algorithm>
#include <climits>

#include "berth/base/check.h"
#include "berth/base/random.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/row_loops.h"

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
  return options_.form == Form::kReuse && are_scores_kept_ && !outcome_.narrowed_to &&
         (!do_nominations_matter_ || kept_->folds_nominations) && !HasErrorCount();
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
  const BestRows best = BestOf(verdicts, fixed);
  std::size_t left = best.count == 1 ? 0 : Random(seed_).Below(best.count);
  for (NodeIndex row = 0; row < verdicts.size(); ++row) {
    if (verdicts[row] != kVerdictOk || fixed[row] != best.total) continue;
    if (options_.with_detail) outcome_.best.push_back(row);
    if (left-- > 0) continue;
    outcome_.node = row;
    if (!options_.with_detail) break;
  }
  outcome_.result = Result::kFeasible;
  outcome_.feasible_count = kept_->feasible_count;
  outcome_.is_scored = kept_->feasible_count > 1 && !plugins_.score.empty();
  if (!outcome_.is_scored) return true;
  outcome_.total = best.total;
  for (const ScoreColumn& column : kept_->columns) {
    outcome_.total += plugins_.score[column.score].weight * Normalized(column.normalization, 0, {});
  }
  return true;
}

bool Evaluator::ChooseByGroups() {
  if (!PlanGroups() || !PlanMarks() || !UpdateOrder()) return false;
  CollectCandidates();
  if (!FilterCandidates()) return false;
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
  for (const std::size_t i : feasible_candidates_) totals_.push_back(order_->TotalOf(candidates_[i].level));
  outcome_.is_scored = outcome_.feasible_count > 1 && !plugins_.score.empty();
  if (outcome_.is_scored && !ScoreCandidates()) {
    // A plugin failed: the way of all rows words it.
    outcome_.result = Result::kError;
    outcome_.error.clear();
    outcome_.is_scored = false;
    outcome_.scores.clear();
    return false;
  }
  ChooseAmongCandidates();
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
  return true;
}

bool Evaluator::CollectMarks(MarkKind kind, std::size_t special_max) {
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  mark_kind_ = kind;
  special_rows_.clear();
  group_marks_.clear();
  marks_width_ = 0;
  for (const framework::GroupingPlugin* plugin : groupers_) {
    std::optional<framework::GroupingPlugin::Marks> marks;
    const Status failed = Guarded([&] {
      marks = kind == MarkKind::kOwn ? plugin->MarksOf(cycle, *pod_)
                                     : plugin->SharedMarksOf(cycle, *pod_, special_max, special_rows_);
      if (marks) plugin->SingleOut(cycle, *pod_, special_rows_);
      return Status();
    });
    if (!failed.IsSuccess() || !marks) return false;
    std::erase_if(special_rows_, [this](NodeIndex row) { return row >= nodes_->row_count(); });
    group_marks_.push_back(*marks);
    marks_width_ += marks->width;
  }
  for (const ScoreColumn& column : kept_->columns) marks_width_ += column.is_zero ? 0 : kMarksPerScore;
  return true;
}

// An order of shared marks costs each class its special rows in every cycle; one of its own marks costs the rows that
// changed since it was last used. Classes that take turns fare better with the first, one that comes in numbers with
// the second, and so do classes that have their own marks in common. So many special rows are worth it, for who would
// choose by the order `own_id` otherwise.
std::size_t Evaluator::SpecialMax(std::uint64_t own_id) {
  if (order_versions_.size() > kSeenMax) order_versions_.clear();
  std::uint64_t& last = order_versions_[own_id];
  const std::uint64_t behind = nodes_->version() - last;
  last = nodes_->version();
  return kSpecialAnyway + static_cast<std::size_t>(std::min<std::uint64_t>(behind, kSpecialMax));
}

// Decides which order it will be, and asks the plugins for their marks.
bool Evaluator::PlanMarks() {
  const bool is_shared = CollectMarks(MarkKind::kShared, groupers_.empty() ? 0 : kSpecialAnyway);
  std::uint64_t id = is_shared ? OrderId() : 0;
  if (!is_shared) {
    if (groupers_.empty() || !CollectMarks(MarkKind::kOwn, 0)) return false;
    id = OrderId();
    const std::size_t special_max = SpecialMax(id);
    if (special_max > kSpecialAnyway && CollectMarks(MarkKind::kShared, special_max)) {
      id = OrderId();
    } else if (!CollectMarks(MarkKind::kOwn, 0) || (orders_.Find(id) == nullptr && IsFirstSight(~id))) {
      return false;
    }
  }
  kept_order_ = orders_.Find(id);
  if (kept_order_ == nullptr) kept_order_ = &orders_.Add(id);
  return true;
}

// Of the order of what is kept and of the marks that were just collected.
std::uint64_t Evaluator::OrderId() {
  const auto add = [this](std::uint64_t number) {
    scratch_key_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  scratch_key_.clear();
  add(key_);
  add(static_cast<std::uint64_t>(mark_kind_));
  for (std::size_t g = 0; g < groupers_.size(); ++g) {
    add(reinterpret_cast<std::uintptr_t>(groupers_[g]));
    add(group_marks_[g].version);
  }
  if (order_ids_.size() > kOrderIdsMax) order_ids_.clear();
  const auto [it, is_new] = order_ids_.try_emplace(scratch_key_, order_id_count_);
  if (is_new) ++order_id_count_;
  return it->second;
}

// Brings the order up to date with the kept verdicts and scores, and with the plugins' marks.
bool Evaluator::UpdateOrder() {
  KeptOrder& kept = *kept_order_;
  if (kept.cycles_to_wait > 0 && --kept.cycles_to_wait > 0) return false;
  const bool has_other_marks = kept.marks != group_marks_ || kept.order.width() != marks_width_;
  const auto changed = kept.rebuild != kept_->rebuild || has_other_marks
                           ? std::nullopt
                           : ChangedSince(kept.version, kept.nominated_version);
  const Status failed = GuardedCall([&] {
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
  });
  // A plugin that cannot mark the rows is asked about all of them instead.
  if (!failed.IsSuccess()) kept.cycles_to_wait = kCyclesToWait;
  kept.version = nodes_->version();
  if (kept_->folds_nominations) kept.nominated_version = nominated_->version();
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
      groupers_[g]->MarkRows(cycle, *pod_, mark_kind_, chunk, std::span(scratch_marks_).subspan(offset), marks_width_);
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

// Fills candidates_ from the groups of the order and the special rows.
void Evaluator::CollectCandidates() {
  candidates_.clear();
  if (++special_cycle_ == 0) {  // wrapped around
    std::fill(special_in_.begin(), special_in_.end(), 0);
    special_cycle_ = 1;
  }
  if (specials_of_level_.size() < order_->level_count()) specials_of_level_.resize(order_->level_count());
  if (!special_rows_.empty()) AddSpecialCandidates();
  for (const TotalsOrder::GroupId group : order_->groups()) {
    Candidate candidate;
    candidate.group = group;
    candidate.size = order_->SizeOf(group) - (group < specials_of_group_.size() ? specials_of_group_[group] : 0);
    if (candidate.size == 0) continue;
    candidate.level = order_->BestLevel(group, specials_of_level_);
    const std::span<const NodeIndex> rows = order_->RowsOf(candidate.level);
    candidate.best_count = rows.size() - specials_of_level_[candidate.level];
    candidate.some_row = *std::find_if(rows.begin(), rows.end(), [this](NodeIndex row) { return !IsSpecial(row); });
    candidates_.push_back(candidate);
  }
  for (const NodeIndex row : special_rows_) {
    if (!IsSpecial(row)) continue;
    specials_of_level_[order_->LevelOf(row)] = 0;
    specials_of_group_[order_->GroupOf(row)] = 0;
  }
}

void Evaluator::AddSpecialCandidates() {
  if (special_in_.size() < nodes_->row_count()) special_in_.resize(nodes_->row_count(), 0);
  for (const NodeIndex row : special_rows_) {
    const TotalsOrder::GroupId group = order_->GroupOf(row);
    if (group == TotalsOrder::kNoGroup || IsSpecial(row)) continue;
    special_in_[row] = special_cycle_;
    if (group >= specials_of_group_.size()) specials_of_group_.resize(group + 1);
    ++specials_of_group_[group];
    ++specials_of_level_[order_->LevelOf(row)];
    candidates_.push_back({row, 1, group, order_->LevelOf(row), 1, true, kVerdictOk});
  }
}

// Asks this cycle's filters about one row of each candidate. False when one fails.
bool Evaluator::FilterCandidates() {
  scratch_live_.clear();
  if (cycle_verdicts_.size() < nodes_->row_count()) cycle_verdicts_.resize(nodes_->row_count(), kVerdictNoNode);
  for (const Candidate& candidate : candidates_) {
    scratch_live_.push_back(candidate.some_row);
    cycle_verdicts_[candidate.some_row] = kVerdictOk;
  }
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (is_filter_active_[f] && !is_filter_kept_[f]) FilterRowsInto(f, scratch_live_, cycle_verdicts_);
  }
  feasible_.clear();
  feasible_candidates_.clear();
  feasible_sizes_.clear();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    candidate.verdict = cycle_verdicts_[candidate.some_row];
    if (!candidate.is_special) {
      if (candidate.group >= group_verdicts_.size()) group_verdicts_.resize(candidate.group + 1);
      group_verdicts_[candidate.group] = candidate.verdict;
    }
    if (candidate.verdict != kVerdictOk) {
      if (!kept_->statuses.Get(candidate.verdict).IsRejected()) return false;
      continue;
    }
    feasible_.push_back(candidate.some_row);
    feasible_candidates_.push_back(i);
    feasible_sizes_.push_back(candidate.size);
  }
  return true;
}

// Fills is_score_active_.
bool Evaluator::PreScoreCandidates() {
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
bool Evaluator::ScoreCandidates() {
  if (!PreScoreCandidates()) return false;
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    if (is_score_active_[s] && !is_score_idle_[s] && !kept_->is_fixed_score[s] && !AddScores(s)) return false;
  }
  return true;
}

void Evaluator::ChooseAmongCandidates() {
  const std::int64_t best = *std::max_element(totals_.begin(), totals_.end());
  std::size_t count = 0;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] == best) count += candidates_[feasible_candidates_[i]].best_count;
  }
  std::size_t left = count == 1 ? 0 : Random(seed_).Below(count);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i] != best) continue;
    const Candidate& candidate = candidates_[feasible_candidates_[i]];
    if (outcome_.node == framework::kNoNode && left < candidate.best_count) outcome_.node = NthBest(candidate, left);
    left -= std::min(left, candidate.best_count);
    for (std::size_t n = 0; options_.with_detail && n < candidate.best_count; ++n)
      outcome_.best.push_back(NthBest(candidate, n));
  }
  std::sort(outcome_.best.begin(), outcome_.best.end());
  outcome_.result = Result::kFeasible;
  outcome_.total = outcome_.is_scored ? best : 0;
}

NodeIndex Evaluator::NthBest(const Candidate& candidate, std::size_t n) const {
  if (candidate.is_special) return candidate.some_row;
  const std::span<const NodeIndex> rows = order_->RowsOf(candidate.level);
  if (candidate.best_count == rows.size()) return rows[n];
  for (const NodeIndex row : rows) {
    if (!IsSpecial(row) && n-- == 0) return row;
  }
  BERTH_CHECK(false, candidate.best_count, rows.size());
  return framework::kNoNode;
}

}  // namespace berth::runtime
