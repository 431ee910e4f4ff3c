// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/disruption_decision.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/devcluster/controllers/rollout.h"

namespace berth::controllers {
namespace {

struct Wanted {
  std::int64_t expected = 0;  // pods, as their controllers want them
  std::int64_t healthy = 0;   // at least
};

// The sum over the pods' controllers; pods without one do not count.
Expected<std::int64_t> ExpectedScale(const Pods& pods, const ReplicasOf& replicas_of) {
  std::set<std::string_view> seen;
  std::int64_t sum = 0;
  for (const auto& pod : pods) {
    if (!pod->controller || !seen.insert(pod->controller->uid).second) continue;
    const auto replicas = replicas_of(*pod->controller);
    if (!replicas) return InvalidError(pod->controller->kind + " does not implement the scale subresource");
    sum += *replicas;
  }
  return sum;
}

Expected<Wanted> Want(const WorkloadView& budget, const Pods& pods, const ReplicasOf& replicas_of) {
  Wanted wanted;
  if (const json::value* most = Member(budget.spec, "maxUnavailable")) {
    BERTH_ASSIGN_OR_RETURN(wanted.expected, ExpectedScale(pods, replicas_of));
    wanted.healthy = std::max<std::int64_t>(wanted.expected - CountOrPercent(*most, wanted.expected), 0);
  } else if (const json::value* least = Member(budget.spec, "minAvailable")) {
    if (least->is_int64()) {
      wanted.expected = static_cast<std::int64_t>(pods.size());
    } else {
      BERTH_ASSIGN_OR_RETURN(wanted.expected, ExpectedScale(pods, replicas_of));
    }
    wanted.healthy = CountOrPercent(*least, wanted.expected);
  }
  return wanted;
}

// The condition DisruptionAllowed, with the time of its last change.
json::array Conditions(const WorkloadView& budget, bool is_allowed, std::string_view reason, std::string_view message,
                       Time now) {
  const std::string_view status = is_allowed ? "True" : "False";
  std::string since = FormatRfc3339(now);
  const json::value* before = Member(budget.status, "conditions");
  if (before != nullptr && before->is_array()) {
    for (const json::value& each : before->get_array()) {
      if (!each.is_object() || StringOf(each.get_object(), "type") != "DisruptionAllowed") continue;
      if (StringOf(each.get_object(), "status") == status) since = StringOf(each.get_object(), "lastTransitionTime");
    }
  }
  return {json::object{{"type", "DisruptionAllowed"},
                       {"status", View(status)},
                       {"observedGeneration", budget.generation},
                       {"lastTransitionTime", std::move(since)},
                       {"reason", View(reason)},
                       {"message", View(message)}}};
}

// Sets in `decision` which evictions are still on their way, and gives the names of those pods.
std::set<std::string_view> KeepPending(const WorkloadView& budget, const Pods& pods, Time now,
                                       DisruptionDecision& decision) {
  std::set<std::string_view> pending;
  const json::object* before = ObjectOf(budget.status, "disruptedPods");
  if (before == nullptr) return pending;
  json::object changes;
  for (const auto& entry : *before) {
    const auto pod =
        std::find_if(pods.begin(), pods.end(), [&](const auto& each) { return each->name == entry.key(); });
    const auto at = entry.value().is_string() ? ParseRfc3339(entry.value().get_string()) : std::nullopt;
    const bool is_pending = pod != pods.end() && !(*pod)->is_deleted && at && now < *at + kDisruptionMax;
    if (!is_pending) {
      changes[entry.key()] = nullptr;
      continue;
    }
    pending.insert((*pod)->name);
    const Duration left = *at + kDisruptionMax - now;
    decision.again_after = std::min(decision.again_after.value_or(left), left);
  }
  if (!changes.empty()) decision.status["disruptedPods"] = std::move(changes);
  return pending;
}

bool ChangesNothing(const json::object& status, const json::object& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& member) {
    const json::value* own = status.if_contains(member.key());
    return own != nullptr && *own == member.value();
  });
}

}  // namespace

DisruptionDecision DecideDisruption(const WorkloadView& budget, const Pods& pods, const ReplicasOf& replicas_of,
                                    Time now) {
  DisruptionDecision decision;
  const auto wanted = Want(budget, pods, replicas_of);
  if (!wanted.ok()) {
    decision.status = {{"disruptionsAllowed", 0},
                       {"conditions", Conditions(budget, false, "SyncFailed", wanted.error().message, now)}};
  } else {
    const std::set<std::string_view> pending = KeepPending(budget, pods, now, decision);
    const std::int64_t healthy = std::count_if(pods.begin(), pods.end(), [&](const auto& pod) {
      return pod->is_ready && !pod->is_deleted && !pending.contains(pod->name);
    });
    const std::int64_t allowed = wanted->expected > 0 ? std::max<std::int64_t>(healthy - wanted->healthy, 0) : 0;
    decision.status["currentHealthy"] = healthy;
    decision.status["desiredHealthy"] = wanted->healthy;
    decision.status["expectedPods"] = wanted->expected;
    decision.status["disruptionsAllowed"] = allowed;
    decision.status["observedGeneration"] = budget.generation;
    decision.status["conditions"] =
        Conditions(budget, allowed > 0, allowed > 0 ? "SufficientPods" : "InsufficientPods", "", now);
  }
  if (ChangesNothing(budget.status, decision.status)) decision.status.clear();
  return decision;
}

}  // namespace berth::controllers
