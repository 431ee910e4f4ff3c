#include "berth/plugins/default_preemption/default_preemption.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/base/random.h"
#include "berth/config/args.h"
#include "berth/plugins/default_preemption/candidates.h"
#include "berth/plugins/default_preemption/executor.h"
#include "berth/plugins/default_preemption/victims.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::Code;
using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::PreemptionReport;
using framework::Status;

// Empty when the pod may preempt.
std::string WhyNotEligible(const framework::Cycle& cycle, const PodInfo& pod, const framework::NodeStatuses& statuses) {
  if (pod.spec().preemption_policy == api::PreemptionPolicy::kNever)
    return "not eligible due to preemptionPolicy=Never.";
  if (pod.nominated_node_name.empty()) return {};
  const NodeIndex row = cycle.nodes.Find(pod.nominated_node_name);
  // A nominated node that is gone or can never take the pod: it has to look for another.
  if (row == framework::kNoNode || statuses.Get(row).code() == Code::kUnschedulableAndUnresolvable) return {};
  for (const PodInfoPtr& other : cycle.nodes.Info(row).pods()) {
    if (other->priority() < pod.priority() && other->deletion_time && other->is_preempted) {
      return "not eligible due to a terminating pod on the nominated node.";
    }
  }
  return {};
}

// What the dry runs of a cycle came to.
struct Search {
  std::vector<PreemptionReport::Candidate> candidates;  // those that overdraw no budget first
  std::map<std::string, std::size_t> reasons;           // why the other nodes do not help, with how many
  std::size_t refused_count = 0;
  std::vector<std::string> errors;  // distinct, in the order in which they were met
};

void Note(Search& search, const Status& status) {
  ++search.refused_count;
  for (const std::string& reason : status.reasons()) ++search.reasons[reason];
  if (status.code() != Code::kError) return;
  const std::string message = status.Message();
  if (std::find(search.errors.begin(), search.errors.end(), message) == search.errors.end())
    search.errors.push_back(message);
}

// Asks the nodes one by one from `offset` on, until `wanted` candidates are found of which one overdraws no budget.
Search FindCandidates(const framework::Cycle& cycle, std::span<const NodeIndex> potential, std::size_t offset,
                      std::size_t wanted, DryRun& dry_run) {
  Search search;
  std::vector<PreemptionReport::Candidate> violating;
  for (std::size_t i = 0; i < potential.size(); ++i) {
    const NodeIndex row = potential[(offset + i) % potential.size()];
    NodeVictims found = dry_run.SelectVictims(row);
    if (found.status.IsSuccess() && found.victims.empty()) {
      found.status = Status::Error("expected at least one victim pod on node \"" + cycle.nodes.Info(row).name() + "\"");
    }
    if (!found.status.IsSuccess()) {
      Note(search, found.status);
      continue;
    }
    auto& list = found.pdb_violations == 0 ? search.candidates : violating;
    // As upstream, a list that is full takes no more, and the search may go on all the same.
    if (list.size() < wanted) list.push_back({row, std::move(found.victims), found.pdb_violations});
    if (!search.candidates.empty() && search.candidates.size() + violating.size() >= wanted) break;
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(search.candidates));
  return search;
}

// "0/N nodes are available: 3 reason a, 5 reason b.": upstream's FitError over what the dry runs said.
std::string FitErrorText(std::size_t node_count, Search& search) {
  if (search.refused_count < node_count) {
    search.reasons["Preemption is not helpful for scheduling"] += node_count - search.refused_count;
  }
  std::set<std::string> entries;  // sorted as texts, so that "10 x" comes before "2 y"
  for (const auto& [reason, count] : search.reasons) entries.insert(std::to_string(count) + " " + reason);
  std::string text = "0/" + std::to_string(node_count) + " nodes are available:";
  const char* separator = " ";
  for (const std::string& entry : entries) {
    text += separator + entry;
    separator = ", ";
  }
  return entries.empty() ? text : text + ".";
}

// As Go's utilerrors.Aggregate prints.
std::string ErrorText(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "[" : ", ") + error;
  return text + "]";
}

