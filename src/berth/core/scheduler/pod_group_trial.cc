// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_trial.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <utility>

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
bool IsHeld(const GroupMember& member) { return member.is_held; }

bool IsError(const Status& status) {
  return !status.IsSuccess() && !status.IsWait() && status.code() != framework::Code::kUnschedulable;
}

struct Child {
  PodGroupKey group;
  std::span<GroupMember> members;
};

// The children of a composite group, each with its members.
std::vector<Child> ChildrenOf(const framework::PodGroups& groups, const PodGroupKey& composite,
                              std::span<GroupMember> members) {
  std::vector<Child> children;
  for (PodGroupKey& group : groups.ChildrenOf(composite)) {
    std::size_t count = 0;
    for (const PodGroupKey& leaf : framework::LeavesOf(groups, group)) {
      while (count < members.size() && framework::GroupOf(*members[count].queued.pod) == leaf) ++count;
    }
    children.push_back({std::move(group), members.first(count)});
    members = members.subspan(count);
  }
  return children;
}

// The members to bind: those of PodGroups that are scheduled together with all groups above them.
std::vector<GroupMember*> Chosen(const framework::PodGroups& groups, const PodGroupKey& group,
                                 const GroupVerdicts& verdicts, std::span<GroupMember> members) {
  std::vector<GroupMember*> chosen;
  const auto verdict = verdicts.find(group);
  if (verdict == verdicts.end() || !verdict->second.IsScheduled()) return chosen;
  if (!group.is_composite) {
    for (GroupMember& member : members) {
      if (IsPlaced(member)) chosen.push_back(&member);
    }
    return chosen;
  }
  for (const Child& child : ChildrenOf(groups, group, members)) {
    const std::vector<GroupMember*> of_child = Chosen(groups, child.group, verdicts, child.members);
    chosen.insert(chosen.end(), of_child.begin(), of_child.end());
  }
  return chosen;
}

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
  return {Result::kRefused, std::string(in_front), std::move(reasons), true};
}

GroupVerdict GroupVerdict::Failed(std::string error) { return {Result::kError, std::move(error), {}, true}; }

PodGroupTrial::PodGroupTrial(CoreState& state, Profile& profile, Random& random)
    : state_(state), profile_(profile), random_(random) {
  const auto& generators = profile.plugins->placement_generate;
  if (!generators.empty()) generator_ = generators.front();
}

GroupVerdicts PodGroupTrial::Place(const PodGroupKey& group, std::span<GroupMember> members) {
  const cache::PodGroupStates::Trial trial(state_.pod_groups.get());
  GroupVerdicts verdicts;
  is_single_group_ = !group.is_composite;
  PlaceGroup(group, members, verdicts);
  GroupVerdict& verdict = verdicts.at(group);
  if (verdict.IsScheduled() && std::ranges::none_of(members, IsHeld))
    verdict = state_.release.names_failed_groups ? GroupVerdict::Refused({"no pods were schedulable"})
                                                 : GroupVerdict::Refused({}, kPodGroupUnschedulable);
  return verdicts;
}

void PodGroupTrial::PlaceGroup(const PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts) {
  if (state_.release.places_pod_groups_by_topology) return PlaceBest(group, members, verdicts);
  PlaceHere(group, members, verdicts);
}

void PodGroupTrial::PlaceHere(const PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts) {
  const GroupVerdict verdict = group.is_composite ? TryChildren(group, members, verdicts) : TryMembers(group, members);
  if (!verdict.IsScheduled()) TakeBack(members);
  verdicts.insert_or_assign(group, verdict);
}

void PodGroupTrial::TakeBack(std::span<GroupMember> members) {
  for (GroupMember& member : std::views::reverse(members)) {
    if (!std::exchange(member.is_held, false)) continue;
    Unreserve(state_, profile_, *member.assumed);
    if (ranking_ != nullptr) ranking_->TakeBack(member.queued.pod->uid);
  }
}

