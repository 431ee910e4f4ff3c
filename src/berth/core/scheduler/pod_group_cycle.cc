// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_cycle.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/extender_cycle.h"
#include "berth/core/scheduler/nomination_moves.h"
#include "berth/core/scheduler/pod_group_dry_run.h"
#include "berth/core/scheduler/pod_group_validity.h"
#include "berth/core/scheduler/reserve_and_permit.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/pod_group_post_filter.h"

namespace berth::scheduler {

using framework::PodGroupKey;
using framework::PodInfo;
using framework::PodInfoPtr;

namespace {

queue::PodGroupEnd EndOf(const GroupVerdict& verdict) {
  switch (verdict.result) {
    case GroupVerdict::Result::kScheduled: return queue::PodGroupEnd::kScheduled;
    case GroupVerdict::Result::kRefused: return queue::PodGroupEnd::kRefused;
    case GroupVerdict::Result::kError: break;
  }
  return queue::PodGroupEnd::kError;
}

instruments::GroupResult ResultOf(const GroupVerdict& verdict, bool is_waiting) {
  using enum instruments::GroupResult;
  switch (verdict.result) {
    case GroupVerdict::Result::kScheduled: return kScheduled;
    case GroupVerdict::Result::kRefused: return is_waiting ? kWaitingOnPreemption : kUnschedulable;
    case GroupVerdict::Result::kError: break;
  }
  return kError;
}

// While this object lives, the group's members are not nominated, so that members of one cycle do not keep room from
// each other. Upstream has the same effect: of a nominated pod that is in flight it knows only the name, not the
// priority or the requests.
class WithoutNominations {
 public:
  // `nominator` and `members` must outlive it.
  WithoutNominations(queue::Nominator& nominator, std::span<GroupMember> members)
      : nominator_(nominator), members_(members) {
    for (GroupMember& member : members) {
      member.nominated_before = nominator.NominatedNode(member.queued.pod->uid);
      nominator.DeleteNominated(member.queued.pod->uid);
    }
  }
  // Restores the nominations, including those of placed members: EndNomination() wakes the pods that wait for the room.
  ~WithoutNominations() {
    for (const GroupMember& member : members_) {
      if (!member.nominated_before.empty()) nominator_.AddNominatedPod(member.queued.pod, member.nominated_before);
    }
  }
  WithoutNominations(const WithoutNominations&) = delete;
  WithoutNominations& operator=(const WithoutNominations&) = delete;