framework::PostFilterResult Refuse(Code code, const std::string& message, bool clears_nomination) {
  framework::PostFilterResult result;
  result.status = Status(code, {"preemption: " + message});
  result.has_nomination = clears_nomination;
  return result;
}

}  // namespace

DefaultPreemption::DefaultPreemption(const config::DefaultPreemptionArgs& args, framework::Handle& handle)
    : min_candidates_percentage_(args.min_candidate_nodes_percentage),
      min_candidates_absolute_(args.min_candidate_nodes_absolute),
      handle_(handle),
      executor_(std::make_shared<PreemptionExecutor>(handle)) {}

Status DefaultPreemption::PreEnqueue(const PodInfo& pod) const {
  if (!executor_->IsRunning(pod.uid)) return {};
  return Status::UnschedulableAndUnresolvable("waiting for the preemption for this pod to be finished");
}

framework::PostFilterResult DefaultPreemption::PostFilter(const framework::Cycle& cycle, const PodInfo& pod,
                                                          const framework::NodeStatuses& statuses,
                                                          framework::FilterRunner& filters) const {
  // A pod that may not preempt keeps its nomination: its victims may still be on their way out.
  const std::string why_not = WhyNotEligible(cycle, pod, statuses);
  if (!why_not.empty()) return Refuse(Code::kUnschedulable, why_not, false);

  std::vector<NodeIndex> potential;
  for (const NodeIndex row : cycle.nodes.rows()) {
    if (statuses.Get(row).code() == Code::kUnschedulable) potential.push_back(row);
  }
  Random random(cycle.seed);
  Search search;
  if (!potential.empty()) {
    const auto wanted = CandidatesWanted(static_cast<std::int64_t>(potential.size()), min_candidates_percentage_,
                                         min_candidates_absolute_);
    DryRun dry_run(cycle, pod, filters, handle_.objects().Of<api::PodDisruptionBudget>());
    search =
        FindCandidates(cycle, potential, random.Below(potential.size()), static_cast<std::size_t>(wanted), dry_run);
  }

  auto report = std::make_shared<PreemptionReport>();
  if (search.candidates.empty()) {
    framework::PostFilterResult result =
        search.errors.empty() ? Refuse(Code::kUnschedulable, FitErrorText(cycle.nodes.node_count(), search), true)
                              : Refuse(Code::kError, ErrorText(search.errors), false);
    result.preemption = std::move(report);
    return result;
  }

  // Upstream takes the first of a map: any of those that cost the same.
  const std::vector<std::size_t> cheapest = Cheapest(search.candidates, cycle.now);
  const PreemptionReport::Candidate& chosen = search.candidates[cheapest[random.Below(cheapest.size())]];
  const std::string& node_name = cycle.nodes.Info(chosen.row).name();
  report->chosen = chosen.row;
  for (const std::size_t i : cheapest) report->acceptable.push_back(search.candidates[i].row);
  std::sort(report->acceptable.begin(), report->acceptable.end());
  if (std::vector<PodInfoPtr> victims = PreemptionExecutor::ToEvict(chosen.victims); !victims.empty()) {
    for (const PodInfoPtr& nominated : handle_.NominatedPods(node_name)) {
      if (nominated->priority() < pod.priority()) report->cleared_nominations.push_back(nominated);
    }
    executor_->Preempt(pod, node_name, std::move(victims));
  }
  framework::PostFilterResult result;
  result.has_nomination = true;
  result.nominated_node_name = node_name;
  report->candidates = std::move(search.candidates);
  result.preemption = std::move(report);
  return result;
}

std::vector<framework::ClusterEventWithHint> DefaultPreemption::EventsToRegister() const {
  // The registration lets deletions reach a pod that PreEnqueue holds back; it is for the filters that refused the pod
  // to say when it may try again.
  return {OnPod(framework::action::kDelete,
                [](const PodInfo&, const framework::EventObjects&) { return framework::QueueingHint::kSkip; })};
}

}  // namespace berth::plugins