void PodGroupTrial::PlaceBest(const PodGroupKey& group, std::span<GroupMember> members, GroupVerdicts& verdicts) {
  const auto end = [&](GroupVerdict verdict) { verdicts.insert_or_assign(group, std::move(verdict)); };
  std::vector<PodGroupPlacement> placements;
  if (const Status made = Generate(group, placements); !made.IsSuccess())
    return end(GroupVerdict::Failed(made.Message()));
  if (placements.empty()) {
    GroupVerdict none = GroupVerdict::Refused({"no feasible placements found"});
    none.is_named_by_members = false;
    return end(std::move(none));
  }
  if (state_.metrics.groups)
    state_.metrics.groups->ObservePlacements(group, profile_.scheduler_name(), placements.size());
  std::vector<Tried> tried;
  const bool is_first_no_choice = TryNominated(group, members, placements, tried);
  const auto verdict_of = [&](const Tried& each) -> const GroupVerdict& { return each.verdicts.at(group); };
  const auto is_scheduled = [&](const Tried& each) { return verdict_of(each).IsScheduled(); };
  const auto take = [&](Tried& from) {
    std::ranges::move(from.members, members.begin());
    for (auto& [of, verdict] : from.verdicts) verdicts.insert_or_assign(of, std::move(verdict));
  };
  const auto is_error = [&] { return verdict_of(tried.back()).result == GroupVerdict::Result::kError; };
  if (tried.size() < placements.size() && (tried.empty() || !is_error())) {
    const std::span<PodGroupPlacement> others = std::span(placements).subspan(tried.size());
    const std::size_t enough = EnoughPlacements(placements);
    if (enough < placements.size()) Shuffle(others);
    std::ranges::move(TryPlacements(group, members, others, enough), std::back_inserter(tried));
  }
  if (is_error()) {
    // As upstream before 1.38, the verdicts of inner groups are discarded.
    if (group.is_composite && !state_.release.names_failed_groups) return end(verdict_of(tried.back()));
    return take(tried.back());
  }
  std::vector<std::size_t> candidates;
  for (std::size_t i = is_first_no_choice ? 1 : 0; i < tried.size(); ++i) {
    if (is_scheduled(tried[i])) candidates.push_back(i);
  }
  if (candidates.empty()) {
    GroupVerdict first = verdict_of(tried.front());
    if (is_first_no_choice)
      first = GroupVerdict::Refused({"nominated placement is feasible but no pending pod was scheduled"});
    const bool says_all = first.error.empty() || state_.release.names_failed_groups;
    const std::string status = says_all ? first.Message() : first.error;
    take(tried.front());
    return end(GroupVerdict::Refused(
        {"0/" + std::to_string(placements.size()) + " placements are available, first placement status: " + status},
        Prefix()));
  }
  std::size_t best = 0;
  if (const Status chosen = ChooseBest(group, placements, tried, candidates, best); !chosen.IsSuccess())
    return end(GroupVerdict::Failed(chosen.Message()));
  if (tried[best].members.empty() && !members.empty()) {  // the results were not kept
    const PodGroupPlacement placement = placements[best];
    tried = TryPlacements(group, members, {&placement, 1}, 1);
    best = 0;
    if (!is_scheduled(tried.front())) return take(tried.front());
  }
  Tried& chosen = tried[best];
  for (GroupMember* const member : Chosen(*state_.pod_groups, group, chosen.verdicts, chosen.members)) {
    Assume(*member);
    if (member->is_held || !state_.release.has_composite_pod_groups) continue;
    TakeBack(chosen.members);
    return end(GroupVerdict::Failed("failed to assume the subtree: " + member->failure.message));
  }
  take(chosen);
}

bool PodGroupTrial::TryNominated(const PodGroupKey& group, std::span<const GroupMember> members,
                                 std::vector<PodGroupPlacement>& placements, std::vector<Tried>& tried) {
  if (!state_.release.tries_nominated_domain_first || !is_single_group_) return false;
  const auto is_nominated = [&](const std::string& node_name) {
    return std::ranges::any_of(members, [&](const GroupMember& member) {
      return !node_name.empty() && member.queued.pod->nominated_node_name == node_name;
    });
  };
  const auto has_nominated = [&](const PodGroupPlacement& placement) {
    return std::ranges::any_of(placement.node_names, is_nominated);
  };
  // With nominations in several domains it cannot be told which one was chosen.
  if (std::ranges::count_if(placements, has_nominated) != 1) return false;
  const auto nominated = std::ranges::find_if(placements, has_nominated);
  std::rotate(placements.begin(), nominated, nominated + 1);
  tried = TryPlacements(group, members, std::span(placements).first(1), 1);
  if (!tried.front().verdicts.at(group).IsScheduled()) return false;
  if (tried.front().assignments.empty()) return true;
  placements.resize(1);
  return false;
}

