// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/explanation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "berth/base/edit_distance.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/preemption_review.h"
#include "berth/plugins/names.h"
#include "berth/whatif/blocking_objects.h"
#include "berth/whatif/group_explanation.h"
#include "berth/whatif/pod_names.h"
#include "berth/whatif/waking_events.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using framework::Status;
using scheduler::Overlay;

Refusal ToRefusal(const Status& status) {
  return {std::string(status.plugin()), status.Message(), status.code() == framework::Code::kUnschedulable};
}

bool IsSame(const Status& a, const Status& b) {
  return a.code() == b.code() && a.plugin() == b.plugin() && a.reasons() == b.reasons();
}

class PodExplainer {
 public:
  PodExplainer(const ExplainInputs& inputs, const ExplainLimits& limits) : inputs_(inputs), limits_(limits) {
    const api::Pod& pod = inputs.pod;
    said_.pod = pod.metadata.namespace_name + "/" + pod.metadata.name;
    said_.scheduler_name = pod.spec.scheduler_name;
    if (const api::PodCondition* const condition = pod.status.FindCondition("PodScheduled"))
      said_.condition = condition->message;
  }

  Explanation Go() {
    const api::Pod& pod = inputs_.pod;
    Overlay& overlay = inputs_.overlay;
    api::Pod asked = pod;
    if (overlay.ProfileOf(*overlay.MakePod(asked)) == nullptr)
      asked.spec.scheduler_name = *(said_.asked_profile = overlay.first_profile());
    if (const std::string& node = pod.spec.node_name; !node.empty()) {
      said_.state = PodState::kPlaced;
      said_.node = node;
      overlay.RemovePod(pod.metadata.uid);
      asked.spec.node_name.clear();
    } else if (const auto gate = Gate(asked)) {
      said_.state = PodState::kGated;
      said_.message = *gate;
      return std::move(said_);
    } else if (pod.metadata.deletion_time) {
      said_.state = PodState::kDeleted;
      said_.message = "the pod is being deleted, so that no scheduler places it";
      return std::move(said_);
    }
    Evaluate(overlay, asked);
    return std::move(said_);
  }

 private:
  bool IsOver() const { return limits_.is_over && limits_.is_over(); }

  // A gate is asked about without a queue: the pod may be another scheduler's.
  std::optional<std::string> Gate(const api::Pod& asked) const {
    if (const auto standing = inputs_.queue.Find(inputs_.pod.metadata.uid)) {
      if (standing->place != queue::Place::kGated) return std::nullopt;
      return standing->gating_plugin + ": " + standing->gating_message;
    }
    if (asked.spec.scheduling_gates.empty()) return std::nullopt;
    std::string gates;
    for (const std::string& gate : asked.spec.scheduling_gates) gates += (gates.empty() ? "" : ", ") + gate;
    return "SchedulingGates: waiting for scheduling gates: " + gates;
  }

  void Evaluate(Overlay& overlay, const api::Pod& asked) {
    const PodInfoPtr info = overlay.MakePod(asked);
    const runtime::ProfilePlugins& profile = *overlay.ProfileOf(*info);
    const auto [evaluator, outcome] = overlay.Evaluate(info, Overlay::Detail::kAll);
    said_.node_count = outcome.node_count;
    said_.feasible_count = outcome.feasible_count;
    if (outcome.result == runtime::Result::kError) {
      if (said_.state != PodState::kPlaced) said_.state = PodState::kFailed;
      said_.message = outcome.error;
      return;
    }
    const RefusalsByRow refusals = Refusals(overlay, evaluator, outcome);
    AddFunnel(evaluator, refusals);
    AddNodes(overlay, outcome, refusals, profile);
    if (said_.state == PodState::kPlaced) {
      FindRank();
      return;
    }
    if (outcome.result == runtime::Result::kFeasible) {
      said_.state = PodState::kFits;
      said_.node = overlay.nodes().Info(outcome.node).name();
      return;
    }
    said_.state = PodState::kRefused;
    said_.woken_by = WakingEvents(profile, outcome.unschedulable_plugins);
    const bool may_help = outcome.result == runtime::Result::kRefused;
    if (may_help && !IsOver()) {
      AddPreemption(overlay, evaluator);
    } else if (may_help) {
      said_.left_out.emplace_back("preemption was not asked about");
    }
    said_.message = evaluator.Message();
    if (!may_help) return;
    said_.changes = FindSmallestChanges(overlay, asked, refusals, limits_.is_over);
    if (!said_.changes->is_complete && IsOver())
      said_.left_out.emplace_back("the search for the smallest changes was ended");
  }

