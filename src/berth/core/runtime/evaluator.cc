// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/evaluator.h"

#include <algorithm>

#include "berth/core/runtime/block_chooser.h"
#include "berth/core/runtime/group_chooser.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_totals_chooser.h"
#include "berth/core/runtime/node_filters.h"
#include "berth/core/runtime/post_filter.h"
#include "berth/core/runtime/pre_filter.h"
#include "berth/core/runtime/refusals.h"

namespace berth::runtime {

using framework::CycleState;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;

Evaluator::~Evaluator() = default;

Evaluator::Evaluator(const ProfilePlugins& plugins, EvaluatorOptions options)
    : profile_(plugins, options.form),
      options_(std::move(options)),
      classes_(profile_, options_),
      scan_(updater_, scorer_),
      cycle_(profile_, options_) {
  // The cheapest first. A chooser is a pair of files and a line here; every chooser except the scan is optional.
  AddChooser<BlockChooser>(profile_, updater_);
  AddChooser<GroupChooser>(profile_, updater_, scorer_);
  AddChooser<KeptTotalsChooser>(updater_);
  choosers_.push_back({&scan_, 0});
}

template <typename Chooser, typename... Args>
void Evaluator::AddChooser(Args&&... args) {
  auto chooser = std::make_unique<Chooser>(std::forward<Args>(args)...);
  const auto& left_out = options_.choosers_left_out;
  if (std::find(left_out.begin(), left_out.end(), chooser->Name()) != left_out.end()) return;
  choosers_.push_back({chooser.get(), 0});
  owned_choosers_.push_back(std::move(chooser));
}

const Outcome& Evaluator::Evaluate(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                                   const framework::NominatedRows* nominated, std::uint64_t seed, Time wall_now,
                                   const ExtenderVerdicts* extenders) {
  cycle_.Begin({pod, &nodes, nominated, extenders, seed, wall_now});
  if (metrics_) metrics_->Begin();
  Outcome& outcome = cycle_.outcome;
  if (nodes.node_count() == 0) {
    outcome.result = Result::kNoNodes;
    return outcome;
  }
  const std::optional<std::uint64_t> epoch = options_.form == Form::kReuse ? EpochOfAll(&outcome.error) : 0;
  if (!epoch) return outcome;
  const ClassStore::Found found = classes_.Find(*pod, cycle_.do_nominations_matter, *epoch);
  cycle_.kept = found.kept;
  cycle_.kept_key = found.key;
  cycle_.is_first_sight = found.is_first_sight;
  FindNode();
  classes_.Bound(nodes.row_count());
  return outcome;
}

Status Evaluator::FitsOn(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                         const framework::NominatedRows* nominated, NodeIndex row, std::uint64_t seed, Time wall_now) {
  cycle_.Begin({pod, &nodes, nominated, nullptr, seed, wall_now});
  if (metrics_) metrics_->Begin();
  Outcome& outcome = cycle_.outcome;
  const std::optional<std::uint64_t> epoch = options_.form == Form::kReuse ? EpochOfAll(&outcome.error) : 0;
  if (!epoch) return Status::Error(outcome.error);
  const ClassStore::Found found = classes_.Find(*pod, cycle_.do_nominations_matter, *epoch);
  cycle_.kept = found.kept;
  cycle_.kept_key = found.key;
  cycle_.is_first_sight = found.is_first_sight;
  const bool is_refused = !RunPreFilter(cycle_);
  PlanFilters(cycle_);
  if (is_refused) return outcome.result == Result::kError ? Status::Error(outcome.error) : outcome.pre_filter_status;
  const NodeInfo& node = nodes.Info(row);
  if (outcome.narrowed_to && !outcome.narrowed_to->contains(node.name()))
    return Status::UnschedulableAndUnresolvable("node(s) didn't satisfy plugin(s)");
  CycleState state = cycle_.state.Clone();
  return RunFiltersWithNominated(cycle_, state, *pod, node, cycle_.PodsNominatedFor(row));
}

// Returns nullopt, and sets `error`, when a plugin fails.
std::optional<std::uint64_t> Evaluator::EpochOfAll(std::string* error) const {
  std::uint64_t epoch = 0;
  const framework::Plugin* asked = nullptr;
  const Status failed = GuardedCall([&] {
    for (const auto& plugin : profile_.plugins.owned) {
      asked = plugin.get();
      epoch += asked->Epoch();
    }
  });
  if (failed.IsSuccess()) return epoch;
  if (error != nullptr) *error = "running Epoch of plugin \"" + std::string(asked->Name()) + "\": " + failed.Message();
  return std::nullopt;
}

void Evaluator::FindNode() {
  const bool is_refused = !RunPreFilter(cycle_);
  PlanFilters(cycle_);  // needed for PostFilter's dry runs even after a refusal
  if (metrics_) metrics_->ObservePreFilter(cycle_);
  if (is_refused) return;
  if (!TryNominatedNode()) ChooseNode();
  if (metrics_) metrics_->ObserveChoice(cycle_);
}

void Evaluator::ChooseNode() {
  updater_.PlanNominations(cycle_);
  PlanScores(cycle_);
  for (ChooserEntry& entry : choosers_) {
    if (!entry.chooser->Choose(cycle_)) continue;
    cycle_.chooser = entry.chooser;
    ++entry.choice_count;
    break;
  }
  const bool lacks_detail = options_.with_detail && cycle_.chooser != &scan_;
  if (lacks_detail && cycle_.outcome.result == Result::kFeasible) scan_.AddDetail(cycle_);
}

// Tries the pod's nominated node first: it was made free for this pod. Also returns false if a plugin fails there,
// which does not fail the cycle: all nodes are searched then.
bool Evaluator::TryNominatedNode() {
  const ExtenderVerdicts* extenders = cycle_.request.extenders;
  const std::string& name = cycle_.pod().nominated_node_name;
  if (name.empty() || (extenders != nullptr && extenders->skips_nominated)) return false;
  const NodeIndex row = cycle_.nodes().Find(name);
  if (row == framework::kNoNode) return false;
  CycleState state = cycle_.state.Clone();
  Status status =
      RunFiltersWithNominated(cycle_, state, cycle_.pod(), cycle_.nodes().Info(row), cycle_.PodsNominatedFor(row));
  Outcome& outcome = cycle_.outcome;
  if (status.IsSuccess()) {
    outcome.result = Result::kFeasible;
    outcome.node = row;
    outcome.feasible_count = 1;
    outcome.is_nominated_node = true;
    if (options_.with_detail) outcome.feasible = outcome.best = outcome.evaluated = {row};
    return true;
  }
  if (status.IsRejected()) {
    cycle_.refused_nominated_row = row;
    // As in upstream, the plugin that refused the nominated node is listed among those that narrowed the search.
    auto& names = outcome.narrowing_plugins;
    const std::string plugin(status.plugin());
    const auto at = std::lower_bound(names.begin(), names.end(), plugin);
    if (at == names.end() || *at != plugin) names.insert(at, plugin);
  }
  outcome.nominated_status = std::move(status);
  return false;
}

framework::PostFilterResult Evaluator::RunPostFilter(framework::PreemptionReview* review) {
  cycle_.review = review;
  framework::PostFilterResult result = runtime::RunPostFilter(cycle_, *this, *this);
  cycle_.review = nullptr;
  if (metrics_ && !result.status.IsWait()) metrics_->ObservePostFilter(result);
  return result;
}

void Evaluator::SetMetrics(instruments::ProfileMetrics& metrics, instruments::Stopwatch& stopwatch) {
  metrics_ = std::make_unique<EvaluationMetrics>(metrics, stopwatch);
  cycle_.metrics = metrics_.get();
}

void Evaluator::FlushMetrics() {
  if (metrics_) metrics_->Flush();
}

std::string Evaluator::Message() const { return FitErrorText(cycle_); }

Status Evaluator::Get(NodeIndex row) const { return StatusOfRow(cycle_, row); }

std::vector<Status> Evaluator::AllRefusals(NodeIndex row) {
  if (!cycle_.outcome.pre_filter_status.IsSuccess()) return {};
  CycleState state = cycle_.state.Clone();
  return RunAllFilters(cycle_, state, cycle_.pod(), cycle_.nodes().Info(row));
}

std::vector<std::pair<Status, std::size_t>> Evaluator::RefusalCounts() const { return CountRefusals(cycle_); }

Status Evaluator::RunFiltersWithNominatedPods(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  const NodeIndex row = cycle_.nodes().Find(node.name());
  Status status = RunFiltersWithNominated(cycle_, state, pod, node, cycle_.PodsNominatedFor(row));
  if (status.IsSuccess() || status.IsRejected()) return status;
  return Status::Error(FilterErrorText(status));
}

Status Evaluator::RunAddPod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) {
  return runtime::RunAddPod(cycle_, state, pod, other, node);
}