Status PodGroupTrial::Generate(const PodGroupKey& group, std::vector<PodGroupPlacement>& placements) const {
  if (generator_ == nullptr) {
    placements.emplace_back();
    return {};
  }
  const framework::NodeTable& nodes = state_.cache.nodes();
  const auto find = [&](const std::string& name) -> const api::Node* {
    if (all_nodes_ != nullptr) {
      const auto found = all_nodes_->find(name);
      return found == all_nodes_->end() ? nullptr : found->second.get();
    }
    const framework::NodeIndex row = nodes.Find(name);
    return row == framework::kNoNode ? nullptr : &nodes.Info(row).node();
  };
  const Time began = state_.stopwatch.Read();
  const Status made =
      runtime::Guarded([&] { return generator_->GeneratePlacements(group, {nodes, find}, placements); });
  const bool found_none = made.IsSuccess() && placements.empty();
  ObservePoint(instruments::Point::kPlacementGenerate, found_none ? framework::Code::kUnschedulable : made.code(),
               began);
  return made;
}

// As upstream's numFeasiblePlacementsToFind.
std::size_t PodGroupTrial::EnoughPlacements(std::span<const PodGroupPlacement> placements) const {
  const std::optional<std::int32_t> configured = profile_.plugins->percentage_of_placements_to_score;
  if (!configured) return placements.size();
  if (profile_.plugins->placement_score.empty()) return 1;
  std::size_t percentage = static_cast<std::size_t>(*configured);
  if (percentage == 0) {
    // From 100 percent down to 10 at 5,000 nodes. A node that is in several placements counts in each.
    std::size_t node_count = 0;
    for (const PodGroupPlacement& placement : placements)
      node_count += placement.node_names.empty() ? state_.cache.nodes().node_count() : placement.node_names.size();
    const std::size_t fewer = node_count * 9 / 500;
    percentage = fewer < 100 - kPlacementPercentageMin ? 100 - fewer : kPlacementPercentageMin;
  }
  return std::max<std::size_t>(1, placements.size() * percentage / 100);
}

// So that where few are tried, it is not always those that the generator puts first.
void PodGroupTrial::Shuffle(std::span<PodGroupPlacement> placements) {
  for (std::size_t left = placements.size(); left > 1; --left)
    std::swap(placements[left - 1], placements[random_.Below(left)]);
}

// Tries the placements in turn until the group fits on enough of them, or one ends with an error. Afterwards nothing is
// placed and no node is hidden.
std::vector<PodGroupTrial::Tried> PodGroupTrial::TryPlacements(const PodGroupKey& group,
                                                               std::span<const GroupMember> members,
                                                               std::span<const PodGroupPlacement> placements,
                                                               std::size_t enough) {
  Overlay overlay(state_);
  Nodes hidden;  // ordered, so that rows are freed and reused in a deterministic order
  const framework::NodeTable& nodes = state_.cache.nodes();
  const bool is_everywhere = placements.size() == 1 && (placements.front().node_names.empty() ||
                                                        placements.front().node_names.size() == nodes.node_count());
  const bool hides_first = !is_everywhere && all_nodes_ == nullptr;
  if (!is_everywhere) {
    for (const framework::NodeIndex row : nodes.rows()) hidden[nodes.Info(row).name()] = nodes.Info(row).node_ptr();
    for (const auto& [name, node] : hidden) overlay.RemoveNode(name);
  }
  if (hides_first) all_nodes_ = &hidden;
  std::vector<Tried> tried;
  std::size_t kept = 0;     // members whose results are kept so far
  std::size_t fitting = 0;  // placements
  for (const PodGroupPlacement& placement : placements) {
    const Time began = state_.stopwatch.Read();
    const Overlay::Mark mark = overlay.mark();
    for (const std::string& name : placement.node_names) {
      if (!is_everywhere) overlay.SetNode(hidden.at(name));
    }
    Tried& now = tried.emplace_back();
    now.members.assign(members.begin(), members.end());
    PlaceHere(group, now.members, now.verdicts);
    TakeBack(now.members);
    for (const GroupMember* member : Chosen(*state_.pod_groups, group, now.verdicts, now.members))
      now.assignments.push_back({member->queued.pod, member->assumed->node_name});
    overlay.UndoTo(mark);
    const GroupVerdict& verdict = now.verdicts.at(group);
    if (verdict.result == GroupVerdict::Result::kError) break;
    if (verdict.IsScheduled()) ++fitting;
    if (state_.metrics.groups)
      state_.metrics.groups->ObservePlacement(group, profile_.scheduler_name(), verdict.IsScheduled(),
                                              state_.stopwatch.Read() - began);
    const bool may_be_best = verdict.IsScheduled() && kept + members.size() <= kTriedMembersMax;
    if (tried.size() == 1 || may_be_best) {
      kept += members.size();
    } else {
      now.members = {};
      std::erase_if(now.verdicts, [&](const auto& each) { return each.first != group; });
    }
    if (fitting == enough) break;
  }
  if (hides_first) all_nodes_ = nullptr;
  return tried;
}