  RefusalsByRow Refusals(const Overlay& overlay, runtime::Evaluator& evaluator, const runtime::Outcome& outcome) {
    std::size_t first_alone = 0;
    const std::set<NodeIndex> feasible(outcome.feasible.begin(), outcome.feasible.end());
    RefusalsByRow refusals;
    for (const NodeIndex row : overlay.nodes().rows()) {
      if (feasible.contains(row)) continue;
      const bool is_over = IsOver();
      std::vector<Status> statuses = is_over ? std::vector<Status>() : evaluator.AllRefusals(row);
      if (is_over) ++first_alone;
      // The scheduler's own verdict comes first. It is none of the others where only pods nominated for the node, or
      // PreFilter, keep the pod away.
      if (const Status first = evaluator.StatusOf(row); !first.IsSuccess()) {
        std::erase_if(statuses, [&](const Status& status) { return IsSame(status, first); });
        statuses.insert(statuses.begin(), first);
      }
      if (!statuses.empty()) refusals.emplace(row, std::move(statuses));
    }
    if (first_alone > 0) {
      said_.left_out.push_back("of " + std::to_string(first_alone) +
                               " nodes only the first refusal is told, and in the counts of the others");
    }
    return refusals;
  }

  // Counts refused nodes by plugin and reason, the most frequent first.
  void AddFunnel(const runtime::Evaluator& evaluator, const RefusalsByRow& refusals) {
    std::map<std::pair<std::string, std::string>, FunnelStep> steps;
    const auto step = [&](const Status& status) -> FunnelStep& {
      FunnelStep& found = steps[{std::string(status.plugin()), status.Message()}];
      if (found.plugin.empty()) {
        found.plugin = status.plugin();
        found.reason = status.Message();
      }
      return found;
    };
    for (const auto& [row, statuses] : refusals) {
      for (const Status& status : statuses) ++step(status).would_refuse;
      const Status first = evaluator.StatusOf(row);
      FunnelStep& by = step(first.IsSuccess() ? statuses.front() : first);
      ++by.refused;
      by.would_refuse = std::max(by.would_refuse, by.refused);
    }
    for (auto& [key, found] : steps) said_.funnel.push_back(std::move(found));
    std::stable_sort(said_.funnel.begin(), said_.funnel.end(),
                     [](const FunnelStep& a, const FunnelStep& b) { return a.refused > b.refused; });
  }

  void AddNodes(const Overlay& overlay, const runtime::Outcome& outcome, const RefusalsByRow& refusals,
                const runtime::ProfilePlugins& profile) {
    const auto weight_of = [&](std::string_view plugin) {
      for (const runtime::WeightedScore& score : profile.score) {
        if (score.plugin->Name() == plugin) return score.weight;
      }
      return std::int64_t{1};
    };
    const auto name = [&](NodeIndex row) { return overlay.nodes().Info(row).name(); };
    std::vector<NodeVerdict> verdicts;
    for (std::size_t i = 0; i < outcome.feasible.size(); ++i) {
      NodeVerdict& verdict = verdicts.emplace_back();
      verdict.node = name(outcome.feasible[i]);
      if (!outcome.totals.empty()) verdict.total = outcome.totals[i];
      for (std::size_t s = 0; s < outcome.scores.size(); ++s) {
        const auto& [plugin, normalized] = outcome.scores[s];
        verdict.scores.push_back({std::string(plugin), outcome.raw_scores[s][i], normalized[i], weight_of(plugin)});
      }
    }
    std::sort(verdicts.begin(), verdicts.end(), [](const NodeVerdict& a, const NodeVerdict& b) {
      return a.total != b.total ? a.total > b.total : a.node < b.node;
    });
    for (const NodeVerdict& verdict : verdicts) {
      if (verdict.total == verdicts.front().total) ++said_.best_count;
    }
    std::vector<NodeVerdict> refused;
    for (const auto& [row, statuses] : refusals) {
      NodeVerdict& verdict = refused.emplace_back();
      verdict.node = name(row);
      for (const Status& status : statuses) verdict.refusals.push_back(ToRefusal(status));
    }
    std::sort(refused.begin(), refused.end(), [](const NodeVerdict& a, const NodeVerdict& b) {
      return a.refusals.size() != b.refusals.size() ? a.refusals.size() < b.refusals.size() : a.node < b.node;
    });
    std::move(refused.begin(), refused.end(), std::back_inserter(verdicts));
    said_.nodes = std::move(verdicts);
  }

