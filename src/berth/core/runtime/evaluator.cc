#include "berth/core/runtime/evaluator.h"

#include <algorithm>

#include "berth/base/go_text.h"
#include "berth/base/random.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::Code;
using framework::CycleState;
using framework::Dependency;
using framework::FilterPlugin;
using framework::kNoNode;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::Normalization;
using framework::PreFilterResult;
using framework::Status;
using framework::VerdictId;

namespace {

// What a plugin says once and for all; `otherwise` where it throws.
template <typename T, typename Call>
T Said(T otherwise, Call&& call) {
  T said = otherwise;
  return GuardedCall([&] { said = call(); }).IsSuccess() ? said : otherwise;
}

}  // namespace

Evaluator::Evaluator(const ProfilePlugins& plugins, EvaluatorOptions options) : plugins_(plugins), options_(options) {
  const bool keeps = options_.form != Form::kPlain;
  const auto is_kept = [keeps](Dependency dependency) {
    return keeps && (dependency == Dependency::kNode || dependency == Dependency::kCluster);
  };
  // What a plugin prepares is kept only where it rests on the class alone; what it prepared in some cycle makes all its
  // later answers that cycle's own.
  std::set<std::string_view> prepared_in_cycle;
  for (const framework::PreFilterPlugin* plugin : plugins_.pre_filter) {
    const auto depends_on = Said(Dependency::kCycle, [&] { return plugin->PreFilterDependsOn(); });
    is_pre_filter_kept_.push_back(keeps && depends_on == Dependency::kNode);
    has_extensions_.push_back(Said(false, [&] { return plugin->HasPreFilterExtensions(); }));
    if (!is_pre_filter_kept_.back()) prepared_in_cycle.insert(plugin->Name());
  }
  for (const FilterPlugin* plugin : plugins_.filter) {
    const auto prepares = std::find_if(plugins_.pre_filter.begin(), plugins_.pre_filter.end(),
                                       [plugin](const auto* other) { return other->Name() == plugin->Name(); });
    pre_filter_of_.push_back(static_cast<std::size_t>(prepares - plugins_.pre_filter.begin()));
    filter_depends_on_.push_back(Said(Dependency::kCycle, [&] { return plugin->FilterDependsOn(); }));
    is_filter_kept_.push_back(is_kept(filter_depends_on_.back()) && !prepared_in_cycle.contains(plugin->Name()));
  }
  for (const framework::PreScorePlugin* plugin : plugins_.pre_score) {
    const auto depends_on = Said(Dependency::kCycle, [&] { return plugin->PreScoreDependsOn(); });
    is_pre_score_kept_.push_back(keeps && depends_on == Dependency::kNode);
    if (!is_pre_score_kept_.back()) prepared_in_cycle.insert(plugin->Name());
  }
  for (const WeightedScore& score : plugins_.score) {
    score_depends_on_.push_back(Said(Dependency::kCycle, [&] { return score.plugin->ScoreDependsOn(); }));
    normalization_.push_back(Said(Normalization::kNone, [&] { return score.plugin->ScoreNormalization(); }));
    is_score_kept_.push_back(is_kept(score_depends_on_.back()) && !prepared_in_cycle.contains(score.plugin->Name()) &&
                             normalization_.back() != Normalization::kCustom);
    const auto prepares = std::find_if(plugins_.pre_score.begin(), plugins_.pre_score.end(),
                                       [&](const auto* plugin) { return plugin->Name() == score.plugin->Name(); });
    pre_score_of_.push_back(prepares == plugins_.pre_score.end() ? nullptr : *prepares);
    score_grouper_.push_back(dynamic_cast<const framework::GroupingPlugin*>(score.plugin));
  }
  for (const FilterPlugin* plugin : plugins_.filter)
    filter_grouper_.push_back(dynamic_cast<const framework::GroupingPlugin*>(plugin));
  for (const FilterPlugin* plugin : plugins_.filter)
    filter_amounts_.push_back(dynamic_cast<const framework::AmountsPlugin*>(plugin));
  for (const WeightedScore& score : plugins_.score)
    score_amounts_.push_back(dynamic_cast<const framework::AmountsPlugin*>(score.plugin));
  const auto check = [this](const auto& asked, const std::vector<bool>& are_kept) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const framework::Plugin* plugin = nullptr;
      if constexpr (requires { asked[i].plugin; }) {
        plugin = asked[i].plugin;
      } else {
        plugin = asked[i];
      }
      if (are_kept[i] && !Said(false, [&] { return plugin->ReadsPlacementOnly(); })) shares_placements_ = false;
    }
  };
  check(plugins_.pre_filter, is_pre_filter_kept_);
  check(plugins_.filter, is_filter_kept_);
  check(plugins_.pre_score, is_pre_score_kept_);
  check(plugins_.score, is_score_kept_);
}