// Chooses the placement with the highest sum of weighted scores among those on which the group fits.
Status PodGroupTrial::ChooseBest(const PodGroupKey& group, std::span<const PodGroupPlacement> placements,
                                 std::span<const Tried> tried, std::span<const std::size_t> candidates,
                                 std::size_t& best) {
  best = candidates.front();
  if (candidates.size() == 1) return {};
  std::vector<std::int64_t> totals(candidates.size());
  const Time began = state_.stopwatch.Read();
  const Status scored = ScorePlacements(group, placements, tried, candidates, totals);
  ObservePoint(instruments::Point::kPlacementScore, scored.code(), began);
  if (!scored.IsSuccess()) return scored;
  std::size_t equal_count = 0;
  const std::int64_t highest = *std::ranges::max_element(totals);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (totals[i] == highest && random_.Below(++equal_count) == 0) best = candidates[i];
  }
  return {};
}

// Adds up the weighted scores of the candidates, which are indices into `placements` and `tried`.
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

// Assumes a member of the best placement again. The row may differ from that of the trial, because all nodes are back.
void PodGroupTrial::Assume(GroupMember& member) {
  member.row = state_.cache.nodes().Find(member.assumed->node_name);
  state_.cache.AssumePod(member.assumed, member.row);
  Reserve(member, framework::Cycle(state_.cache.nodes(), member.state, member.seed, state_.WallNow()));
}

// Reserves an assumed member. On failure the assumption is taken back.
void PodGroupTrial::Reserve(GroupMember& member, const framework::Cycle& cycle) {
  const Status reserved = RunReserve(state_, profile_, cycle, *member.assumed, member.queued.is_sampled);
  if (reserved.IsSuccess()) {
    member.result = GroupMember::Result::kPlaced;
    member.is_held = true;
    if (ranking_ != nullptr) ranking_->Place(member.queued.pod->uid, member.assumed->node_name);
    return;
  }
  Unreserve(state_, profile_, *member.assumed);
  member.failure = FailureOfChosenNode(reserved);
  member.result = member.failure.is_refusal ? GroupMember::Result::kRefused : GroupMember::Result::kFailed;
}

GroupVerdict PodGroupTrial::TryMembers(const PodGroupKey& group, std::span<GroupMember> members) {
  const auto not_evaluated = [](const Status& status) {
    return GroupVerdict::Failed("failed to evaluate placement feasibility: " + status.Message());
  };
  PlacementProgress progress{members.size(), state_.pod_groups->CountsOf(group).scheduled};
  Status feasible = AskFeasible(group, progress);
  if (IsError(feasible)) return not_evaluated(feasible);
  if (feasible.IsRejected()) return GroupVerdict::Refused(feasible.reasons(), Prefix());
  for (GroupMember& member : members) {
    PlaceMember(member);
    if (member.result == GroupMember::Result::kFailed)
      return GroupVerdict::Failed("failed to schedule other pod from a pod group: " + member.failure.message);
    --progress.remaining;
    ++(IsPlaced(member) ? progress.scheduled : progress.failed);
    feasible = AskFeasible(group, progress);
    if (IsError(feasible)) return not_evaluated(feasible);
    // kUnschedulable: the remaining members cannot reach the required number.
    if (feasible.IsRejected()) return GroupVerdict::Refused(feasible.reasons());
  }
  if (feasible.IsWait()) return GroupVerdict::Refused(feasible.reasons(), Prefix());
  return {};
}

// The counterpart of TryMembers() for child groups. As upstream, their messages differ slightly.
GroupVerdict PodGroupTrial::TryChildren(const PodGroupKey& group, std::span<GroupMember> members,
                                        GroupVerdicts& verdicts) {
  const auto verdict_of = [](const Status& feasible) {
    if (IsError(feasible)) return GroupVerdict::Failed(feasible.Message());
    return feasible.IsSuccess() ? GroupVerdict() : GroupVerdict::Refused(feasible.reasons());
  };
  const std::vector<Child> children = ChildrenOf(*state_.pod_groups, group, members);
  PlacementProgress progress{children.size(), 0};
  Status feasible = AskFeasible(group, progress);
  for (const Child& child : children) {
    if (!feasible.IsSuccess() && !feasible.IsWait()) return verdict_of(feasible);
    PlaceGroup(child.group, child.members, verdicts);
    const GroupVerdict& verdict = verdicts.at(child.group);
    if (verdict.result == GroupVerdict::Result::kError)
      return GroupVerdict::Failed(ChildErrorText(group, child.group) + verdict.error);
    --progress.remaining;
    ++(verdict.IsScheduled() ? progress.scheduled : progress.failed);
    feasible = AskFeasible(group, progress);
  }
  if (feasible.IsWait()) return GroupVerdict::Refused(feasible.reasons(), Prefix());
  return verdict_of(feasible);
}

