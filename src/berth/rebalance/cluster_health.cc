// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cluster_health.h"

#include <algorithm>
#include <string>

namespace berth::rebalance {
namespace {

std::string Counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

std::size_t OneInAHundred(std::size_t count, std::size_t at_least) { return std::max(count / 100, at_least); }

}  // namespace

bool IsReady(const api::Node& node) {
  return std::ranges::none_of(node.conditions,
                              [](const auto& each) { return each.first == "Ready" && each.second != "True"; });
}

Hold WhyUnwell(const whatif::ClusterState& state, const HealthLimits& limits) {
  for (const std::string& line : state.left_out) {
    if (line.find(": forbidden: ") != std::string::npos) return {"unreadable", "no proof would hold: " + line};
  }
  std::size_t not_ready = 0;
  const std::string* one = nullptr;
  for (const auto& node : state.nodes) {
    if (IsReady(*node)) continue;
    ++not_ready;
    if (one == nullptr) one = &node->metadata.name;
  }
  const std::size_t not_ready_max = limits.not_ready_max.value_or(OneInAHundred(state.nodes.size(), 1));
  if (not_ready > not_ready_max) {
    return {"nodes_not_ready", Counted(not_ready, "node is", "nodes are") + " not ready, " + *one +
                                   " for one: more than " + std::to_string(not_ready_max) + " (--not-ready-max)"};
  }
  std::size_t pending = 0;
  const api::Pod* pod = nullptr;
  for (const auto& each : state.pods) {
    const bool is_pending =
        each->spec.node_name.empty() && each->spec.scheduling_gates.empty() && !each->metadata.deletion_time;
    if (!is_pending) continue;
    ++pending;
    if (pod == nullptr) pod = each.get();
  }
  const std::size_t pending_max = limits.pending_max.value_or(OneInAHundred(state.pods.size(), 10));
  if (pending > pending_max) {
    return {"pods_pending", Counted(pending, "pod is", "pods are") + " pending, " + pod->metadata.namespace_name + "/" +
                                pod->metadata.name + " for one: more than " + std::to_string(pending_max) +
                                " (--pending-max)"};
  }
  return {};
}

}  // namespace berth::rebalance