 private:
  queue::Nominator& nominator_;
  const std::span<GroupMember> members_;
};

// Groups the members by PodGroup and keeps their order within each.
void SortByLeaves(const std::vector<PodGroupKey>& leaves, std::vector<GroupMember>& members) {
  if (leaves.size() <= 1) return;
  std::map<PodGroupKey, std::size_t> ranks;
  for (const PodGroupKey& leaf : leaves) ranks.emplace(leaf, ranks.size());
  const auto rank_of = [&](const GroupMember& member) {
    const auto found = ranks.find(framework::GroupOf(*member.queued.pod));
    return found == ranks.end() ? ranks.size() : found->second;
  };
  std::ranges::stable_sort(members, {}, rank_of);
}

}  // namespace

void PodGroupCycle::Run(Random& random) {
  queue::QueuedPodGroup group = state_.queue.TakePoppedGroup();
  std::vector<GroupMember> members;
  members.reserve(group.members.size());
  for (queue::QueuedPodInfo& queued : group.members) {
    GroupMember& member = members.emplace_back();
    member.queued = std::move(queued);
    member.queued.attempt_began = state_.stopwatch.latest();
  }
  const std::vector<PodGroupKey> leaves = framework::LeavesOf(*state_.pod_groups, group.root);
  SortByLeaves(leaves, members);
  std::string why = WhyInvalid(*state_.pod_groups, state_.release, group.root, members);
  const bool blames_group = state_.release.checks_group_trees && !why.empty();
  if (why.empty()) why = WhyWithoutProfile(*members.front().queued.pod);
  if (!why.empty()) {
    FailAll(std::move(members), why);
    for (const PodGroupKey& each : framework::GroupsWithin(*state_.pod_groups, group.root)) {
      const std::string reason = each.is_composite ? "CompositePodGroupError" : "PodGroupError";
      conditions_.Set(each, false, blames_group ? reason : "SchedulerError", why);
    }
    state_.queue.EndGroup(queue::PodGroupEnd::kError, state_.now);
    return;
  }
  Profile& profile = *state_.profiles.Find(*members.front().queued.pod);
  DropStale(profile, members);
  if (members.empty()) {
    state_.queue.EndGroup(queue::PodGroupEnd::kScheduled, state_.now);
    return;
  }
  if (const std::string deferred = WhyDeferred(members); !deferred.empty()) {
    FailAll(std::move(members), deferred);
    state_.queue.EndGroup(queue::PodGroupEnd::kError, state_.now);
    return;
  }
  if (state_.bookings != nullptr) {
    for (const GroupMember& member : members) state_.bookings->Open(member.queued.pod);
  }
  const Time began = state_.stopwatch.latest();
  std::optional<instruments::GroupMetrics>& metrics = state_.metrics.groups;
  std::optional<PodGroupVerdicts> verdicts;
  Room room;
  {
    const WithoutNominations without(state_.queue.nominator(), members);
    const GroupVerdicts tried = PodGroupTrial(state_, profile, random).Place(group.root, members);
    verdicts.emplace(*state_.pod_groups, group.root, tried, members, state_.release.names_failed_groups);
    if (metrics) metrics->ObserveAlgorithm(group.root, profile.scheduler_name(), state_.stopwatch.Read() - began);
    room = MakeRoom(profile, random, group, members, *verdicts);
  }
  const bool is_waiting = room.code == framework::Code::kSuccess;
  for (GroupMember& member : members) Submit(profile, *verdicts, is_waiting, std::move(member));
  for (const PodGroupKey& each : framework::GroupsWithin(*state_.pod_groups, group.root))
    SetCondition(each, verdicts->Of(each));
  if (metrics) {
    metrics->ObserveAttempt(group.root, ResultOf(verdicts->root(), is_waiting), profile.scheduler_name(),
                            state_.stopwatch.Read() - began);
  }
  const queue::PodGroupEnd end = EndOf(verdicts->AsTried(group.root));
  const bool is_tried_soon = end == queue::PodGroupEnd::kRefused && room.is_tried_soon;
  state_.queue.EndGroup(is_tried_soon ? queue::PodGroupEnd::kRefusedForNow : end, state_.now);
}

// Asks the PodGroupPostFilter plugins to make room for a refused group, and adds their reasons to the verdicts.
PodGroupCycle::Room PodGroupCycle::MakeRoom(Profile& profile, Random& random, const queue::QueuedPodGroup& group,
                                            std::span<GroupMember> members, PodGroupVerdicts& verdicts) {
  if (verdicts.root().result != GroupVerdict::Result::kRefused) return {};
  const Time began = state_.stopwatch.Read();
  const Room room = AskForRoom(profile, random, group, members, verdicts);
  profile.metrics->ObservePoint(instruments::Point::kPodGroupPostFilter, room.code, state_.stopwatch.Read() - began);
  return room;
}

// The returned code is that of the extension point, for the metrics.
PodGroupCycle::Room PodGroupCycle::AskForRoom(Profile& profile, Random& random, const queue::QueuedPodGroup& group,
                                              std::span<GroupMember> members, PodGroupVerdicts& verdicts) {
  using framework::Code;
  Room room;
  std::vector<std::string> reasons;
  // Whether the next plugin is asked; plugins of last resort come last and have a rule of their own.
  bool is_open = true;
  for (const framework::PodGroupPostFilterPlugin* plugin : profile.plugins->pod_group_post_filter) {
    if (plugin->IsLastResort() ? room.code == Code::kSuccess : !is_open) continue;
    const framework::PodGroupPostFilterResult result = Ask(*plugin, profile, random, group, members);
    room.code = result.status.code();
    room.is_tried_soon |= result.is_tried_soon;
    const bool has_helped = room.code == Code::kSuccess;
    if (!has_helped && room.code != Code::kUnschedulable && room.code != Code::kUnschedulableAndUnresolvable) {
      verdicts.Fail("error in \"" + std::string(plugin->Name()) +
                    "\" PodGroupPostFilter plugins: " + result.status.Message());
      return {Code::kError};
    }
    is_open = room.code == Code::kUnschedulable;
    // A plugin with a final answer replaces the reasons of the others.
    if (!is_open) reasons.clear();
    if (has_helped && !result.message.empty()) reasons.push_back(result.message);
    for (const std::string& reason : result.status.reasons()) reasons.push_back(reason);
  }
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : ", ") + reason;
  verdicts.AddReason(text);
  return room;
}

