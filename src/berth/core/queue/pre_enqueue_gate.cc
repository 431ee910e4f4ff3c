// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/pre_enqueue_gate.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "berth/base/log.h"
#include "berth/core/queue/pod_group_queue.h"
#include "berth/framework/guarded.h"

namespace berth::queue {

using framework::PodInfo;
using framework::Status;

namespace {

Status Call(const framework::PreEnqueuePlugin& plugin, const PodInfo& pod) {
  Status status = framework::Guarded([&] { return plugin.PreEnqueue(pod); });
  if (status.code() == framework::Code::kError) {
    log::Warning("queue", "A PreEnqueue plugin fails: the pod is held back",
                 {{"plugin", plugin.Name()}, {"pod", pod.Key()}, {"error", status.Message()}});
  }
  return status;
}

}  // namespace

bool PreEnqueueGate::Admits(Entry* entry) {
  if (entry->profile == nullptr || entry->profile->hooks.pre_enqueue.empty()) return Ask(entry);
  const Time began = metrics_.BeginPreEnqueue();
  const bool admits = Ask(entry);
  metrics_.ObservePreEnqueue(*entry->profile, *entry->info.pod, admits ? framework::Code::kSuccess : entry->gate.code(),
                             began);
  return admits;
}

bool PreEnqueueGate::Ask(Entry* entry) {
  if (entry->group != nullptr) return AdmitsAll(entry, entry->group->members);
  return AdmitsAll(entry, {&entry, 1});
}

// The plugin that gated the pod last time is called first.
bool PreEnqueueGate::AdmitsAll(Entry* entry, std::span<Entry* const> pods) {
  const PluginId gating = entry->rejector_set == nullptr ? kNoPlugin : entry->rejector_set->gating;
  const auto is_refused_by = [&](const Entry& pod, std::size_t i) {
    Status status = Call(*pod.profile->hooks.pre_enqueue[i], *pod.info.pod);
    if (status.IsSuccess()) return false;
    records_.SetRejectors(entry,
                          rejectors_.WithGate(pod.profile, entry->rejector_set, pod.profile->pre_enqueue_ids[i]));
    entry->gate = std::move(status);
    return true;
  };
  for (const bool asks_gating : {true, false}) {
    if (asks_gating && gating == kNoPlugin) continue;
    for (const Entry* const pod : pods) {
      if (pod->profile == nullptr) continue;
      const auto& ids = pod->profile->pre_enqueue_ids;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if ((ids[i] == gating) == asks_gating && is_refused_by(*pod, i)) return false;
      }
    }
  }
  if (gating != kNoPlugin) {
    records_.SetRejectors(entry, rejectors_.WithGate(entry->profile, entry->rejector_set, kNoPlugin));
    entry->gate = Status();
  }
  return true;
}

bool PreEnqueueGate::IsHeldBy(const Entry& member, const Entry& group) {
  if (member.profile == nullptr) return false;
  const auto& ids = member.profile->pre_enqueue_ids;
  const auto gating = std::ranges::find(ids, group.rejector_set->gating);
  if (gating == ids.end()) return false;
  const auto& plugin = *member.profile->hooks.pre_enqueue[static_cast<std::size_t>(gating - ids.begin())];
  return !Call(plugin, *member.info.pod).IsSuccess();
}

}  // namespace berth::queue
