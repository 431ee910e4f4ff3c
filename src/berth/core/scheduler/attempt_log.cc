// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/attempt_log.h"

#include <cstddef>
#include <string_view>

#include "berth/base/log.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/runtime/refusals.h"
#include "berth/core/scheduler/choice_reason.h"
#include "berth/core/scheduler/pod_group_trial.h"

namespace berth::scheduler {

using framework::PodInfo;

namespace {

constexpr std::string_view kArea = "scheduler";

constexpr log::Detail DetailOf(int verbosity) { return {verbosity, "schedule_one"}; }

bool IsLogged(const CoreState& state) { return state.options.metrics != nullptr; }

}  // namespace

void LogAttempt(const CoreState& state, const PodInfo& pod) {
  constexpr log::Detail kDetail = DetailOf(3);
  if (!IsLogged(state) || !log::Enabled(kDetail)) return;
  log::Info(kDetail, kArea, "Attempting to schedule pod", {{"pod", pod.Key()}});
}

void LogScores(const CoreState& state, const Profile& profile, const PodInfo& pod, const runtime::Outcome& outcome) {
  constexpr log::Detail kDetail = DetailOf(10);
  if (!IsLogged(state) || outcome.scores.empty() || !log::Enabled(kDetail)) return;
  if (outcome.feasible.size() < 2) return;  // scoring is skipped for a single feasible node
  const std::string key = pod.Key();
  const auto name = [&](std::size_t i) { return state.cache.nodes().Name(outcome.feasible[i]); };
  for (const auto& [plugin, scores] : outcome.scores) {
    const std::int64_t weight = WeightOf(*profile.plugins, plugin);
    for (std::size_t i = 0; i < scores.size(); ++i)
      log::Info(kDetail, kArea, "Plugin scored node for pod",
                {{"pod", key}, {"plugin", plugin}, {"node", name(i)}, {"score", weight * scores[i]}});
  }
  for (std::size_t i = 0; i < outcome.totals.size(); ++i)
    log::Info(kDetail, kArea, "Calculated node's final score for pod",
              {{"pod", key}, {"node", name(i)}, {"score", outcome.totals[i]}});
}

void LogFailedAttempt(const CoreState& state, const PodInfo& pod, const SchedulingFailure& failure) {
  constexpr log::Detail kDetail = DetailOf(2);
  if (!IsLogged(state) || failure.is_put_off) return;
  if (!failure.is_refusal) {
    log::ErrorLine(kArea, "Error scheduling pod; retrying", {{"err", failure.message}, {"pod", pod.Key()}});
    return;
  }
  if (!log::Enabled(kDetail)) return;
  if (failure.message == runtime::kNoNodesText) {
    log::Info(kDetail, kArea, "Unable to schedule pod; no nodes are registered to the cluster; waiting",
              {{"pod", pod.Key()}});
  } else if (failure.message.starts_with(kPodGroupUnschedulable) || failure.message.starts_with(kParentPodGroup)) {
    log::Info(kDetail, kArea, "Unable to schedule pod belonging to a pod group; waiting",
              {{"pod", pod.Key()}, {"err", failure.message}});
  } else {
    log::Info(kDetail, kArea, "Unable to schedule pod; no fit; waiting",
              {{"pod", pod.Key()}, {"err", failure.message}});
  }
}

void LogDecision(const Decision& decision) {
  constexpr log::Detail kDetail = DetailOf(4);
  if (!log::Enabled(kDetail)) return;
  log::Info(kDetail, kArea, decision.node_name.empty() ? "Not placed" : "Placed",
            {{"pod", decision.PodKey()},
             {"node", decision.node_name},
             {"why", decision.Why()},
             {"attempt", decision.attempt},
             {"cycle", decision.cycle},
             {"seed", decision.seed}});
}

void LogBound(const CoreState& state, const BindingCycle& cycle) {
  constexpr log::Detail kDetail = DetailOf(2);
  if (!IsLogged(state) || !log::Enabled(kDetail)) return;
  log::Info(kDetail, kArea, "Successfully bound pod to node",
            {{"pod", cycle.assumed->Key()},
             {"node", cycle.assumed->node_name},
             {"evaluatedNodes", cycle.nodes.evaluated},
             {"feasibleNodes", cycle.nodes.feasible}});
}

}  // namespace berth::scheduler
