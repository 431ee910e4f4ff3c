// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/candidate_search.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/random.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/default_preemption/candidates.h"
#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

using Candidate = framework::PreemptionReport::Candidate;

namespace {

void Note(CandidateChoice& choice, const Status& status, std::size_t count) {
  choice.refused_count += count;
  if (!status.plugin().empty()) choice.refused_by.emplace(status.plugin());
  for (const std::string& reason : status.reasons()) choice.reasons[reason] += count;
  if (status.code() != Code::kError) return;
  const std::string message = status.Message();
  if (std::find(choice.errors.begin(), choice.errors.end(), message) == choice.errors.end())
    choice.errors.push_back(message);
}

// Asks the nodes one by one from `offset` on, until `wanted` candidates are found of which one overdraws no budget.
// Those that overdraw none come first. `refuses_empty`: Release::refuses_nodes_without_victims.
void FindCandidates(const Cycle& cycle, std::span<const NodeIndex> potential, std::size_t offset, std::size_t wanted,
                    bool refuses_empty, DryRun& dry_run, CandidateChoice& choice) {
  std::vector<Candidate> violating;
  for (std::size_t i = 0; i < potential.size(); ++i) {
    const NodeIndex row = potential[(offset + i) % potential.size()];
    NodeVictims found = dry_run.SelectVictims(row);
    if (found.status.IsSuccess() && found.victims.empty() && refuses_empty) {
      found.status = Status::UnschedulableAndUnresolvable("No preemption victims found for incoming pod");
    } else if (found.status.IsSuccess() && found.victims.empty()) {
      found.status = Status::Error("expected at least one victim pod on node \"" + cycle.nodes.Info(row).name() + "\"");
    }
    if (!found.status.IsSuccess()) {
      Note(choice, found.status, 1);
      continue;
    }
    auto& list = found.pdb_violations == 0 ? choice.candidates : violating;
    // As upstream, a list that is full takes no more, and the search may go on all the same.
    if (list.size() < wanted) list.push_back({row, std::move(found.victims), found.pdb_violations});
    if (!choice.candidates.empty() && choice.candidates.size() + violating.size() >= wanted) break;
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(choice.candidates));
}

// Upstream takes the first of a map: any of those that cost the same.
void ChooseCheapest(CandidateChoice& choice, Time now, Random& random) {
  const std::vector<std::size_t> cheapest = Cheapest(choice.candidates, now);
  choice.chosen = choice.candidates[cheapest[random.Below(cheapest.size())]].row;
  for (const std::size_t i : cheapest) choice.acceptable.push_back(choice.candidates[i].row);
  std::sort(choice.acceptable.begin(), choice.acceptable.end());
}

}  // namespace

std::uint64_t BudgetShape::Of(const framework::ObjectStore<api::PodDisruptionBudget>& store) {
  if (version_ == store.version()) return shape_;
  version_ = store.version();
  bool is_same = known_.size() == store.size();
  auto known = known_.begin();
  for (auto it = store.begin(); is_same && it != store.end(); ++it, ++known) {
    is_same =
        known->first == it->first && (known->second == it->second || known->second->selector == it->second->selector);
  }
  if (!is_same) ++shape_;
  known_.clear();
  for (const auto& [key, budget] : store) known_.emplace_hint(known_.end(), key, budget);
  return shape_;
}

std::size_t CandidateSearch::Wanted(std::size_t potential_count) const {
  return static_cast<std::size_t>(CandidatesWanted(static_cast<std::int64_t>(potential_count), percentage_, absolute_));
}

CandidateChoice CandidateSearch::Choose(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                                        FilterRunner& filters) {
  const auto& budgets = handle_.objects().Of<api::PodDisruptionBudget>();
  const framework::NominatedRows* nominated = handle_.nominated_rows();
  DryRun dry_run(cycle, pod, filters, budgets, handle_.release(), handle_.pod_groups());
  auto* const fast = dynamic_cast<framework::FastFilterRunner*>(&filters);
  const std::optional<std::uint64_t> epoch = fast == nullptr ? std::nullopt : fast->NodeEpoch();
  if (epoch && nominated != nullptr) {
    KeptCandidates& kept = kept_.Get(pod.pod_class, [] { return KeptCandidates(); });
    kept.Update(cycle, pod, statuses, {nominated, *epoch, budget_shape_.Of(budgets), budgets.version()});
    if (auto choice = ChooseFromKept(cycle, kept, dry_run)) return std::move(*choice);
  }
  return ChooseFromScratch(cycle, statuses, dry_run);
}

CandidateChoice CandidateSearch::ChooseFromScratch(const Cycle& cycle, const NodeStatuses& statuses,
                                                   DryRun& dry_run) const {
  CandidateChoice choice;
  std::vector<NodeIndex> potential;
  for (const NodeIndex row : cycle.nodes.rows()) {
    if (statuses.Get(row).code() == Code::kUnschedulable) potential.push_back(row);
  }
  if (potential.empty()) return choice;
  Random random(cycle.seed);
  FindCandidates(cycle, potential, random.Below(potential.size()), Wanted(potential.size()),
                 handle_.release().refuses_nodes_without_victims, dry_run, choice);
  if (!choice.candidates.empty()) ChooseCheapest(choice, cycle.wall_now, random);
  return choice;
}

CandidateChoice CandidateSearch::ChooseAmong(const Cycle& cycle, std::vector<Candidate> candidates) {
  CandidateChoice choice;
  choice.candidates = std::move(candidates);
  Random random(cycle.seed);
  if (!choice.candidates.empty()) ChooseCheapest(choice, cycle.wall_now, random);
  return choice;
}

std::optional<CandidateChoice> CandidateSearch::ChooseFromKept(const Cycle& cycle, KeptCandidates& kept,
                                                               DryRun& dry_run) const {
  CandidateChoice choice;
  if (kept.potential_count() == 0) return choice;
  Random random(cycle.seed);
  const std::size_t offset = random.Below(kept.potential_count());
  const KeptCandidates::Found found = kept.Search(offset, Wanted(kept.potential_count()), cycle.wall_now, dry_run);
  if (found.has_error) return std::nullopt;
  if (found.candidate_count == 0) {
    for (const auto& [status, count] : kept.Refusals()) Note(choice, status, count);
    return choice;
  }
  choice.chosen = kept.NthCheapest(found, random.Below(found.cheapest_count));
  // The victims themselves are not kept: for the chosen node they are found again.
  const std::vector<NodeIndex> rows = cycle.with_detail ? kept.Candidates(found) : std::vector{choice.chosen};
  for (const NodeIndex row : rows) {
    NodeVictims victims = dry_run.SelectVictims(row);
    if (!victims.status.IsSuccess() || victims.victims.empty()) return std::nullopt;
    if (kept.CostOfRow(row) == found.cheapest) choice.acceptable.push_back(row);
    choice.candidates.push_back({row, std::move(victims.victims), victims.pdb_violations});
  }
  std::sort(choice.acceptable.begin(), choice.acceptable.end());
  return choice;
}

}  // namespace berth::plugins