bool Evaluator::Fail(std::string error) {
  outcome_.result = Result::kError;
  outcome_.error = std::move(error);
  return false;
}

const Outcome& Evaluator::Evaluate(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                                   const framework::NominatedRows* nominated, std::uint64_t seed, Time now,
                                   const ExtenderSay* extenders) {
  pod_ = pod;
  nodes_ = &nodes;
  nominated_ = nominated;
  extenders_ = extenders;
  do_nominations_matter_ = nominated != nullptr && nominated->MatterTo(*pod);
  seed_ = seed;
  now_ = now;
  state_ = CycleState();
  outcome_ = Outcome();
  outcome_.node_count = nodes.node_count();
  absent_status_ = Status();
  post_filter_message_.clear();
  uses_cycle_verdicts_ = false;
  order_ = nullptr;
  is_chosen_by_blocks_ = false;
  if (nodes.node_count() == 0) {
    kept_ = nullptr;
    outcome_.result = Result::kNoNodes;
    return outcome_;
  }
  const std::optional<std::uint64_t> epoch = options_.form == Form::kReuse ? EpochOfAll(&outcome_.error) : 0;
  kept_ = epoch ? &EvaluationFor(*pod, *epoch) : nullptr;
  if (kept_ == nullptr) return outcome_;
  FindNode();
  BoundKept();
  return outcome_;
}

void Evaluator::FindNode() {
  const bool is_refused = !RunPreFilter();
  PlanFilters();  // also for the dry runs of PostFilter after a refusal
  if (is_refused) return;
  // The nominated node goes first and alone: it was made free for this pod.
  NodeIndex refused_row = kNoNode;
  const bool tries_nominated = extenders_ == nullptr || !extenders_->skips_nominated;
  if (tries_nominated && !pod_->nominated_node_name.empty()) {
    refused_row = nodes_->Find(pod_->nominated_node_name);
    if (refused_row != kNoNode && TryNominatedNode(refused_row)) return;
    if (!outcome_.nominated_status.IsRejected()) refused_row = kNoNode;
  }
  PlanNominations();
  PlanScores();

  std::vector<NodeIndex> narrowed_rows;
  std::span<const NodeIndex> rows = nodes_->rows();
  if (outcome_.narrowed_to) {
    for (const std::string& name : *outcome_.narrowed_to) {
      const NodeIndex row = nodes_->Find(name);
      if (row != kNoNode) narrowed_rows.push_back(row);
    }
    std::sort(narrowed_rows.begin(), narrowed_rows.end());
    rows = narrowed_rows;
    absent_status_ =
        Status::UnschedulableAndUnresolvable("node(s) didn't satisfy plugin(s) " + GoList(outcome_.narrowing_plugins));
    // What the class could keep about all other nodes nobody asks for.
    (void)PlanKept();
    are_scores_kept_ = false;
  } else if (extenders_ == nullptr && ChooseByBlocks()) {
    if (!options_.with_detail) return;
    UpdateKept();
    AddDetail(rows);
    return;
  } else {
    UpdateKept();
  }

  if (extenders_ == nullptr && CanChooseFromKept() && ChooseFromKept()) {
    if (options_.with_detail && outcome_.result == Result::kFeasible) AddDetail(rows);
    return;
  }
  if (!EvaluateRows(rows)) return;
  // What refused it is known also where it lies outside a narrowed search.
  if (refused_row != kNoNode && cycle_verdicts_[refused_row] == kVerdictNoNode)
    cycle_verdicts_[refused_row] = VerdictOf(outcome_.nominated_status);
  if (options_.with_detail) outcome_.evaluated.assign(rows.begin(), rows.end());
  if (extenders_ != nullptr) ApplyExtenderFilters();
  if (feasible_.empty()) {
    outcome_.result = Result::kRefused;
    CollectRefusals(rows);
    if (extenders_ != nullptr && extenders_->has_refused) outcome_.unschedulable_plugins.emplace(kExtenderName);
    return;
  }
  if (extenders_ != nullptr && extenders_->filters_only) {
    outcome_.result = Result::kFeasible;
    outcome_.feasible = feasible_;
    outcome_.feasible_count = feasible_.size();
    return;
  }
  ScoreFeasible();
}

// False also where the node fails with an error: that is not the cycle's, all nodes are asked then.
bool Evaluator::TryNominatedNode(NodeIndex row) {
  CycleState state = state_.Clone();
  Status status = RunFiltersTwice(state, *pod_, nodes_->Info(row), PodsNominatedFor(row));
  if (status.IsSuccess()) {
    outcome_.result = Result::kFeasible;
    outcome_.node = row;
    outcome_.feasible_count = 1;
    outcome_.is_nominated_node = true;
    if (options_.with_detail) outcome_.feasible = outcome_.best = outcome_.evaluated = {row};
    return true;
  }
  if (status.IsRejected()) {
    // As upstream: who refused it is then counted, and named, among those that narrowed the search.
    auto& names = outcome_.narrowing_plugins;
    const std::string name(status.plugin());
    const auto at = std::lower_bound(names.begin(), names.end(), name);
    if (at == names.end() || *at != name) names.insert(at, name);
  }
  outcome_.nominated_status = std::move(status);
  return false;
}

