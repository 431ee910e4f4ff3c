// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/sighting.h"

#include <string_view>
#include <utility>
#include <variant>

#include "berth/base/text_hash.h"

namespace berth::shadow {
namespace {

constexpr std::string_view kScheduled = "PodScheduled";
constexpr std::string_view kUnschedulable = "Unschedulable";
constexpr std::string_view kSchedulerError = "SchedulerError";

const api::PodCondition* ConditionOf(const api::Pod& pod, std::string_view reason) {
  const api::PodCondition* const condition = pod.status.FindCondition(kScheduled);
  return condition != nullptr && condition->status == "False" && condition->reason == reason ? condition : nullptr;
}

// Whether the condition with that reason is new, or says something else than before.
bool IsNew(const api::Pod& before, const api::Pod& after, std::string_view reason) {
  const api::PodCondition* const now = ConditionOf(after, reason);
  if (now == nullptr) return false;
  const api::PodCondition* const then = ConditionOf(before, reason);
  return then == nullptr || then->message != now->message ||
         (before.status.nominated_node_name != after.status.nominated_node_name &&
          !after.status.nominated_node_name.empty());
}

}  // namespace

bool HasEnded(const api::Pod& pod) {
  return pod.status.phase == api::PodPhase::kSucceeded || pod.status.phase == api::PodPhase::kFailed;
}

std::optional<Sighting> SightingFilter::Look(const scheduler::Input& input) {
  if (const auto* set = std::get_if<scheduler::PodSet>(&input)) return LookAtPod(set->pod);
  if (const auto* gone = std::get_if<scheduler::PodGone>(&input)) Forget(gone->uid);
  return std::nullopt;
}

std::optional<Sighting> SightingFilter::LookAtPod(const std::shared_ptr<const api::Pod>& pod) {
  if (HasEnded(*pod)) {
    Forget(pod->metadata.uid);
    return std::nullopt;
  }
  return pod->spec.node_name.empty() ? LookAtPending(pod) : LookAtPlaced(pod);
}

std::optional<Sighting> SightingFilter::LookAtPlaced(const std::shared_ptr<const api::Pod>& pod) {
  if (!placed_.insert(HashText(pod->metadata.uid)).second) return std::nullopt;
  const auto at = pending_.find(pod->metadata.uid);
  if (at == pending_.end()) {
    if (looks_on_) ++left_out_.had_node;
    return std::nullopt;
  }
  const Pending before = std::move(at->second);
  pending_.erase(at);
  if (!looks_on_) return std::nullopt;
  if (!before.is_ours) {
    ++left_out_.other_scheduler;
    return std::nullopt;
  }
  if (before.pod->metadata.deletion_time) {
    ++left_out_.deleted;
    return std::nullopt;
  }
  return Make(before, pod);
}

std::optional<Sighting> SightingFilter::LookAtPending(const std::shared_ptr<const api::Pod>& pod) {
  const auto [at, is_new] = pending_.try_emplace(pod->metadata.uid);
  Pending& known = at->second;
  const std::shared_ptr<const api::Pod> before = std::exchange(known.pod, pod);
  known.is_ours = is_ours_(*pod);
  // A gated pod comes to the queue when its last gate goes.
  const bool is_gated = !pod->spec.scheduling_gates.empty();
  if (is_new || (!is_gated && !before->spec.scheduling_gates.empty())) {
    known.arrival = ++arrivals_;
    known.is_fresh = looks_on_;
  }
  if (is_new || is_gated || !looks_on_ || !known.is_ours || pod->metadata.deletion_time) {
    if (ConditionOf(*pod, kUnschedulable) != nullptr) {
      known.is_decided = true;
      known.is_fresh = false;
    }
    return std::nullopt;
  }
  if (IsNew(*before, *pod, kSchedulerError)) {
    ++left_out_.failed;
    known.is_fresh = false;
  }
  if (!IsNew(*before, *pod, kUnschedulable)) return std::nullopt;
  Sighting sighting = Make({before, known.arrival, true, known.is_fresh, true}, pod);
  known.is_decided = true;
  known.is_fresh = false;
  return sighting;
}

void SightingFilter::Forget(const std::string& uid) {
  placed_.erase(HashText(uid));
  const auto at = pending_.find(uid);
  if (at == pending_.end()) return;
  if (looks_on_ && at->second.is_ours && !at->second.is_decided) ++left_out_.deleted;
  pending_.erase(at);
}

Sighting SightingFilter::Make(const Pending& before, const std::shared_ptr<const api::Pod>& after) const {
  return {before.pod, after, make_pod_(*before.pod), before.arrival, before.is_fresh};
}

SightingFilter::Waiting SightingFilter::waiting() const {
  Waiting waiting;
  for (const auto& [uid, pending] : pending_) {
    if (!pending.is_ours) continue;
    if (!pending.pod->spec.scheduling_gates.empty()) {
      ++waiting.gated;
    } else {
      ++(pending.is_decided ? waiting.refused : waiting.undecided);
    }
  }
  return waiting;
}

}  // namespace berth::shadow