// Returns the plugin's answer after applying the nominations in it to the members.
framework::PodGroupPostFilterResult PodGroupCycle::Ask(const framework::PodGroupPostFilterPlugin& plugin,
                                                       Profile& profile, Random& random,
                                                       const queue::QueuedPodGroup& group,
                                                       std::span<GroupMember> members) {
  std::vector<framework::PodGroupMember> views;
  views.reserve(members.size());
  for (const GroupMember& member : members) {
    const bool was_tried = member.result != GroupMember::Result::kNotTried;
    views.push_back({member.queued.pod, was_tried ? &member.state : nullptr, member.seed, member.nominated_before});
  }
  framework::PodGroupPostFilterResult result;
  const Time began = state_.stopwatch.Read();
  {
    PodGroupTrialRun dry_run(state_, profile, random, group, members);
    const framework::Status thrown =
        runtime::GuardedCall([&] { result = plugin.PodGroupPostFilter(group.root, views, dry_run); });
    if (!thrown.IsSuccess()) result.status = thrown;
  }
  if (plugin.IsPreemption()) ObservePreemption(group.root, result, began);
  for (GroupMember& member : members) {
    const auto nomination = result.nominations.find(member.queued.pod->uid);
    if (nomination != result.nominations.end()) member.failure.nomination = {true, nomination->second};
  }
  return result;
}

void PodGroupCycle::ObservePreemption(const PodGroupKey& root, const framework::PodGroupPostFilterResult& result,
                                      Time began) {
  if (!state_.metrics.groups) return;
  instruments::GroupMetrics& metrics = *state_.metrics.groups;
  metrics.ObservePreemptionAttempt(root, result.status.code());
  if (result.has_evaluated) metrics.ObserveGroupEvaluation(root, result.status.code(), state_.stopwatch.Read() - began);
  if (result.toll) metrics.ObserveGroupToll(root, *result.toll);
}

std::string PodGroupCycle::WhyWithoutProfile(const PodInfo& first) const {
  if (state_.profiles.Find(first) != nullptr) return "";
  return "profile not found for scheduler name \"" + first.spec().scheduler_name + "\"";
}

// Why the group has to wait; empty: it does not. With extenders, each member would have to wait for a response in turn,
// while the rest of the group holds its room.
std::string PodGroupCycle::WhyDeferred(std::span<const GroupMember> members) {
  for (const GroupMember& member : members) {
    const PodInfo& pod = *member.queued.pod;
    if (ExtenderCycle::IsWantedFor(pod, state_.options.extenders))
      return "pod " + pod.Key() + " is managed by an extender, and extenders are not asked about pods of a pod group";
    if (std::optional<Throttled> held = bindings_.Throttle(pod)) {
      ++state_.counts.throttled;
      return std::move(held->why);
    }
  }
  return "";
}

void PodGroupCycle::FailAll(std::vector<GroupMember>&& members, const std::string& why) {
  for (GroupMember& member : members) {
    const Profile* const profile = state_.profiles.Find(*member.queued.pod);
    if (profile == nullptr) {
      state_.queue.Done(member.queued);
      continue;
    }
    RecordDecision(member, why);
    SchedulingFailure failure;
    failure.nomination.is_set = true;
    failure.message = why;
    HandleSchedulingFailure(state_, *profile, std::move(member.queued), std::move(failure));
  }
}

// Drops members that need no decision any more.
void PodGroupCycle::DropStale(const Profile& profile, std::vector<GroupMember>& members) {
  std::erase_if(members, [&](const GroupMember& member) {
    const PodInfo& pod = *member.queued.pod;
    const bool is_assumed = state_.cache.FindPod(pod.uid) != nullptr;
    if (!pod.deletion_time && !is_assumed) return false;
    if (pod.deletion_time) {
      const std::string message = "skip schedule deleting pod: " + pod.Key();
      RecordDecision(member, message);
      state_.outputs.AddEvent(profile.scheduler_name(), pod, true, "FailedScheduling", "Scheduling", message);
    }
    state_.queue.Done(member.queued);
    return true;
  });
}