std::span<const framework::PodInfoPtr> Evaluator::PodsNominatedFor(NodeIndex row) const {
  return nominated_ == nullptr ? std::span<const framework::PodInfoPtr>() : nominated_->PodsOn(row);
}

VerdictId Evaluator::VerdictOf(const Status& status) {
  if (status.IsSuccess()) return kVerdictOk;
  int position = 0;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (plugins_.filter[f]->Name() == status.plugin()) position = static_cast<int>(f);
  }
  kept_->statuses.SetPlugin(status.plugin(), position);
  return kept_->statuses.Intern(status);
}

// All that the choice by groups leaves out, for people to read: what each plugin said about each row.
bool Evaluator::AddDetail(std::span<const NodeIndex> rows) {
  const Outcome chosen = outcome_;
  order_ = nullptr;
  outcome_.scores.clear();
  if (!EvaluateRows(rows) || !ScoreFeasible()) return false;
  outcome_.node = chosen.node;
  outcome_.total = chosen.total;
  outcome_.best = chosen.best;
  outcome_.evaluated.assign(rows.begin(), rows.end());
  return true;
}

bool Evaluator::RunPreFilter() {
  const auto& plugins = plugins_.pre_filter;
  is_pre_filter_skipped_.assign(plugins.size(), false);
  kept_->pre_filter.resize(plugins.size());
  CycleState own;
  Status refused;
  std::set<std::string> narrowing;
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    const bool is_kept = is_pre_filter_kept_[i];
    std::optional<PreFilterResult> fresh;
    std::optional<PreFilterResult>& slot = is_kept ? kept_->pre_filter[i] : fresh;
    if (!slot) {
      slot.emplace();
      CycleState& state = is_kept ? kept_->state : own;
      slot->status = Guarded([&] {
        *slot = plugins[i]->PreFilter({*nodes_, state, seed_, now_}, *pod_);
        return slot->status;
      });
    }
    const PreFilterResult& result = *slot;
    if (result.status.IsSkip()) {
      is_pre_filter_skipped_[i] = true;
      continue;
    }
    if (!result.status.IsSuccess()) {
      const Status status = result.status.WithPlugin(plugins[i]->Name());
      if (status.code() == Code::kUnschedulableAndUnresolvable) {
        refused = status;
        narrowing.clear();  // As upstream: the plugins that narrowed the search before do not count as rejectors then.
        break;
      }
      if (status.code() == Code::kUnschedulable) {
        refused = status;
        continue;
      }
      const std::string name(plugins[i]->Name());
      const std::string message = status.Message();
      slot.reset();  // An error is not kept: the next pod asks again.
      return Fail("running PreFilter plugin \"" + name + "\": " + message);
    }
    if (!result.node_names) continue;
    narrowing.insert(std::string(plugins[i]->Name()));
    if (!outcome_.narrowed_to) {
      outcome_.narrowed_to = result.node_names;
    } else {
      std::erase_if(*outcome_.narrowed_to, [&](const std::string& name) { return !result.node_names->contains(name); });
    }
    if (outcome_.narrowed_to->empty()) {
      const std::vector<std::string> names(narrowing.begin(), narrowing.end());
      refused = Status::UnschedulableAndUnresolvable(
          names.size() == 1 ? "node(s) didn't satisfy plugin " + names.front()
                            : "node(s) didn't satisfy plugin(s) " + GoList(names) + " simultaneously");
      break;
    }
  }
  state_.MergeFrom(kept_->state);
  state_.MergeFrom(own);
  outcome_.narrowing_plugins.assign(narrowing.begin(), narrowing.end());
  if (refused.IsSuccess()) return true;
  outcome_.result = Result::kRefused;
  outcome_.pre_filter_status = refused;
  absent_status_ = refused;
  cycle_verdicts_.assign(nodes_->row_count(), kVerdictNoNode);
  uses_cycle_verdicts_ = true;
  outcome_.unschedulable_plugins = narrowing;
  if (!refused.plugin().empty()) outcome_.unschedulable_plugins.insert(std::string(refused.plugin()));
  return false;
}

