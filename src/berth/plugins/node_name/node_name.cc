// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_name/node_name.h"

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {

using framework::Status;

Status NodeName::Filter(const framework::Cycle&, const framework::PodInfo& pod, const framework::NodeInfo& node) const {
  if (pod.node_name.empty() || pod.node_name == node.name()) return Status::Success();
  return Status::UnschedulableAndUnresolvable(std::string(kReason));
}

void NodeName::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                          std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                          framework::StatusTable& statuses) const {
  if (pod.node_name.empty()) return;
  const framework::NodeIndex wanted = cycle.nodes.Find(pod.node_name);
  CachedRefusal refusal(statuses, framework::Code::kUnschedulableAndUnresolvable, kReason);
  for (const framework::NodeIndex row : rows) {
    if (verdicts[row] == framework::kVerdictOk && row != wanted) verdicts[row] = refusal.Get();
  }
}

std::vector<framework::ClusterEventWithHint> NodeName::EventsToRegister() const {
  return {OnNode(framework::action::kAdd)};
}

}  // namespace berth::plugins
