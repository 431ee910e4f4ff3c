// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/explanation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "berth/base/edit_distance.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/guarded.h"
#include "berth/framework/preemption_report.h"
#include "berth/framework/preemption_review.h"
#include "berth/plugins/names.h"
#include "berth/whatif/blocking_objects.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using framework::Status;
using scheduler::Overlay;

Error NoSuchPod(const ClusterState& state, const std::string& namespace_name, const std::string& name) {
  std::vector<std::string_view> here;
  std::string elsewhere;
  for (const auto& pod : state.pods) {
    if (pod->metadata.namespace_name == namespace_name) here.push_back(pod->metadata.name);
    if (pod->metadata.name == name && elsewhere.empty()) elsewhere = pod->metadata.namespace_name;
  }
  std::string text = "there is no pod \"" + name + "\" in namespace \"" + namespace_name + "\"";
  if (!elsewhere.empty()) {
    text += "; there is one in namespace \"" + elsewhere + "\"";
  } else if (const std::string_view nearest = NearestName(name, here); !nearest.empty()) {
    text += "; did you mean \"" + std::string(nearest) + "\"?";
  } else {
    text += ", which has no pods that are not finished";
  }
  return {ErrorCode::kNotFound, std::move(text)};
}

Refusal ToRefusal(const Status& status) {
  return {std::string(status.plugin()), status.Message(), status.code() == framework::Code::kUnschedulable};
}

// One for each of its actions; all kinds of update together are one.
void AddLabels(const framework::ClusterEvent& event, std::set<std::string>& labels) {
  namespace action = framework::action;
  framework::ActionType left = event.actions;
  if ((left & action::kUpdate) == action::kUpdate) {
    std::string label = framework::ClusterEvent{event.resource, action::kAdd}.Label();
    label.resize(label.size() - std::string_view("Add").size());
    labels.insert(label + "Update");
    left &= ~action::kUpdate;
  }
  for (framework::ActionType bit = 1; left != 0; bit <<= 1) {
    if ((left & bit) != 0) labels.insert(framework::ClusterEvent{event.resource, bit}.Label());
    left &= ~bit;
  }
}

bool IsSame(const Status& a, const Status& b) {
  return a.code() == b.code() && a.plugin() == b.plugin() && a.reasons() == b.reasons();
}

class Explaining {
 public:
  Explaining(OfflineCluster& cluster, const api::Pod& pod) : cluster_(cluster), pod_(pod) {
    said_.pod = pod.metadata.namespace_name + "/" + pod.metadata.name;
    said_.scheduler_name = pod.spec.scheduler_name;
    if (const api::PodCondition* const told = pod.status.FindCondition("PodScheduled")) said_.told = told->message;
  }

  Explanation Go() {
    const std::unique_ptr<Overlay> overlay = cluster_.MakeOverlay();
    api::Pod asked = pod_;
    if (cluster_.ProfileOf(asked) == nullptr) asked.spec.scheduler_name = *(said_.asked_profile = FirstProfile());
    if (const std::string& node = pod_.spec.node_name; !node.empty()) {
      said_.state = PodState::kPlaced;
      said_.node = node;
      overlay->RemovePod(pod_.metadata.uid);
      asked.spec.node_name.clear();
    } else if (const auto gate = Gate(asked)) {
      said_.state = PodState::kGated;
      said_.message = *gate;
      return std::move(said_);
    } else if (pod_.metadata.deletion_time) {
      said_.state = PodState::kDeleted;
      said_.message = "the pod is being deleted, so that no scheduler places it";
      return std::move(said_);
    }
    Evaluate(*overlay, asked);
    return std::move(said_);
  }

 private:
  std::string FirstProfile() const { return cluster_.first_profile().scheduler_name; }

  // A gate is asked about without a queue: the pod may be another scheduler's.
  std::optional<std::string> Gate(const api::Pod& asked) const {
    const framework::PodInfoPtr waiting = cluster_.FindPending(pod_);
    if (const auto gate = cluster_.GateOf(pod_)) return gate;
    if (waiting != nullptr || asked.spec.scheduling_gates.empty()) return std::nullopt;
    std::string gates;
    for (const std::string& gate : asked.spec.scheduling_gates) gates += (gates.empty() ? "" : ", ") + gate;
    return "SchedulingGates: waiting for scheduling gates: " + gates;
  }

  void Evaluate(Overlay& overlay, const api::Pod& asked) {
    const PodInfoPtr info = overlay.MakePod(asked);
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
    AddNodes(overlay, outcome, refusals, *cluster_.ProfileOf(asked));
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
    AddWakers(outcome, *cluster_.ProfileOf(asked));
    if (outcome.result == runtime::Result::kRefused) AddPreemption(overlay, evaluator);
    said_.message = evaluator.Message();
    if (outcome.result == runtime::Result::kRefused) said_.changes = FindSmallestChanges(overlay, asked, refusals);
  }

  static RefusalsByRow Refusals(const Overlay& overlay, runtime::Evaluator& evaluator,
                                const runtime::Outcome& outcome) {
    const std::set<NodeIndex> feasible(outcome.feasible.begin(), outcome.feasible.end());
    RefusalsByRow refusals;
    for (const NodeIndex row : overlay.nodes().rows()) {
      if (feasible.contains(row)) continue;
      std::vector<Status> statuses = evaluator.AllRefusals(row);
      // The scheduler's own verdict comes first. It is none of the others where only pods nominated for the node, or
      // PreFilter, keep the pod away.
      if (const Status first = evaluator.StatusOf(row); !first.IsSuccess()) {
        std::erase_if(statuses, [&](const Status& status) { return IsSame(status, first); });
        statuses.insert(statuses.begin(), first);
      }
      if (!statuses.empty()) refusals.emplace(row, std::move(statuses));
    }
    return refusals;
  }

  // Those that refuse most come first.
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

  void AddWakers(const runtime::Outcome& outcome, const runtime::ProfilePlugins& profile) {
    std::set<std::string> events;
    for (const auto& plugin : profile.owned) {
      if (!outcome.unschedulable_plugins.contains(std::string(plugin->Name()))) continue;
      const auto* const registers = dynamic_cast<const framework::EnqueueExtensions*>(plugin.get());
      if (registers == nullptr) continue;
      // One that throws is tried again at every event.
      const Status failed = framework::GuardedCall([&] {
        for (const framework::ClusterEventWithHint& event : registers->EventsToRegister())
          AddLabels(event.event, events);
      });
      if (!failed.IsSuccess()) events.insert("any");
    }
    said_.woken_by.assign(events.begin(), events.end());
  }

  OfflineCluster& cluster_;
  const api::Pod& pod_;
  Explanation said_;
};

// Where a PreFilter plugin refuses a pod there may be no step.
bool AreClaimsInTheWay(const Explanation& said) {
  using namespace plugins::names;
  constexpr std::string_view kOfClaims[] = {kVolumeBinding, kVolumeZone, kDynamicResources};
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
    case PodState::kFailed: return "Failed";
  }
  return "";
}

Expected<Explanation> ExplainPod(OfflineCluster& cluster, const ClusterState& state, const std::string& namespace_name,
                                 const std::string& name) {
  const auto at = std::find_if(state.pods.begin(), state.pods.end(), [&](const auto& pod) {
    return pod->metadata.name == name && pod->metadata.namespace_name == namespace_name;
  });
  if (at == state.pods.end()) return NoSuchPod(state, namespace_name, name);
  Explanation said = Explaining(cluster, **at).Go();
  if (AreClaimsInTheWay(said)) said.blocking_objects = BlockingObjects(state, **at);
  return said;
}

}  // namespace berth::whatif
