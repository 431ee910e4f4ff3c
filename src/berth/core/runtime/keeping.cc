// What an Evaluator keeps of a pod class from one cycle to the next: under which key, for how long, and how verdicts
// and scores are brought up to date with the node table.
#include <algorithm>
#include <iterator>
#include <set>

#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/row_loops.h"
#include "berth/plugins/helper/row_runs.h"

namespace berth::runtime {

using framework::CycleState;
using framework::Dependency;
using framework::kNoNode;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Normalization;
using framework::PodInfo;
using framework::ScorePlugin;
using framework::Status;
using framework::VerdictId;

std::uint64_t Evaluator::KeyOf(const PodInfo& pod) {
  const framework::PodClass& pod_class = *pod.pod_class;
  const bool is_shared = shares_placements_ && pod_class.placement_id != 0;
  const std::uint64_t key = is_shared ? pod_class.placement_id * 2 : pod_class.id * 2 + 1;
  if (!do_nominations_matter_) return key;
  // Nominations of equal or higher priority are respected: what is kept then holds for pods of one priority.
  constexpr std::uint64_t kNominated = std::uint64_t{1} << 63;
  if (nominated_keys_.size() > kSeenMax) nominated_keys_.clear();
  const auto [it, is_new] = nominated_keys_.try_emplace({key, pod.priority()}, kNominated + nominated_key_count_);
  if (is_new) ++nominated_key_count_;
  return it->second;
}

// Most kinds that come once do not come again: only what comes a second time gets room.
bool Evaluator::IsFirstSight(std::uint64_t key) {
  if (seen_.size() >= kSeenMax) seen_.clear();
  return seen_.insert(key).second;
}

// nullopt, and why, when a plugin fails.
std::optional<std::uint64_t> Evaluator::EpochOfAll(std::string* error) const {
  std::uint64_t epoch = 0;
  for (const auto& plugin : plugins_.owned) {
    const Status failed = GuardedCall([&] { epoch += plugin->Epoch(); });
    if (failed.IsSuccess()) continue;
    if (error != nullptr)
      *error = "running Epoch of plugin \"" + std::string(plugin->Name()) + "\": " + failed.Message();
    return std::nullopt;
  }
  return epoch;
}

KeptEvaluation& Evaluator::EvaluationFor(const PodInfo& pod, std::uint64_t epoch) {
  is_kept_fresh_ = true;
  if (options_.form != Form::kReuse) {
    fresh_.Clear();
    return fresh_;
  }
  const std::uint64_t key = key_ = KeyOf(pod);
  KeptEvaluation* kept = evaluations_.Find(key);
  if (kept == nullptr) {
    if (fresh_key_ == key) {
      kept = &evaluations_.Add(key, std::move(fresh_));
      fresh_ = KeptEvaluation();
      fresh_key_ = 0;
    } else if (IsFirstSight(key)) {
      fresh_.Clear();
      fresh_.epoch = epoch;
      fresh_key_ = key;
      return fresh_;
    } else {
      kept = &evaluations_.Add(key);
      kept->epoch = epoch;
    }
  }
  is_kept_fresh_ = false;
  // Plugins whose reasons differ from call to call must not make it grow for ever.
  if (kept->statuses.size() > kStatusesMax || kept->epoch != epoch) {
    kept->Clear();
    kept->epoch = epoch;
  }
  return *kept;
}

void Evaluator::BoundKept() {
  if (options_.form != Form::kReuse) return;
  const std::size_t bytes_max = options_.class_bytes_max + options_.class_bytes_per_row_max * nodes_->row_count();
  evaluations_.Bound(bytes_max / 2);
  orders_.Bound(bytes_max / 2);
}

void Evaluator::DropIdle() {
  // The last cycle's state may share what plugins drop.
  pod_ = nullptr;
  state_ = CycleState();
  fresh_ = KeptEvaluation();
  fresh_key_ = 0;
  kept_ = nullptr;
  order_ = nullptr;
  kept_order_ = nullptr;
  evaluations_.DropIdle();
  orders_.DropIdle();
  for (const auto& plugin : plugins_.owned) {
    // One that throws has kept what it has.
    static_cast<void>(Guarded([&] {
      plugin->DropIdle();
      return framework::Status();
    }));
  }
}

// Where a verdict rests on the node and the pods nominated for it alone, it is kept as such. A pod's own nomination
// does not count for itself, so its cycle cannot use what holds for the others.
void Evaluator::PlanNominations() {
  const bool folds = options_.form == Form::kReuse && do_nominations_matter_ && extensions_.empty() &&
                     !has_cycle_filters_ && nominated_->RowOf(pod_->uid) == kNoNode;
  if (kept_->folds_nominations == folds) return;
  kept_->folds_nominations = folds;
  kept_->version = 0;
}

// As NodeTable::ChangedSince, with the rows whose nominations changed where these are kept with the verdicts.
std::optional<std::span<const NodeIndex>> Evaluator::ChangedSince(std::uint64_t version,
                                                                  std::uint64_t nominated_version) {
  const auto changed = nodes_->ChangedSince(version);
  if (!changed || !kept_->folds_nominations || nominated_version == nominated_->version()) return changed;
  const auto renominated = nominated_->ChangedSince(nominated_version);
  if (!renominated) return std::nullopt;
  scratch_changed_.assign(changed->begin(), changed->end());
  scratch_changed_.insert(scratch_changed_.end(), renominated->begin(), renominated->end());
  std::erase_if(scratch_changed_, [this](NodeIndex row) { return row >= nodes_->row_count(); });
  return scratch_changed_;
}

// Puts what the filters say of each of these rows with the pods nominated for it.
void Evaluator::FoldNominations(std::span<const NodeIndex> rows) {
  for (const NodeIndex row : rows) {
    if (!nominated_->MatterTo(*pod_, row)) continue;
    kept_->verdicts[row] = VerdictOf(RunFiltersTwice(state_, *pod_, nodes_->Info(row), PodsNominatedFor(row)));
  }
}

// Decides what the class keeps, when it is first met. False when a PreScore plugin fails: the scores are then not kept.
bool Evaluator::PlanKept() {
  KeptEvaluation& kept = *kept_;
  if (kept.has_plan) return true;
  kept.pre_score.assign(plugins_.pre_score.size(), std::nullopt);
  kept.is_fixed_score.assign(plugins_.score.size(), false);
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    kept.needs_cluster |= is_filter_kept_[f] && filter_depends_on_[f] == Dependency::kCluster;
  }
  std::set<std::string_view> skipped;
  for (std::size_t i = 0; i < plugins_.pre_score.size(); ++i) {
    if (!is_pre_score_kept_[i]) continue;
    Status status =
        Guarded([&] { return plugins_.pre_score[i]->PreScore({*nodes_, kept.state, seed_, now_}, *pod_, {}); });
    if (!status.IsSuccess() && !status.IsSkip()) return false;
    if (status.IsSkip()) skipped.insert(plugins_.pre_score[i]->Name());
    kept.pre_score[i] = std::move(status);
  }
  state_.MergeFrom(kept.state);
  for (std::size_t s = 0; s < plugins_.score.size(); ++s) {
    const ScorePlugin& plugin = *plugins_.score[s].plugin;
    if (!is_score_kept_[s] || skipped.contains(plugin.Name())) continue;
    const Normalization normalization = normalization_[s];
    kept.needs_cluster |= score_depends_on_[s] == Dependency::kCluster;
    kept.is_fixed_score[s] = normalization == Normalization::kNone;
    if (normalization != Normalization::kNone) {
      std::vector<std::int64_t> raw;
      if (!kept.spare.empty()) {
        raw = std::move(kept.spare.back());
        kept.spare.pop_back();
      }
      raw.resize(kept.verdicts.size());
      kept.columns.push_back({s, normalization, std::move(raw), true});
    }
  }
  kept.has_plan = true;
  return true;
}