std::string_view PodGroupTrial::Prefix() const {
  return state_.release.names_failed_groups ? std::string_view() : kPodGroupUnschedulable;
}

std::string PodGroupTrial::ChildErrorText(const PodGroupKey& group, const PodGroupKey& child) const {
  if (!state_.release.names_failed_groups) return "composite pod group evaluation failed due to child error: ";
  return "composite pod group \"" + group.name + "\" evaluation failed due to child \"" + child.name + "\" error: ";
}

Status PodGroupTrial::AskFeasible(const PodGroupKey& group, const PlacementProgress& progress) const {
  if (profile_.plugins->placement_feasible.empty()) return {};
  const Time began = state_.stopwatch.Read();
  Status feasible;
  for (const framework::PlacementFeasiblePlugin* const plugin : profile_.plugins->placement_feasible) {
    Status answer = runtime::Guarded([&] { return plugin->PlacementFeasible(group, progress); });
    if (answer.IsSuccess()) continue;
    feasible = std::move(answer);
    if (!feasible.IsWait()) break;
  }
  ObservePoint(instruments::Point::kPlacementFeasible, feasible.code(), began);
  return feasible;
}

void PodGroupTrial::ObservePoint(instruments::Point point, framework::Code code, Time began) const {
  profile_.metrics->ObservePoint(point, code, state_.stopwatch.Read() - began);
}

// With a ranking, the nodes on which the member fits are found first, and then only those that are ranked first are
// scored.
const Outcome& PodGroupTrial::Evaluate(const GroupMember& member) {
  runtime::Evaluator& evaluator = profile_.evaluator;
  const framework::PodInfoPtr& pod = member.queued.pod;
  const framework::NodeTable& nodes = state_.cache.nodes();
  const auto evaluate = [&](const runtime::ExtenderVerdicts* verdicts) -> const Outcome& {
    return evaluator.Evaluate(pod, nodes, &state_.nominations.rows(), member.seed, state_.WallNow(), verdicts);
  };
  if (ranking_ == nullptr) return evaluate(nullptr);
  ranked_ = {};
  ranked_.is_ranking = ranked_.filters_only = true;
  const Outcome& fitting = evaluate(&ranked_);
  if (fitting.result != runtime::Result::kFeasible || fitting.is_nominated_node) return fitting;
  std::vector<std::string_view> names;
  names.reserve(fitting.feasible.size());
  for (const framework::NodeIndex row : fitting.feasible) names.push_back(nodes.Info(row).name());
  const Time began = state_.stopwatch.Read();
  const std::vector<std::size_t> cheapest = ranking_->Cheapest(names);
  ObservePoint(instruments::Point::kRankNodes, framework::Code::kSuccess, began);
  if (cheapest.size() == names.size()) return evaluate(nullptr);
  ranked_.filters_only = false;
  ranked_.skips_nominated = true;
  for (const std::size_t i : cheapest) ranked_.passed.emplace(names[i]);
  return evaluate(&ranked_);
}

// Runs a scheduling cycle for the member without PostFilter, which is run for the whole group.
void PodGroupTrial::PlaceMember(GroupMember& member) {
  runtime::Evaluator& evaluator = profile_.evaluator;
  const framework::PodInfoPtr& pod = member.queued.pod;
  state_.UpdateNominations();
  member.seed = random_.Next();
  member.queued.is_sampled |= runtime::IsSampled(member.seed);
  const Outcome& outcome = Evaluate(member);
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
  member.assumed = WithNode(*pod, state_.cache.nodes().Name(outcome.node));
  member.state = evaluator.cycle().state.Clone();
  state_.cache.AssumePod(member.assumed, member.row);
  state_.queue.nominator().DeleteNominated(pod->uid);
  Reserve(member, evaluator.cycle());
}

}  // namespace berth::scheduler
