// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/pod_strategies.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "berth/rebalance/node_fit.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {
namespace {

using Words = std::vector<std::string>;
using States = std::vector<api::ContainerState>;

bool Has(const Words& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

// Whole seconds since that time; an unknown time counts as long ago. Negative: it is in the future.
std::int64_t SecondsSince(const std::optional<Time>& time, Time now) {
  if (!time) return std::numeric_limits<std::int64_t>::max();
  return std::chrono::duration_cast<std::chrono::seconds>(now - *time).count();
}

std::int64_t AgeOf(const PodView& pod, Time now) {
  return pod.is_moved ? 0 : SecondsSince(pod.pod->metadata.creation_time, now);
}

bool IsAtLeast(std::int64_t seconds, std::uint64_t min) {
  return seconds >= 0 && static_cast<std::uint64_t>(seconds) >= min;
}

bool HasOwnerOf(const PodView& pod, const Words& kinds) {
  return std::ranges::any_of(pod.details->metadata.owners, [&](const auto& owner) { return Has(kinds, owner.kind); });
}

bool HasWaiting(const States& states, const Words& reasons) {
  return std::ranges::any_of(
      states, [&](const api::ContainerState& state) { return state.is_waiting && Has(reasons, state.waiting_reason); });
}

bool HasTerminated(const States& states, const Words& reasons) {
  return std::ranges::any_of(states, [&](const api::ContainerState& state) {
    return state.exit_code && Has(reasons, state.terminated_reason);
  });
}

bool HasExitCode(const States& states, const std::vector<std::int32_t>& codes) {
  return std::ranges::any_of(states, [&](const api::ContainerState& state) {
    return state.exit_code && std::ranges::find(codes, *state.exit_code) != codes.end();
  });
}

// Evicts the pods of one node. False: a limit stops all further evictions.
bool EvictAll(const StrategyRun& run, const std::vector<PodNumber>& pods, const auto& reason) {
  for (const PodNumber pod : pods) {
    const EvictionAnswer answer = run.Evict(pod, reason(run.view.pod(pod)));
    if (answer == EvictionAnswer::kNodeLimit) return true;
    if (answer == EvictionAnswer::kTotalLimit) return false;
  }
  return true;
}

// --- PodLifeTime -----------------------------------------------------------------------------------------------------

bool IsInState(const PodLifeTimeArgs& args, const PodView& pod) {
  const api::PodDetails::Status& status = pod.details->status;
  const auto any = [&](const States& states) {
    return HasWaiting(states, args.states) || HasTerminated(states, args.states);
  };
  return Has(args.states, status.phase) || Has(args.states, status.reason) || any(status.containers) ||
         (args.including_init_containers && any(status.init_containers)) ||
         (args.including_ephemeral_containers && any(status.ephemeral_containers));
}

bool HasCondition(const PodConditionFilter& want, const PodView& pod, Time now) {
  return std::ranges::any_of(pod.details->status.conditions, [&](const api::TimedCondition& condition) {
    if (!want.type.empty() && condition.type != want.type) return false;
    if (!want.status.empty() && condition.status != want.status) return false;
    if (!want.reason.empty() && condition.reason != want.reason) return false;
    if (!want.min_seconds_since_transition) return true;
    return condition.last_transition_time &&
           IsAtLeast(SecondsSince(condition.last_transition_time, now), *want.min_seconds_since_transition);
  });
}

bool IsDue(const PodLifeTimeArgs& args, const PodView& pod, Time now) {
  if (args.max_seconds) {
    const std::int64_t age = AgeOf(pod, now);
    if (age < 0 || static_cast<std::uint64_t>(age) <= *args.max_seconds) return false;
  }
  if (!args.states.empty() && !IsInState(args, pod)) return false;
  if (!args.include_owner_kinds.empty() && !HasOwnerOf(pod, args.include_owner_kinds)) return false;
  if (!args.exclude_owner_kinds.empty() && HasOwnerOf(pod, args.exclude_owner_kinds)) return false;
  const auto& conditions = args.conditions;
  if (!conditions.empty() &&
      std::ranges::none_of(conditions, [&](const auto& want) { return HasCondition(want, pod, now); }))
    return false;
  const api::PodDetails::Status& status = pod.details->status;
  return args.exit_codes.empty() || HasExitCode(status.containers, args.exit_codes) ||
         (args.including_init_containers && HasExitCode(status.init_containers, args.exit_codes));
}

// --- RemoveFailedPods ------------------------------------------------------------------------------------------------

bool IsFailedFor(const FailedPodsArgs& args, const api::PodDetails::Status& status) {
  const auto any = [&](const States& states) {
    return HasWaiting(states, args.reasons) || HasTerminated(states, args.reasons);
  };
  const bool is_of_pod = !status.reason.empty() && Has(args.reasons, status.reason);
  return is_of_pod || any(status.containers) || (args.including_init_containers && any(status.init_containers));
}

bool IsRemovable(const FailedPodsArgs& args, const PodView& pod, Time now) {
  const api::PodDetails::Status& status = pod.details->status;
  if (status.phase != "Failed" || !IsAtLeast(AgeOf(pod, now), args.min_seconds)) return false;
  if (HasOwnerOf(pod, args.exclude_owner_kinds)) return false;
  if (!args.reasons.empty() && !IsFailedFor(args, status)) return false;
  return args.exit_codes.empty() || HasExitCode(status.containers, args.exit_codes) ||
         (args.including_init_containers && HasExitCode(status.init_containers, args.exit_codes));
}

// --- RemovePodsHavingTooManyRestarts ---------------------------------------------------------------------------------

std::int32_t RestartsOf(const TooManyRestartsArgs& args, const PodView& pod) {
  // The sum wraps as Go's int32 does.
  std::uint32_t sum = 0;
  const auto add = [&sum](const States& states) {
    for (const api::ContainerState& state : states) sum += static_cast<std::uint32_t>(state.restart_count);
  };
  add(pod.details->status.containers);
  if (args.including_init_containers) add(pod.details->status.init_containers);
  return static_cast<std::int32_t>(sum);
}

bool IsInState(const TooManyRestartsArgs& args, const api::PodDetails::Status& status) {
  return args.states.empty() || Has(args.states, status.phase) || HasWaiting(status.containers, args.states) ||
         (args.including_init_containers && HasWaiting(status.init_containers, args.states));
}

}  // namespace

void Run(const PodLifeTimeArgs& args, const StrategyRun& run) {
  std::vector<PodNumber> pods;
  for (const NodeNumber node : run.nodes) {
    const auto of_node = run.PodsOn(node, [&](const PodView& pod) {
      return args.pods.Takes(*pod.pod) && IsDue(args, pod, run.now) && run.MayEvict(pod);
    });
    pods.insert(pods.end(), of_node.begin(), of_node.end());
  }
  std::ranges::stable_sort(pods, {}, [&run](PodNumber number) {
    const PodView& pod = run.view.pod(number);
    return pod.is_moved ? run.now : pod.pod->metadata.creation_time.value_or(Time::min());
  });
  for (const PodNumber pod : pods) {
    std::string reason = "its state is one that the policy ends";
    if (args.max_seconds) reason = "it is older than " + std::to_string(*args.max_seconds) + " s";
    if (run.Evict(pod, std::move(reason)) == EvictionAnswer::kTotalLimit) return;
  }
}

void Run(const FailedPodsArgs& args, const StrategyRun& run) {
  for (const NodeNumber node : run.nodes) {
    const auto pods = run.PodsOn(node, [&](const PodView& pod) {
      return args.pods.Takes(*pod.pod) && IsRemovable(args, pod, run.now) && run.MayEvict(pod);
    });
    const auto reason = [](const PodView& pod) {
      const std::string& why = pod.details->status.reason;
      return why.empty() ? std::string("it has failed") : "it has failed: " + why;
    };
    if (!EvictAll(run, pods, reason)) return;
  }
}

void Run(const TooManyRestartsArgs& args, const StrategyRun& run) {
  for (const NodeNumber node : run.nodes) {
    auto pods = run.PodsOn(node, [&](const PodView& pod) {
      return args.pods.Takes(*pod.pod) && RestartsOf(args, pod) >= args.threshold &&
             IsInState(args, pod.details->status) && run.MayEvict(pod);
    });
    std::ranges::stable_sort(pods, std::ranges::greater(),
                             [&](PodNumber pod) { return RestartsOf(args, run.view.pod(pod)); });
    const auto reason = [&args](const PodView& pod) {
      return "its containers have restarted " + std::to_string(RestartsOf(args, pod)) + " times";
    };
    if (!EvictAll(run, pods, reason)) return;
  }
}

// --- RemovePodsViolatingNodeAffinity, RemovePodsViolatingNodeTaints --------------------------------------------------

void Run(const NodeAffinityArgs& args, const StrategyRun& run) {
  const ClusterView& view = run.view;
  for (const std::string& type : args.types) {
    const bool is_required = type.starts_with("required");
    for (const NodeNumber number : run.nodes) {
      const NodeView& node = view.node(number);
      const auto best_weight = [&](const PodView& pod) {
        std::int32_t best = 0;
        for (const NodeNumber other : run.nodes) best = std::max(best, PreferredWeight(pod, view.node(other)));
        return best;
      };
      const auto is_violated = [&](const PodView& pod) {
        const auto& affinity = pod.pod->spec.node_affinity;
        if (!affinity) return false;
        if (is_required) return affinity->required.has_value() && !pod.required->Matches(*node.node);
        return !affinity->preferred.empty() && best_weight(pod) > PreferredWeight(pod, node);
      };
      const auto pods = run.PodsOn(number, [&](const PodView& pod) {
        return !pod.is_finished && args.pods.Takes(*pod.pod) && is_violated(pod) && run.MayEvict(pod) &&
               FitsAnyNode(view, pod, run.nodes);
      });
      const auto reason = [&](const PodView& pod) {
        return is_required ? "its node does not match its required node affinity"
                           : "another node has more weight by its preferred node affinity (" +
                                 std::to_string(best_weight(pod)) + ") than its own (" +
                                 std::to_string(PreferredWeight(pod, node)) + ")";
      };
      if (!EvictAll(run, pods, reason)) return;
    }
  }
}

void Run(const NodeTaintsArgs& args, const StrategyRun& run) {
  for (const NodeNumber number : run.nodes) {
    const NodeView& node = run.view.node(number);
    const auto pods = run.PodsOn(number, [&](const PodView& pod) {
      return !pod.is_finished && args.pods.Takes(*pod.pod) && UntoleratedTaint(args, *pod.pod, *node.node) != nullptr &&
             run.MayEvict(pod);
    });
    const auto reason = [&](const PodView& pod) {
      const api::Taint& taint = *UntoleratedTaint(args, *pod.pod, *node.node);
      const std::string text = taint.value.empty() ? taint.key : taint.key + "=" + taint.value;
      const bool is_hard = taint.effect == api::TaintEffect::kNoSchedule;
      return "it does not tolerate the taint " + text + (is_hard ? ":NoSchedule" : ":PreferNoSchedule") +
             " of its node";
    };
    if (!EvictAll(run, pods, reason)) return;
  }
}

}  // namespace berth::rebalance