void Evaluator::PlanFilters() {
  extensions_.clear();
  for (std::size_t i = 0; i < plugins_.pre_filter.size(); ++i) {
    if (!is_pre_filter_skipped_[i] && has_extensions_[i]) extensions_.push_back(plugins_.pre_filter[i]);
  }
  const auto& filters = plugins_.filter;
  is_filter_active_.assign(filters.size(), true);
  has_cycle_filters_ = false;
  for (std::size_t f = 0; f < filters.size(); ++f) {
    const std::size_t pre_filter = pre_filter_of_[f];
    if (pre_filter < is_pre_filter_skipped_.size() && is_pre_filter_skipped_[pre_filter]) is_filter_active_[f] = false;
    has_cycle_filters_ |= is_filter_active_[f] && !is_filter_kept_[f];
  }
}

void Evaluator::FilterRowsInto(std::size_t filter, std::span<const NodeIndex> rows, std::span<VerdictId> verdicts) {
  const FilterPlugin& plugin = *plugins_.filter[filter];
  framework::StatusTable& statuses = kept_->statuses;
  statuses.SetPlugin(plugin.Name(), static_cast<int>(filter));
  const framework::Cycle cycle{*nodes_, state_, seed_, now_};
  const Status failed = Guarded([&] {
    if (options_.form == Form::kPlain) {
      plugin.FilterPlugin::FilterRows(cycle, *pod_, rows, verdicts, statuses);
    } else {
      plugin.FilterRows(cycle, *pod_, rows, verdicts, statuses);
    }
    return Status();
  });
  if (failed.IsSuccess()) return;
  // It threw over one node, which says nothing about the others: they are asked one by one.
  for (const NodeIndex row : rows) {
    if (verdicts[row] != kVerdictOk) continue;
    const Status status = Guarded([&] { return plugin.Filter(cycle, *pod_, nodes_->Info(row)); });
    if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
  }
}

bool Evaluator::FindErrorVerdict(std::span<const NodeIndex> rows) {
  const framework::StatusTable& statuses = kept_->statuses;
  bool any = false;
  for (VerdictId id = 1; id < statuses.size(); ++id) any |= !statuses.Get(id).IsRejected();
  if (!any) return false;
  const auto& verdicts = uses_cycle_verdicts_ ? cycle_verdicts_ : kept_->verdicts;
  for (const NodeIndex row : rows) {
    const VerdictId verdict = verdicts[row];
    if (verdict == kVerdictOk || verdict == kVerdictNoNode) continue;
    const Status& status = statuses.Get(verdict);
    if (status.IsRejected()) continue;
    Fail(FilterErrorText(status));
    return true;
  }
  return false;
}

// Fills feasible_ for these rows: kept verdicts, then what has to be asked in this cycle, then nominated pods.
bool Evaluator::EvaluateRows(std::span<const NodeIndex> rows) {
  const auto& filters = plugins_.filter;
  cycle_verdicts_.assign(nodes_->row_count(), kVerdictNoNode);
  const bool asks_all = outcome_.narrowed_to.has_value();
  for (const NodeIndex row : rows) cycle_verdicts_[row] = asks_all ? kVerdictOk : kept_->verdicts[row];
  uses_cycle_verdicts_ = true;
  for (std::size_t f = 0; f < filters.size(); ++f) {
    if (!is_filter_active_[f] || (is_filter_kept_[f] && !asks_all)) continue;
    // The first plugin in order that refuses a node is the one that counts: this one is asked also about nodes that a
    // kept verdict of a later one refuses.
    scratch_rows_.clear();
    if (kept_->statuses.size() > 1) {
      for (const NodeIndex row : rows) {
        const VerdictId verdict = cycle_verdicts_[row];
        if (verdict != kVerdictOk && kept_->statuses.Position(verdict) > static_cast<int>(f))
          scratch_rows_.push_back(row);
      }
    }
    FilterRowsInto(f, rows, cycle_verdicts_);
    if (scratch_rows_.empty()) continue;
    scratch_verdicts_.resize(nodes_->row_count());
    for (const NodeIndex row : scratch_rows_) scratch_verdicts_[row] = kVerdictOk;
    FilterRowsInto(f, scratch_rows_, scratch_verdicts_);
    for (const NodeIndex row : scratch_rows_) {
      if (scratch_verdicts_[row] != kVerdictOk) cycle_verdicts_[row] = scratch_verdicts_[row];
    }
  }
  if (do_nominations_matter_ && (asks_all || !kept_->folds_nominations)) {
    for (const framework::NominatedOnRow& on_row : nominated_->rows()) {
      if (on_row.row >= nodes_->row_count() || cycle_verdicts_[on_row.row] == kVerdictNoNode) continue;
      CycleState state = state_.Clone();
      cycle_verdicts_[on_row.row] = VerdictOf(RunFiltersTwice(state, *pod_, nodes_->Info(on_row.row), on_row.pods));
    }
  }
  feasible_.clear();
  for (const NodeIndex row : rows) {
    if (cycle_verdicts_[row] == kVerdictOk) feasible_.push_back(row);
  }
  return !FindErrorVerdict(rows);
}

}  // namespace berth::runtime
