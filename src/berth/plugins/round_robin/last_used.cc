// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/round_robin/last_used.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace berth::plugins {
namespace {

using framework::PodInfo;
using Seconds = std::chrono::time_point<Time::clock, std::chrono::seconds>;

std::string_view SchedulerName(const PodInfo& pod) {
  const std::string& name = pod.spec().scheduler_name;
  return name.empty() ? api::kDefaultSchedulerName : std::string_view(name);
}

bool IsForOneNode(const PodInfo& pod) {
  const auto& controller = pod.pod_class->controller;
  return controller && (controller->kind == "DaemonSet" || controller->kind == "Node");
}

}  // namespace

std::optional<std::size_t> EndOfTurns(std::span<const std::uint32_t> counts) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) used.push_back(i);
  }
  if (used.empty()) return std::nullopt;
  const auto next = [&](std::size_t u) { return used[(u + 1) % used.size()]; };
  const bool are_equal =
      std::all_of(used.begin(), used.end(), [&](std::size_t i) { return counts[i] == counts[used[0]]; });
  // Nodes that nobody may use lie in between: only those that were used are compared.
  std::size_t end = used.size() - 1;
  std::size_t largest = 0;
  for (std::size_t u = 0; u < used.size(); ++u) {
    const std::size_t here = used[u];
    std::size_t step = counts[here] > counts[next(u)] ? counts[here] - counts[next(u)] : 0;
    if (are_equal) step = next(u) > here ? next(u) - here : next(u) + counts.size() - here;
    if (step < largest) continue;
    largest = step;
    end = u;
  }
  return used[end];
}

std::optional<std::size_t> LastUsed(const NameRing& ring, const framework::NodeTable& nodes,
                                    std::string_view scheduler_name) {
  std::vector<std::uint32_t> counts(ring.size());
  std::optional<Seconds> newest;
  for (std::size_t position = 0; position < ring.size(); ++position) {
    for (const framework::PodInfoPtr& pod : nodes.Info(ring.RowAt(position)).pods()) {
      if (!pod->creation_time || IsForOneNode(*pod) || SchedulerName(*pod) != scheduler_name) continue;
      const Seconds created = std::chrono::floor<std::chrono::seconds>(*pod->creation_time);
      if (newest && created < *newest) continue;
      if (newest && created > *newest) std::fill(counts.begin(), counts.end(), 0);
      newest = created;
      ++counts[position];
    }
  }
  return EndOfTurns(counts);
}

}  // namespace berth::plugins
