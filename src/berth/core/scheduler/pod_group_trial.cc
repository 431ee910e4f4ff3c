// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_trial.h"

#include <algorithm>
#include <map>
#include <memory>
#include <ranges>

#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/reserve_and_permit.h"

namespace berth::scheduler {

using framework::PlacementProgress;
using framework::PodGroupKey;
using framework::PodGroupPlacement;
using framework::Status;
using runtime::Outcome;

namespace {

bool IsPlaced(const GroupMember& member) { return member.result == GroupMember::Result::kPlaced; }

}  // namespace

std::string GroupVerdict::Message() const {
  std::string text = error;
  for (const std::string& reason : reasons) {
    if (!text.empty()) text += ", ";
    text += reason;
  }
  return text;
}

GroupVerdict GroupVerdict::Refused(std::vector<std::string> reasons, std::string_view in_front) {
  return {Result::kRefused, std::string(in_front), std::move(reasons)};
}

GroupVerdict GroupVerdict::Failed(std::string error) { return {Result::kError, std::move(error), {}}; }

PodGroupTrial::PodGroupTrial(CoreState& state, Profile& profile, Random& random)
    : state_(state), profile_(profile), random_(random) {
  for (const auto& plugin : profile.plugins->owned) {
    if (const auto* asked = dynamic_cast<const framework::PlacementFeasiblePlugin*>(plugin.get())) feasible_ = asked;
  }
  const auto& generators = profile.plugins->placement_generate;
  if (!generators.empty()) generator_ = generators.front();
}

GroupVerdict PodGroupTrial::Place(const PodGroupKey& group, std::span<GroupMember> members) {
  const cache::PodGroupStates::Trial trial(state_.pod_groups.get());
  GroupVerdict verdict =
      state_.release.places_pod_groups_by_topology ? PlaceBest(group, members) : PlaceHere(group, members);
  if (verdict.IsScheduled() && std::ranges::none_of(members, IsPlaced))
    verdict = GroupVerdict::Refused({}, kPodGroupUnschedulable);
  return verdict;
}

GroupVerdict PodGroupTrial::PlaceHere(const PodGroupKey& group, std::span<GroupMember> members) {
  GroupVerdict verdict = TryMembers(group, members);
  if (!verdict.IsScheduled()) TakeBack(members);
  return verdict;
}

void PodGroupTrial::TakeBack(std::span<GroupMember> members) {
  for (GroupMember& member : std::views::reverse(members)) {
    if (IsPlaced(member)) Unreserve(state_, profile_, *member.assumed);
  }
}

GroupVerdict PodGroupTrial::PlaceBest(const PodGroupKey& group, std::span<GroupMember> members) {
  std::vector<PodGroupPlacement> placements;
  if (generator_ == nullptr) {
    placements.emplace_back();
  } else {
    const Time began = state_.stopwatch.Read();
    const Status made =
        runtime::Guarded([&] { return generator_->GeneratePlacements(group, state_.cache.nodes(), placements); });
    const bool found_none = made.IsSuccess() && placements.empty();
    NotePoint(instruments::Point::kPlacementGenerate, found_none ? framework::Code::kUnschedulable : made.code(),
              began);
    if (!made.IsSuccess()) return GroupVerdict::Failed(made.Message());
  }
  if (placements.empty()) return GroupVerdict::Refused({"no feasible placements found"});
  if (state_.metrics.groups) state_.metrics.groups->NotePlacements(profile_.scheduler_name(), placements.size());
  std::vector<Tried> tried = TryPlacements(group, members, placements);
  const auto is_scheduled = [](const Tried& each) { return each.verdict.IsScheduled(); };
  const auto take = [&](Tried& from) { std::ranges::move(from.members, members.begin()); };
  if (tried.back().verdict.result == GroupVerdict::Result::kError) {
    take(tried.back());
    return tried.back().verdict;
  }
  if (std::ranges::none_of(tried, is_scheduled)) {
    const GroupVerdict& first = tried.front().verdict;
    const std::string status = first.error.empty() ? first.Message() : first.error;
    take(tried.front());
    return GroupVerdict::Refused(
        {"0/" + std::to_string(placements.size()) + " placements are available, first placement status: " + status},
        kPodGroupUnschedulable);
  }
  std::size_t best = 0;
  if (const Status chosen = ChooseBest(group, placements, tried, best); !chosen.IsSuccess())
    return GroupVerdict::Failed(chosen.Message());
  take(tried[best]);
  for (GroupMember& member : members) {
    if (IsPlaced(member)) Assume(member);
  }
  return {};
}

// One after the other, until one fails. Nothing stays placed, and all nodes are there again.
std::vector<PodGroupTrial::Tried> PodGroupTrial::TryPlacements(const PodGroupKey& group,
                                                               std::span<const GroupMember> members,
                                                               std::span<const PodGroupPlacement> placements) {
  Overlay overlay(state_);
  std::map<std::string, std::shared_ptr<const api::Node>>
      hidden;  // in order, so that rows are given back in the same one
  const framework::NodeTable& nodes = state_.cache.nodes();
  const bool is_everywhere = placements.size() == 1 && (placements.front().node_names.empty() ||
                                                        placements.front().node_names.size() == nodes.node_count());
  if (!is_everywhere) {
    for (const framework::NodeIndex row : nodes.rows()) hidden[nodes.Info(row).name()] = nodes.Info(row).node_ptr();
    for (const auto& [name, node] : hidden) overlay.RemoveNode(name);
  }
  std::vector<Tried> tried;
  for (const PodGroupPlacement& placement : placements) {
    const Time began = state_.stopwatch.Read();
    const Overlay::Mark mark = overlay.mark();
    for (const std::string& name : placement.node_names) {
      if (!is_everywhere) overlay.SetNode(hidden.at(name));
    }
    Tried& now = tried.emplace_back();
    now.members.assign(members.begin(), members.end());
    now.verdict = PlaceHere(group, now.members);
    if (now.verdict.IsScheduled()) TakeBack(now.members);
    for (const GroupMember& member : now.members) {
      if (IsPlaced(member)) now.assignments.push_back({member.queued.pod, member.assumed->node_name});
    }
    overlay.UndoTo(mark);
    if (now.verdict.result == GroupVerdict::Result::kError) break;
    if (state_.metrics.groups)
      state_.metrics.groups->NotePlacement(profile_.scheduler_name(), now.verdict.IsScheduled(),
                                           state_.stopwatch.Read() - began);
  }
  return tried;
}

// The placement with the highest sum of weighted scores, of those on which the group can be placed.
Status PodGroupTrial::ChooseBest(const PodGroupKey& group, std::span<const PodGroupPlacement> placements,
                                 std::span<const Tried> tried, std::size_t& best) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (tried[i].verdict.IsScheduled()) candidates.push_back(i);
  }
  best = candidates.front();
  if (candidates.size() == 1) return {};
  std::vector<std::int64_t> totals(candidates.size());
  const Time began = state_.stopwatch.Read();
  const Status scored = ScorePlacements(group, placements, tried, candidates, totals);
  NotePoint(instruments::Point::kPlacementScore, scored.code(), began);
  if (!scored.IsSuccess()) return scored;
  std::size_t equal_count = 0;
  const std::int64_t highest = *std::ranges::max_element(totals);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (totals[i] == highest && random_.Below(++equal_count) == 0) best = candidates[i];
  }
  return {};
}

