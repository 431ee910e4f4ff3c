// SPDX-License-Identifier: Apache-2.0
#include "berth/page/live_pending.h"

#include <algorithm>
#include <utility>

#include "berth/base/text.h"

namespace berth::page {
namespace {

// What is known of why it waits, without the queue.
void SetReasons(const api::Pod& pod, const DecisionFeed& decisions, WaitingPod& waiting) {
  if (!pod.spec.scheduling_gates.empty()) {
    waiting.state = "Gated";
    waiting.message = "waits for scheduling gates: " + Joined(pod.spec.scheduling_gates);
    return;
  }
  if (const DecisionFeed::EntryPtr refusal = decisions.LastRefusal(pod.metadata.uid)) {
    const scheduler::Decision decision = refusal->decision.Unpack();
    waiting.state = "Refused";
    waiting.message = decision.message;
    waiting.reasons = ReasonsOf(decision);
    waiting.nodes = decision.node_count;
    waiting.attempts = decision.attempt;
    return;
  }
  const api::PodCondition* const scheduled = pod.status.FindCondition("PodScheduled");
  if (scheduled == nullptr || scheduled->status != "False") {
    waiting.message = "it has not been tried yet";
    return;
  }
  waiting.state = scheduled->reason == "SchedulingGated" ? "Gated" : "Refused";
  waiting.message = scheduled->message;
  waiting.reasons = ReasonsIn(scheduled->message);
}

}  // namespace

std::vector<WaitingPod> WaitingPods(const FleetCopy& fleet, const StringHashMap<CoreLook::Standing>* standings,
                                    const DecisionFeed& decisions, const std::vector<std::string>& scheduler_names) {
  std::vector<WaitingPod> all;
  for (const auto& pod : fleet.pods) {
    if (!pod->spec.node_name.empty() || pod->metadata.deletion_time) continue;
    WaitingPod& waiting = all.emplace_back(WaitingPod{.pod = pod.get()});
    const std::string& scheduler = pod->spec.scheduler_name;
    if (std::ranges::find(scheduler_names, scheduler) == scheduler_names.end()) {
      waiting.state = "Waits";
      waiting.message = "waits for a scheduler called " + Quoted(scheduler) + ", which is not this one";
      continue;
    }
    SetReasons(*pod, decisions, waiting);
    if (standings == nullptr) continue;
    const auto standing = standings->find(pod->metadata.uid);
    if (standing == standings->end()) continue;
    waiting.queue = standing->second.place;
    waiting.backoff_until = standing->second.backoff_until;
    waiting.waits_for = standing->second.waits_for;
    if (standing->second.held.empty()) continue;
    waiting.state = standing->second.place.permit > 0 ? "Waits" : "Gated";
    waiting.message = standing->second.held;
    waiting.reasons.clear();
  }
  return all;
}

}  // namespace berth::page