// `is_waiting`: the pod waits for the result of making room.
void PodGroupCycle::Submit(Profile& profile, const PodGroupVerdicts& verdicts, bool is_waiting, GroupMember&& member) {
  using Result = GroupMember::Result;
  const PodGroupKey leaf = framework::GroupOf(*member.queued.pod);
  const GroupVerdict& verdict = verdicts.Of(leaf);
  if (verdict.IsScheduled() && member.result == Result::kPlaced) {
    Bind(profile, std::move(member));
    return;
  }
  SchedulingFailure failure = std::move(member.failure);
  const bool names_group = state_.release.names_failed_groups;
  const std::string parent = std::string(kParentPodGroup) + "\"" + leaf.name + "\" ";
  if (verdict.result == GroupVerdict::Result::kError) {
    if (member.result != Result::kFailed)
      failure = {.message = names_group ? parent + "encountered an error" : verdict.Message()};
    failure.nomination = {.is_set = true, .node_name = ""};
  } else if (member.result == Result::kPlaced && is_waiting) {
    failure.is_refusal = true;
    failure.message = names_group ? parent + "is unschedulable" : verdict.Message();
  } else if (member.result == Result::kPlaced) {
    failure.is_refusal = true;
    failure.message =
        names_group ? parent + "is unschedulable" : std::string(kPodGroupUnschedulable) + ", " + verdict.Message();
    if (!failure.nomination.is_set) failure.nomination = {.is_set = true, .node_name = ""};
  } else if (member.result == Result::kNotTried) {
    failure.is_refusal = true;
    const bool says_parent = names_group && verdict.is_named_by_members;
    failure.message = says_parent ? parent + "is unschedulable" : verdicts.AsTried(leaf).Message();
  }
  RecordDecision(member, failure.message);
  HandleSchedulingFailure(state_, profile, std::move(member.queued), std::move(failure));
}

// The member is assumed and reserved. Members of its group that wait at Permit may proceed with it.
void PodGroupCycle::Bind(Profile& profile, GroupMember&& member) {
  const PodInfoPtr& assumed = member.assumed;
  EndNomination(state_, *assumed);
  state_.pod_groups->SetScheduled(assumed);
  const framework::Cycle cycle(state_.cache.nodes(), member.state, member.seed, state_.WallNow());
  PermitAnswers answers = RunPermit(state_, profile, cycle, *assumed, member.queued.is_sampled);
  // The group's waiting members proceed even if a later Permit plugin refuses this member.
  for (const auto& [uid, plugin] : state_.pod_groups->TakeAllowed()) bindings_.AllowPermitted(uid, plugin);
  if (!answers.refusal.IsSuccess()) {
    Unreserve(state_, profile, *assumed);
    SchedulingFailure failure = FailureOfChosenNode(answers.refusal);
    RecordDecision(member, failure.message);
    HandleSchedulingFailure(state_, profile, std::move(member.queued), std::move(failure));
    return;
  }
  RecordDecision(member, {});
  for (const PermitWait& wait : answers.waits) state_.pod_groups->RecordWaiting(*assumed, wait.plugin);
  bindings_.StartBinding(profile, std::move(member.queued), assumed, member.row, std::move(answers.waits));
}

void PodGroupCycle::RecordDecision(const GroupMember& member, const std::string& message) {
  Decision& decision = state_.BeginDecision(member.queued);
  decision.seed = member.seed;
  decision.node_count = member.node_count;
  decision.feasible_count = member.feasible_count;
  decision.refusals = member.refusals;
  decision.message = message;
  if (!message.empty() || member.assumed == nullptr) return;
  decision.node_name = member.assumed->node_name;
  decision.total = member.total;
}

void PodGroupCycle::SetCondition(const PodGroupKey& group, const GroupVerdict& verdict) {
  switch (verdict.result) {
    case GroupVerdict::Result::kScheduled: return conditions_.Set(group, true, "Scheduled", verdict.Message());
    case GroupVerdict::Result::kRefused: return conditions_.Set(group, false, "Unschedulable", verdict.Message());
    case GroupVerdict::Result::kError: return conditions_.Set(group, false, "SchedulerError", verdict.Message());
  }
}

}  // namespace berth::scheduler