// Asks the kept filters about these rows, which ascend, and the kept scores about those that pass.
void Evaluator::KeepRows(std::span<const NodeIndex> rows) {
  std::vector<VerdictId>& verdicts = kept_->verdicts;
  plugins::FillRows(rows, std::span(verdicts), kVerdictOk);
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (is_filter_active_[f] && is_filter_kept_[f]) FilterRowsInto(f, rows, verdicts);
  }
  if (kept_->folds_nominations) FoldNominations(rows);
  if (!are_scores_kept_) return;
  const bool is_run = rows.back() - rows.front() == rows.size() - 1;
  if (!is_run || CountOf(std::span(verdicts).subspan(rows.front(), rows.size()), kVerdictOk) != rows.size()) {
    feasible_.clear();
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(feasible_),
                 [&](NodeIndex row) { return verdicts[row] == kVerdictOk; });
    rows = feasible_;
  }
  are_scores_kept_ = KeepScores(rows);
}

// Brings the kept verdicts and scores of the pod's class up to date with the node table. What plugins fail at is not
// kept: the next pod of the class begins anew.
void Evaluator::UpdateKept() {
  KeptEvaluation& kept = *kept_;
  are_scores_kept_ = PlanKept();
  if (options_.form == Form::kPlain) {
    kept.Resize(nodes_->row_count());
    std::fill(kept.verdicts.begin(), kept.verdicts.end(), kVerdictNoNode);
    for (const NodeIndex row : nodes_->rows()) kept.verdicts[row] = kVerdictOk;
    return;
  }

  const auto changed = kept.version == 0 ? std::nullopt : ChangedSince(kept.version, kept.nominated_version);
  const bool cluster_changed = kept.needs_cluster && kept.nodes_version != nodes_->nodes_version();
  const bool all_rows = !changed || cluster_changed;
  kept.version = nodes_->version();
  kept.nodes_version = nodes_->nodes_version();
  if (kept.folds_nominations) kept.nominated_version = nominated_->version();
  if (!all_rows && changed->empty()) return;
  kept.Resize(nodes_->row_count());

  std::span<const NodeIndex> live = nodes_->rows();  // those of the rows that hold a node
  if (all_rows) {
    if (live.size() < kept.verdicts.size()) std::fill(kept.verdicts.begin(), kept.verdicts.end(), kVerdictNoNode);
    for (ScoreColumn& column : kept.columns) column.is_zero = true;
    kept.rebuild = ++rebuild_count_;
  } else {
    scratch_rows_.assign(changed->begin(), changed->end());
    std::sort(scratch_rows_.begin(), scratch_rows_.end());
    scratch_rows_.erase(std::unique(scratch_rows_.begin(), scratch_rows_.end()), scratch_rows_.end());
    for (const NodeIndex row : scratch_rows_) kept.Count(kept.verdicts[row], -1);
    scratch_live_.clear();
    for (const NodeIndex row : scratch_rows_) {
      kept.verdicts[row] = kVerdictNoNode;
      if (nodes_->Info(row).has_node()) scratch_live_.push_back(row);
    }
    live = scratch_live_;
  }
  for (; !live.empty(); live = live.subspan(std::min(live.size(), kRowsAtOnce)))
    KeepRows(live.first(std::min(live.size(), kRowsAtOnce)));
  if (!are_scores_kept_) kept.version = 0;
  if (all_rows) {
    kept.Recount();
  } else {
    for (const NodeIndex row : scratch_rows_) kept.Count(kept.verdicts[row], +1);
  }
  if (HasErrorCount()) kept.version = 0;
}

}  // namespace berth::runtime