// Adds up the weighted scores of the candidates, which are positions in `placements` and `tried`.
Status PodGroupTrial::ScorePlacements(const PodGroupKey& group, std::span<const PodGroupPlacement> placements,
                                      std::span<const Tried> tried, std::span<const std::size_t> candidates,
                                      std::span<std::int64_t> totals) const {
  const auto failed = [](std::string_view doing, std::string_view plugin, std::string_view why) {
    std::string text(doing);
    return Status::Error(text.append(" PlacementScore plugins: plugin \"").append(plugin).append("\" ").append(why));
  };
  for (const runtime::WeightedPlacementScore& scorer : profile_.plugins->placement_score) {
    const std::string_view name = scorer.plugin->Name();
    std::vector<std::int64_t> scores;
    const Status given = runtime::GuardedCall([&] {
      for (const std::size_t i : candidates)
        scores.push_back(
            scorer.plugin->ScorePlacement(group, placements[i], tried[i].assignments, state_.cache.nodes()));
    });
    if (!given.IsSuccess()) return failed("running", name, "failed with: " + given.Message());
    const Status normalized = runtime::Guarded([&] { return scorer.plugin->NormalizePlacementScores(scores); });
    if (!normalized.IsSuccess())
      return failed("running NormalizePlacementScore on", name, "failed with: " + normalized.Message());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] < 0 || scores[i] > framework::kNodeScoreMax) {
        return failed("applying score defaultWeights on", name,
                      "returns an invalid score " + std::to_string(scores[i]) +
                          ", it should in the range of [0, 100] after normalizing");
      }
      totals[i] += scorer.weight * scores[i];
    }
  }
  return {};
}

// A member of the best placement gets its node once more, now that all nodes are there.
void PodGroupTrial::Assume(GroupMember& member) {
  member.row = state_.cache.nodes().Find(member.assumed->node_name);
  state_.cache.AssumePod(member.assumed, member.row);
  Reserve(member, framework::Cycle(state_.cache.nodes(), member.state, member.seed, state_.WallNow()));
}