  void FindRank() {
    const auto at = std::find_if(said_.nodes.begin(), said_.nodes.end(),
                                 [&](const NodeVerdict& verdict) { return verdict.node == said_.node; });
    if (at == said_.nodes.end() || !at->refusals.empty()) return;
    said_.rank = 1 + static_cast<std::size_t>(std::count_if(
                         said_.nodes.begin(), at, [&](const NodeVerdict& other) { return other.total > at->total; }));
  }

  void AddPreemption(const Overlay& overlay, runtime::Evaluator& evaluator) {
    framework::PreemptionReview question{.is_dry_run = true};
    const framework::PostFilterResult result = evaluator.RunPostFilter(&question);
    PreemptionAnswer answer;
    if (const framework::PreemptionReport* const report = result.preemption.get();
        report != nullptr && report->chosen != framework::kNoNode) {
      answer.node = overlay.nodes().Info(report->chosen).name();
      answer.candidate_count = report->candidates.size();
      for (const auto& candidate : report->candidates) {
        if (candidate.row != report->chosen) continue;
        answer.pdb_violations = candidate.pdb_violations;
        for (const PodInfoPtr& victim : candidate.victims) answer.victims.push_back(victim->Key());
      }
    } else {
      answer.why_not = result.status.Message();
    }
    said_.preemption = std::move(answer);
  }

  const ExplainInputs& inputs_;
  const ExplainLimits& limits_;
  Explanation said_;
};

// Where a PreFilter plugin refuses a pod there may be no step. A ResourceClaim that is not made yet is a gate.
bool AreClaimsInTheWay(const Explanation& said) {
  using namespace plugins::names;
  constexpr std::string_view kOfClaims[] = {kVolumeBinding, kVolumeRestrictions, kVolumeZone, kDynamicResources};
  if (said.state == PodState::kGated) return true;
  return said.state == PodState::kRefused &&
         (said.funnel.empty() || std::ranges::any_of(said.funnel, [&](const FunnelStep& step) {
            return std::ranges::find(kOfClaims, step.plugin) != std::end(kOfClaims);
          }));
}

}  // namespace

std::string_view ToString(PodState state) {
  switch (state) {
    case PodState::kPlaced: return "Placed";
    case PodState::kFits: return "Fits";
    case PodState::kRefused: return "Refused";
    case PodState::kGated: return "Gated";
    case PodState::kDeleted: return "Deleted";
    case PodState::kWaits: return "Waits";
    case PodState::kEnded: return "Ended";
    case PodState::kFailed: return "Failed";
  }
  return "";
}

Explanation Explain(const ExplainInputs& inputs, const ExplainLimits& limits) {
  return PodExplainer(inputs, limits).Go();
}

