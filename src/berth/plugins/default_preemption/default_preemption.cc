// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/default_preemption.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/core/config/args.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/preemption_review.h"
#include "berth/plugins/default_preemption/candidate_search.h"
#include "berth/plugins/default_preemption/executor.h"
#include "berth/plugins/default_preemption/pod_group_preemption.h"
#include "berth/plugins/default_preemption/victim_units.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::PreemptionReport;
using framework::PreemptionReview;

// `groups` is null when the scheduler has no pod groups.
std::int32_t PriorityAsVictim(const PodInfo& pod, const framework::PodGroups* groups,
                              const framework::Release& release) {
  return groups == nullptr ? pod.priority() : VictimPriority(*groups, pod, release);
}

// What extenders say of the preemption; null when none is asked.
PreemptionReview* ReviewOf(const FilterRunner& filters) {
  const auto* const fast = dynamic_cast<const framework::FastFilterRunner*>(&filters);
  return fast == nullptr ? nullptr : fast->Review();
}

// "0/N nodes are available: 3 reason a, 5 reason b.": upstream's FitError over what the dry runs said.
std::string FitErrorText(std::size_t node_count, CandidateChoice& choice) {
  if (choice.refused_count < node_count) {
    choice.reasons["Preemption is not helpful for scheduling"] += node_count - choice.refused_count;
  }
  std::set<std::string> entries;  // sorted as texts, so that "10 x" comes before "2 y"
  for (const auto& [reason, count] : choice.reasons) entries.insert(std::to_string(count) + " " + reason);
  std::string text = "0/" + std::to_string(node_count) + " nodes are available:";
  const char* separator = " ";
  for (const std::string& entry : entries) {
    text += separator + entry;
    separator = ", ";
  }
  return entries.empty() ? text : text + ".";
}

std::string PlacementMessage(const std::string& node_name, std::size_t victim_count) {
  return "preemption: found a potential placement for pod on node " + node_name + ", preempting " +
         std::to_string(victim_count) + " victims";
}

// The uid of the group's object, or the group's name where the object has no uid, as in tests.
std::string UidOf(const framework::PodGroups& groups, const framework::PodGroupKey& group) {
  const std::string uid =
      framework::ReadGroup(groups, group, std::string(), [](const auto& object) { return object.metadata.uid; });
  return uid.empty() ? group.Text() : uid;
}

bool MayGroupPreempt(const framework::PodGroups& groups, const framework::PodGroupKey& group,
                     std::span<const framework::PodGroupMember> members, const framework::Release& release) {
  constexpr api::PreemptionPolicy kNever = api::PreemptionPolicy::kNever;
  const auto policy = framework::PreemptionPolicyOf(groups, group);
  if (!release.has_pod_group_preemption_policy || (release.checks_group_trees && !policy)) {
    return std::ranges::none_of(members,
                                [](const auto& member) { return member.pod->spec().preemption_policy == kNever; });
  }
  return policy != kNever;
}

framework::PodGroupPostFilterResult GroupAnswer(Code code, const std::string& message) {
  const std::string text = message.empty() ? std::string() : "pod group preemption: " + message;
  if (code == Code::kSuccess) return {.status = {}, .message = text};
  return {.status = Status(code, text.empty() ? std::vector<std::string>() : std::vector<std::string>{text})};
}

PostFilterResult Refuse(Code code, const std::string& message, bool clears_nomination) {
  PostFilterResult result;
  result.status = Status(code, {"preemption: " + message});
  result.has_nomination = clears_nomination;
  return result;
}