Status Evaluator::RunRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) {
  return runtime::RunRemovePod(cycle_, state, pod, other, node);
}

std::optional<std::uint64_t> Evaluator::NodeEpoch() const {
  const ExtenderVerdicts* const extenders = cycle_.request.extenders;
  const bool asks_extenders = extenders != nullptr && !extenders->is_ranking;
  if (options_.form != Form::kReuse || !cycle_.plan.extensions.empty() || asks_extenders) return std::nullopt;
  if (cycle_.outcome.narrowed_to || !cycle_.outcome.pre_filter_status.IsSuccess()) return std::nullopt;
  for (std::size_t f = 0; f < profile_.filters.size(); ++f) {
    const ProfileTraits::Filter& filter = profile_.filters[f];
    if (!cycle_.plan.is_filter_active[f]) continue;
    if (!filter.is_kept || filter.depends_on != framework::Dependency::kNode) return std::nullopt;
  }
  return EpochOfAll(nullptr);
}

void Evaluator::DropIdle() {
  // The last cycle's state may point to data that plugins are about to free.
  cycle_.End();
  classes_.DropIdle();
  for (const ChooserEntry& entry : choosers_) entry.chooser->DropIdle();
  for (const auto& plugin : profile_.plugins.owned) {
    auto* const fast = dynamic_cast<framework::FastPlugin*>(plugin.get());
    // A plugin that throws keeps its data.
    if (fast != nullptr) static_cast<void>(GuardedCall([&] { fast->DropIdle(); }));
  }
}

std::vector<Evaluator::ChooserUse> Evaluator::ChooserUses() const {
  std::vector<ChooserUse> uses;
  for (const auto& [chooser, choice_count] : choosers_)
    uses.push_back({chooser->Name(), choice_count, chooser->kept_count()});
  return uses;
}

Evaluator::ChooserUse Evaluator::UseOf(std::string_view chooser_name) const {
  for (const ChooserUse& use : ChooserUses()) {
    if (use.name == chooser_name) return use;
  }
  return {chooser_name, 0, 0};
}

}  // namespace berth::runtime