namespace {

std::optional<Explanation> ExplainEnded(const ClusterState& state, const std::string& namespace_name,
                                        const std::string& name) {
  for (const auto& pod : state.finished_pods) {
    if (pod->metadata.name != name || pod->metadata.namespace_name != namespace_name) continue;
    Explanation said;
    said.pod = namespace_name + '/' + name;
    said.state = PodState::kEnded;
    said.scheduler_name = pod->spec.scheduler_name;
    said.node = pod->spec.node_name;
    said.message = pod->status.phase == api::PodPhase::kFailed ? "it has failed" : "it has succeeded";
    said.message += said.node.empty() ? ", and never had a node" : "; it was on " + said.node;
    return said;
  }
  return std::nullopt;
}

// Which scheduler the pod waits for, and whether there is any sign of it in the cluster.
std::string WaitsForScheduler(const OfflineCluster& cluster, const ClusterState& state, const api::Pod& pod) {
  const std::string& name = pod.spec.scheduler_name;
  std::set<std::string_view> others;  // schedulers that have placed pods
  for (const auto& other : state.pods) {
    if (!other->spec.node_name.empty()) others.insert(other->spec.scheduler_name);
  }
  std::string text = "it waits for the scheduler \"" + name + "\"";
  if (others.contains(name)) return text + ", of which this configuration has no profile (--config gives one that has)";
  if (pod.status.FindCondition("PodScheduled") != nullptr) return text + ", which has refused it";
  text += ". No pod of the cluster was placed by a scheduler of that name";
  const std::vector<std::string> profiles = cluster.ProfileNames();
  others.insert(profiles.begin(), profiles.end());
  const std::string_view nearest = SimilarName(name, std::vector(others.begin(), others.end()));
  if (!nearest.empty()) text += "; is \"" + std::string(nearest) + "\" meant?";
  return text;
}

// A pod that fits by itself, but is scheduled with others.
void WaitForGroup(const OfflineCluster& cluster, const ClusterState& state, const std::string& group,
                  const api::Pod& pod, Explanation& said) {
  const std::string& space = pod.metadata.namespace_name;
  const auto answer = ExplainPodGroup(state, cluster.options(), space, group);
  const std::string name = "PodGroup " + space + '/' + group;
  if (!answer.ok()) {
    said.state = PodState::kWaits;
    said.message = "it waits for its " + name + ": " + answer.error().message;
    return;
  }
  const auto member = std::ranges::find(answer->members, pod.metadata.name, &GroupMemberAnswer::name);
  const bool has_node = member != answer->members.end() && !member->node.empty();
  if (has_node && (answer->state == GroupState::kFits || answer->state == GroupState::kPlaced)) {
    said.node = member->node;
    return;
  }
  said.state = PodState::kWaits;
  said.message = "it is scheduled with its " + name;
  if (answer->state == GroupState::kPreempts) {
    said.message += ", for which " + std::to_string(answer->victims.size()) + " pods would have to go";
  } else if (!answer->message.empty()) {
    said.message += ", which waits: " + answer->message;
  } else {
    said.message += ", which is not placed now";
  }
}

}  // namespace

Expected<Explanation> ExplainPod(OfflineCluster& cluster, const ClusterState& state, const std::string& namespace_name,
                                 const std::string& name, const ExplainLimits& limits) {
  const auto at = std::find_if(state.pods.begin(), state.pods.end(), [&](const auto& pod) {
    return pod->metadata.name == name && pod->metadata.namespace_name == namespace_name;
  });
  if (at == state.pods.end()) {
    if (auto ended = ExplainEnded(state, namespace_name, name)) return *std::move(ended);
    PodNames names(namespace_name, name);
    for (const auto& pod : state.pods) names.Add(pod->metadata.namespace_name, pod->metadata.name);
    return names.NoSuchPod();
  }
  const auto overlay = cluster.MakeOverlay();
  Explanation said = Explain({*overlay, cluster.core().queue(), **at}, limits);
  if (AreClaimsInTheWay(said))
    said.blocking_objects = BlockingObjects(state, **at, cluster.options().configuration.release);
  if (said.asked_profile && (said.state == PodState::kFits || said.state == PodState::kRefused)) {
    said.state = PodState::kWaits;
    said.message = WaitsForScheduler(cluster, state, **at);
  }
  const std::string group = cluster.pod_groups() == nullptr ? "" : overlay->MakePod(**at)->pod_group_name;
  if (said.state == PodState::kFits && !group.empty()) WaitForGroup(cluster, state, group, **at, said);
  return said;
}

}  // namespace berth::whatif