class DefaultPreemption final : public PreEnqueuePlugin,
                                public PostFilterPlugin,
                                public framework::PodGroupPostFilterPlugin,
                                public ObjectReader,
                                public EnqueueExtensions,
                                public virtual FastPlugin {
 public:
  DefaultPreemption(const config::DefaultPreemptionArgs& args, Handle& handle)
      : handle_(handle),
        executor_(std::make_shared<PreemptionExecutor>(handle)),
        search_(std::make_unique<CandidateSearch>(args.min_candidate_nodes_percentage,
                                                  args.min_candidate_nodes_absolute, handle)) {}

  std::string_view Name() const override { return names::kDefaultPreemption; }
  Status PreEnqueue(const PodInfo& pod) const override {
    if (executor_->running_count() == 0) return {};
    if (const framework::PodGroups* const groups = handle_.pod_groups();
        groups != nullptr && !pod.pod_group_name.empty()) {
      const auto root = groups->RootOf(framework::GroupOf(pod));
      if (!root || !executor_->IsRunning(UidOf(*groups, *root))) return {};
      return Status::UnschedulableAndUnresolvable("waiting for the preemption for this pod group to be finished");
    }
    if (!executor_->IsRunning(pod.uid)) return {};
    return Status::UnschedulableAndUnresolvable("waiting for the preemption for this pod to be finished");
  }

  PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                              FilterRunner& filters) const override {
    // A pod that may not preempt keeps its nomination: its victims may still be on their way out.
    if (pod.spec().preemption_policy == api::PreemptionPolicy::kNever)
      return Refuse(Code::kUnschedulable, "not eligible due to preemptionPolicy=Never.", false);
    // A nomination that the pod's object does not have yet is in memory alone, and ends unless each attempt repeats it.
    const bool is_in_memory = pod.nominated_node_name.empty();
    const std::string nominated = is_in_memory ? handle_.NominatedNode(pod.uid) : pod.nominated_node_name;
    if (WaitsForVictims(cycle, pod, nominated, statuses)) {
      PostFilterResult result =
          Refuse(Code::kUnschedulable, "not eligible due to a terminating pod on the nominated node.", false);
      result.has_nomination = is_in_memory;
      if (is_in_memory) result.nominated_node_name = nominated;
      result.preemption = std::make_shared<PreemptionReport>(PreemptionReport{.waits_for_victims = true});
      return result;
    }

    PreemptionReview* const review = ReviewOf(filters);
    const bool is_answered = review != nullptr && review->is_answered;
    if (is_answered && !review->error.empty()) return Refuse(Code::kError, review->error, false);
    CandidateChoice choice = is_answered ? CandidateSearch::ChooseAmong(cycle, std::move(review->candidates))
                                         : search_->Choose(cycle, pod, statuses, filters);
    if (is_answered && choice.chosen == kNoNode)
      return Refuse(Code::kUnschedulable, "no candidate node for preemption", false);
    auto report = std::make_shared<PreemptionReport>();
    if (choice.chosen == kNoNode) {
      PostFilterResult result = choice.errors.empty()
                                    ? Refuse(Code::kUnschedulable, FitErrorText(cycle.nodes.node_count(), choice), true)
                                    : Refuse(Code::kError, GoAggregate(choice.errors), false);
      report->refused_by = std::move(choice.refused_by);
      result.preemption = std::move(report);
      return result;
    }
    if (review != nullptr && !is_answered && !cycle.is_dry_run) {
      review->candidates = std::move(choice.candidates);
      PostFilterResult result;
      result.status = Status(Code::kWait, {});
      return result;
    }

    const std::string& node_name = cycle.nodes.Info(choice.chosen).name();
    report->chosen = choice.chosen;
    report->candidates = std::move(choice.candidates);
    report->acceptable = std::move(choice.acceptable);
    const auto chosen = std::find_if(report->candidates.begin(), report->candidates.end(),
                                     [&](const auto& candidate) { return candidate.row == choice.chosen; });
    if (std::vector<PodInfoPtr> victims = PreemptionExecutor::ToEvict(chosen->victims); !victims.empty()) {
      for (const PodInfoPtr& other : handle_.NominatedPods(node_name)) {
        if (other->priority() < pod.priority()) report->cleared_nominations.push_back(other);
      }
      if (!cycle.is_dry_run) executor_->Preempt(pod, node_name, std::move(victims));
    }
    PostFilterResult result;
    result.has_nomination = true;
    result.nominated_node_name = node_name;
    if (handle_.release().tells_placement_after_preemption)
      result.success_message = PlacementMessage(node_name, chosen->victims.size());
    result.preemption = std::move(report);
    return result;
  }
  bool IsPreemption() const override { return true; }
  bool AnswersDryRuns() const override { return true; }
  framework::PodGroupPostFilterResult PodGroupPostFilter(const framework::PodGroupKey& group,
                                                         std::span<const framework::PodGroupMember> members,
                                                         framework::PodGroupDryRun& dry_run) const override {
    const framework::PodGroups& groups = *handle_.pod_groups();
    const framework::Release& release = handle_.release();
    if (!MayGroupPreempt(groups, group, members, release))
      return GroupAnswer(Code::kUnschedulable, "not eligible due to preemptionPolicy=Never.");
    const std::int32_t priority = framework::PriorityOf(groups, group);
    if (IsPreemptionOngoing(groups, priority, members, dry_run, *executor_, release)) {
      framework::PodGroupPostFilterResult result = GroupAnswer(Code::kSuccess, "ongoing preemption on nominated nodes");
      for (const framework::PodGroupMember& member : members)
        result.nominations[member.pod->uid] = member.nominated_node_name;
      return result;
    }
    DisruptionBudgets budgets(handle_.objects().Of<api::PodDisruptionBudget>(), release);
    PodGroupVictims found = SelectPodGroupVictims(groups, priority, budgets, dry_run, release);
    if (!found.status.IsSuccess()) {
      framework::PodGroupPostFilterResult refusal = GroupAnswer(found.status.code(), found.status.Message());
      refusal.has_evaluated = true;
      return refusal;
    }
    if (std::vector<PodInfoPtr> victims = PreemptionExecutor::ToEvict(found.victims); !victims.empty()) {
      executor_->PreemptForGroup(
          {UidOf(groups, group), group.is_composite ? "compositepodgroup" : "podgroup", priority}, members,
          std::move(victims));
    }
    framework::PodGroupPostFilterResult result =
        GroupAnswer(Code::kSuccess,
                    "found a placement for podgroup, preempting " + std::to_string(found.victims.size()) + " victims");
    result.has_evaluated = true;
    result.toll = found.toll;
    for (const framework::PodGroupAssignment& assignment : dry_run.assignments())
      result.nominations[assignment.pod->uid] = assignment.node_name;
    return result;
  }

  std::vector<ObjectKind> ObjectsRead() const override { return {ObjectKind::kPodDisruptionBudget}; }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    // Deletions also reach a pod that PreEnqueue holds back; it is for the filters that refused the pod to say when it
    // may try again, unless its last victim has left.
    return {OfClass(OnPod(framework::action::kDelete, [this](const PodInfo& pod, const EventObjects& event) {
      return AfterPodDelete(pod, event);
    }))};
  }
  void DropIdle() override { search_->DropIdle(); }

 private:
  // A victim whose deletion was accepted counts, too, before the watch shows its deletion time.
  bool HasLeavingVictims(const NodeInfo& node, const PodInfo& pod) const {
    return std::ranges::any_of(node.pods(), [&](const PodInfoPtr& other) {
      const bool is_leaving = other->deletion_time ? other->is_preempted : executor_->HasDeleted(other->uid);
      return is_leaving && PriorityAsVictim(*other, handle_.pod_groups(), handle_.release()) < pod.priority();
    });
  }

  bool WaitsForVictims(const Cycle& cycle, const PodInfo& pod, std::string_view nominated,
                       const NodeStatuses& statuses) const {
    if (nominated.empty()) return false;
    const NodeIndex row = cycle.nodes.Find(nominated);
    // A nominated node that is gone or can never take the pod: it has to look for another.
    if (row == kNoNode || statuses.Get(row).code() == Code::kUnschedulableAndUnresolvable) return false;
    return HasLeavingVictims(cycle.nodes.Info(row), pod);
  }

  // A pod that preempts, and has no node because of an extender or an error, may find one when what it could evict
  // changes. A nominated pod may run when the last victim has left its node. What refused the pod there may be
  // something else by now, which no other plugin hears of: upstream leaves the pod to the flush after five minutes
  // then. While victims are still to be evicted, the end of the evictions brings the pod back.
  QueueingHint AfterPodDelete(const PodInfo& pod, const EventObjects& event) const {
    const PodInfo* const gone = event.old_pod;
    if (gone == nullptr || gone->node_name.empty() ||
        PriorityAsVictim(*gone, handle_.pod_groups(), handle_.release()) >= pod.priority())
      return QueueingHint::kSkip;
    const std::string nominated = handle_.NominatedNode(pod.uid);
    if (nominated.empty()) return QueueingHint::kQueue;
    if (nominated != gone->node_name || executor_->IsEvicting(pod.uid)) return QueueingHint::kSkip;
    const NodeList* const nodes = handle_.nodes();
    const NodeIndex row = nodes == nullptr ? kNoNode : nodes->Find(gone->node_name);
    return QueueIf(row == kNoNode || !HasLeavingVictims(nodes->Info(row), pod));
  }

  Handle& handle_;
  const std::shared_ptr<PreemptionExecutor> executor_;
  const std::unique_ptr<CandidateSearch> search_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateDefaultPreemption(const config::DefaultPreemptionArgs& args, Handle& handle) {
  return std::make_unique<DefaultPreemption>(args, handle);
}

}  // namespace berth::plugins
