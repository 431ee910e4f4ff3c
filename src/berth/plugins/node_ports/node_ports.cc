// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_ports/node_ports.h"

#include <algorithm>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::HostPort;
using framework::Status;

bool HasConflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& used) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& a) {
    return std::any_of(used.begin(), used.end(), [&](const HostPort& b) { return framework::HostPortsConflict(a, b); });
  });
}

framework::QueueingHint AfterPodDeletion(const framework::PodInfo& pod, const framework::EventObjects& event) {
  if (event.old_pod == nullptr) return framework::QueueingHint::kQueue;
  return QueueIf(WasAssignedOrNominated(*event.old_pod) &&
                 HasConflict(pod.pod_class->host_ports, event.old_pod->pod_class->host_ports));
}

}  // namespace

framework::PreFilterResult NodePorts::PreFilter(const framework::Cycle&, const framework::PodInfo& pod) const {
  return {pod.pod_class->host_ports.empty() ? Status::Skip() : Status::Success(), std::nullopt};
}

Status NodePorts::Filter(const framework::Cycle&, const framework::PodInfo& pod,
                         const framework::NodeInfo& node) const {
  if (!HasConflict(pod.pod_class->host_ports, node.used_ports())) return Status::Success();
  return Status::Unschedulable(std::string(kReason));
}

void NodePorts::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                           framework::StatusTable& statuses) const {
  const std::vector<HostPort>& wanted = pod.pod_class->host_ports;
  if (wanted.empty()) return;
  const auto& pod_count = cycle.table.columns().pod_count;
  CachedRefusal refusal(statuses, framework::Code::kUnschedulable, kReason);
  for (const framework::NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk || pod_count[row] == 0) continue;
    if (HasConflict(wanted, cycle.nodes.Info(row).used_ports())) verdicts[row] = refusal.Get();
  }
}

std::vector<framework::ClusterEventWithHint> NodePorts::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(OnPod(kDelete, AfterPodDeletion)), OnNode(kAdd)};
}

}  // namespace berth::plugins
