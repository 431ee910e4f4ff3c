#include "berth/plugins/default_preemption/default_preemption.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::Code;
using framework::NodeIndex;
using framework::PodInfo;
using framework::Status;

// Empty when the pod may preempt.
std::string WhyNotEligible(const framework::Cycle& cycle, const PodInfo& pod, const framework::NodeStatuses& statuses) {
  if (pod.spec().preemption_policy == api::PreemptionPolicy::kNever)
    return "not eligible due to preemptionPolicy=Never.";
  if (pod.nominated_node_name.empty()) return {};
  const NodeIndex row = cycle.nodes.Find(pod.nominated_node_name);
  // A nominated node that is gone or can never take the pod: it has to look for another.
  if (row == framework::kNoNode || statuses.Get(row).code() == Code::kUnschedulableAndUnresolvable) return {};
  for (const framework::PodInfoPtr& other : cycle.nodes.Info(row).pods()) {
    if (other->priority() < pod.priority() && other->deletion_time && other->is_preempted) {
      return "not eligible due to a terminating pod on the nominated node.";
    }
  }
  return {};
}

// Whether the pod fits the row's node without all pods of lower priority. Success: it would.
Status DryRun(const framework::Cycle& cycle, const PodInfo& pod, NodeIndex row, framework::FilterRunner& filters) {
  std::vector<framework::PodInfoPtr> victims;
  for (const framework::PodInfoPtr& other : cycle.nodes.Info(row).pods()) {
    if (other->priority() < pod.priority()) victims.push_back(other);
  }
  if (victims.empty()) return Status::UnschedulableAndUnresolvable("No preemption victims found for incoming pod");
  framework::NodeInfo node = cycle.nodes.Info(row);
  framework::CycleState state = cycle.state.Clone();
  for (const framework::PodInfoPtr& victim : victims) {
    node.RemovePod(victim->uid);
    if (Status status = filters.RunRemovePod(state, pod, *victim, node); !status.IsSuccess()) {
      return Status::Error(status.Message());
    }
  }
  return filters.RunFiltersWithNominatedPods(state, pod, node);
}

// "0/N nodes are available: 3 reason a, 5 reason b.": upstream's FitError over what the dry runs said.
std::string FitErrorText(std::size_t node_count, const std::map<std::string, std::size_t>& reasons) {
  std::set<std::string> entries;  // sorted as texts, so that "10 x" comes before "2 y"
  for (const auto& [reason, count] : reasons) entries.insert(std::to_string(count) + " " + reason);
  std::string text = "0/" + std::to_string(node_count) + " nodes are available:";
  const char* separator = " ";
  for (const std::string& entry : entries) {
    text += separator + entry;
    separator = ", ";
  }
  return entries.empty() ? text : text + ".";
}

framework::PostFilterResult Refuse(Code code, const std::string& message, bool clears_nomination) {
  framework::PostFilterResult result;
  result.status = Status(code, {"preemption: " + message});
  result.has_nomination = clears_nomination;
  return result;
}

}  // namespace

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

  const std::size_t node_count = cycle.nodes.node_count();
  std::map<std::string, std::size_t> reasons;
  std::set<std::string> errors;
  for (const NodeIndex row : potential) {
    const Status status = DryRun(cycle, pod, row, filters);
    if (status.IsSuccess()) {
      return Refuse(Code::kUnschedulable,
                    "0/" + std::to_string(node_count) +
                        " nodes are available: choosing victims is not built into this version of berth.",
                    true);
    }
    if (status.code() == Code::kError) errors.insert(status.Message());
    for (const std::string& reason : status.reasons()) ++reasons[reason];
  }
  if (!errors.empty()) {
    std::string text;
    for (const std::string& error : errors) text += (text.empty() ? "" : ", ") + error;
    return Refuse(Code::kError, errors.size() == 1 ? text : "[" + text + "]", false);
  }
  if (potential.size() < node_count)
    reasons["Preemption is not helpful for scheduling"] += node_count - potential.size();
  return Refuse(Code::kUnschedulable, FitErrorText(node_count, reasons), true);
}

std::vector<framework::ClusterEventWithHint> DefaultPreemption::EventsToRegister() const {
  // Pods that preempt wait for their victims, and it is for the filters that refused them to say when they may try
  // again.
  return {OnPod(framework::action::kDelete,
                [](const PodInfo&, const framework::EventObjects&) { return framework::QueueingHint::kSkip; })};
}

}  // namespace berth::plugins
