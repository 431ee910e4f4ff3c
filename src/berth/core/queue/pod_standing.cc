// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/pod_standing.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "berth/core/queue/pod_group_queue.h"

namespace berth::queue {

using framework::PodInfo;

PodStanding StandingOf(const Entry& pod, const Rejectors& rejectors) {
  if (pod.place == kPending) return {.pod = pod.info.pod, .place = Place::kInFlight, .timestamp = pod.info.timestamp};
  if (pod.place == kIncomplete) {
    return {.pod = pod.info.pod,
            .place = Place::kGated,
            .timestamp = pod.info.timestamp,
            .gating_plugin = "PodGroup",
            .gating_message = "waiting for PodGroup " + pod.info.pod->pod_group_name + ", or a group that it is in",
            .lacks_pod_group = true};
  }
  const Entry& entry = pod.place == kInGroup ? *pod.group->entry : pod;
  PodStanding standing{.pod = pod.info.pod, .place = entry.place, .timestamp = entry.info.timestamp};
  if (entry.place == Place::kBackoff || entry.place == Place::kErrorBackoff)
    standing.backoff_expiration = entry.backoff_expiration;
  const RejectorSet* const set = entry.rejector_set;
  if (set == nullptr) return standing;
  for (const PluginId id : set->unschedulable) standing.unschedulable_plugins.push_back(rejectors.PluginName(id));
  for (const PluginId id : set->pending) standing.pending_plugins.push_back(rejectors.PluginName(id));
  std::ranges::sort(standing.unschedulable_plugins);
  std::ranges::sort(standing.pending_plugins);
  if (set->is_gated()) {
    standing.gating_plugin = rejectors.PluginName(set->gating);
    standing.gating_message = entry.gate.Message();
  }
  return standing;
}

std::vector<PodStanding> StandingsOf(const EntryIndex<ByUid>& pods, const PodRange& range, const Rejectors& rejectors) {
  const auto key = [](const Entry* entry) {
    const PodInfo& pod = *entry->info.pod;
    return std::tuple_cat(ByName::KeyOf(pod), std::tuple(std::string_view(pod.uid)));
  };
  const bool is_all = range.after_namespace.empty() && range.after_name.empty();
  const ByName::Key after(range.after_namespace, range.after_name);
  std::vector<const Entry*> entries;
  for (const auto& slot : pods) {
    if (is_all || ByName::KeyOf(*slot.entry->info.pod) > after) entries.push_back(slot.entry);
  }
  const std::size_t count = std::min(entries.size(), range.count_max);
  std::ranges::partial_sort(entries, entries.begin() + static_cast<std::ptrdiff_t>(count), {}, key);
  entries.resize(count);
  std::vector<PodStanding> standings;
  for (const Entry* entry : entries) standings.push_back(StandingOf(*entry, rejectors));
  return standings;
}

}  // namespace berth::queue