// The member is assumed, and stays so if it can be reserved.
void PodGroupTrial::Reserve(GroupMember& member, const framework::Cycle& cycle) {
  const Status reserved = RunReserve(state_, profile_, cycle, *member.assumed, member.queued.is_sampled);
  if (reserved.IsSuccess()) {
    member.result = GroupMember::Result::kPlaced;
    return;
  }
  Unreserve(state_, profile_, *member.assumed);
  member.failure = FailureOfChosenNode(reserved);
  member.result = member.failure.is_refusal ? GroupMember::Result::kRefused : GroupMember::Result::kFailed;
}

GroupVerdict PodGroupTrial::TryMembers(const PodGroupKey& group, std::span<GroupMember> members) {
  const auto is_error = [](const Status& status) {
    return !status.IsSuccess() && !status.IsWait() && status.code() != framework::Code::kUnschedulable;
  };
  const auto not_evaluated = [](const Status& status) {
    return GroupVerdict::Failed("failed to evaluate placement feasibility: " + status.Message());
  };
  PlacementProgress progress{members.size(), state_.pod_groups->CountsOf(group).scheduled};
  Status feasible = AskFeasible(group, progress);
  if (is_error(feasible)) return not_evaluated(feasible);
  if (feasible.IsRejected()) return GroupVerdict::Refused(feasible.reasons(), kPodGroupUnschedulable);
  for (GroupMember& member : members) {
    PlaceMember(member);
    if (member.result == GroupMember::Result::kFailed)
      return GroupVerdict::Failed("failed to schedule other pod from a pod group: " + member.failure.message);
    --progress.remaining;
    if (IsPlaced(member)) ++progress.scheduled;
    feasible = AskFeasible(group, progress);
    if (is_error(feasible)) return not_evaluated(feasible);
    // The members that are left cannot make enough of them.
    if (feasible.IsRejected()) return GroupVerdict::Refused(feasible.reasons());
  }
  if (feasible.IsWait()) return GroupVerdict::Refused(feasible.reasons(), kPodGroupUnschedulable);
  return {};
}

Status PodGroupTrial::AskFeasible(const PodGroupKey& group, const PlacementProgress& progress) const {
  if (feasible_ == nullptr) return {};
  const Time began = state_.stopwatch.Read();
  Status feasible = runtime::Guarded([&] { return feasible_->PlacementFeasible(group, progress); });
  NotePoint(instruments::Point::kPlacementFeasible, feasible.code(), began);
  return feasible;
}

void PodGroupTrial::NotePoint(instruments::Point point, framework::Code code, Time began) const {
  profile_.metrics->NotePoint(point, code, state_.stopwatch.Read() - began);
}

// As a scheduling cycle, but for PostFilter: whether room is made is decided for the group.
void PodGroupTrial::PlaceMember(GroupMember& member) {
  runtime::Evaluator& evaluator = profile_.evaluator;
  const framework::PodInfoPtr& pod = member.queued.pod;
  state_.UpdateNominations();
  member.seed = random_.Next();
  member.queued.is_sampled = runtime::IsSampled(member.seed);
  const Outcome& outcome =
      evaluator.Evaluate(pod, state_.cache.nodes(), &state_.nominations.rows(), member.seed, state_.WallNow());
  state_.metrics.cycles.algorithm_duration.Observe(
      instruments::Seconds(state_.stopwatch.latest() - member.queued.attempt_began));
  if (is_local_ && *is_local_) is_local_ = evaluator.NodeEpoch().has_value();
  member.node_count = static_cast<std::uint32_t>(outcome.node_count);
  member.feasible_count = static_cast<std::uint32_t>(outcome.feasible_count);
  if (outcome.result == runtime::Result::kError) {
    member.result = GroupMember::Result::kFailed;
    member.failure.message = outcome.error;
    return;
  }
  if (outcome.result != runtime::Result::kFeasible) {
    member.result = GroupMember::Result::kRefused;
    member.refusals = evaluator.RefusalCounts();
    member.failure.is_refusal = true;
    member.failure.unschedulable_plugins = outcome.unschedulable_plugins;
    member.failure.message = evaluator.Message();
    member.failure.nomination.is_set = outcome.result == runtime::Result::kNoNodes;
    member.state = evaluator.cycle().state.Clone();
    return;
  }
  member.total = outcome.total;
  member.row = outcome.node;
  member.assumed = WithNode(*pod, state_.cache.nodes().Info(outcome.node).name());
  member.state = evaluator.cycle().state.Clone();
  state_.cache.AssumePod(member.assumed, member.row);
  state_.queue.nominator().DeleteNominated(pod->uid);
  Reserve(member, evaluator.cycle());
}

}  // namespace berth::scheduler
