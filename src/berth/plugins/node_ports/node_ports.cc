// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_ports/node_ports.h"

#include <algorithm>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::HostPort;

bool HasConflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& used) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& a) {
    return std::any_of(used.begin(), used.end(), [&](const HostPort& b) { return framework::HostPortsConflict(a, b); });
  });
}

QueueingHint AfterPodDeletion(const PodInfo& pod, const EventObjects& event) {
  if (event.old_pod == nullptr) return QueueingHint::kQueue;
  return QueueIf(WasAssignedOrNominated(*event.old_pod) &&
                 HasConflict(pod.pod_class->host_ports, event.old_pod->pod_class->host_ports));
}

class NodePorts final : public PreFilterPlugin, public FastFilter, public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't have free ports for the requested pod ports";

  std::string_view Name() const override { return names::kNodePorts; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle&, const PodInfo& pod) const override {
    return {pod.pod_class->host_ports.empty() ? Status::Skip() : Status::Success(), std::nullopt};
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    if (!HasConflict(pod.pod_class->host_ports, node.used_ports())) return Status::Success();
    return Status::Unschedulable(std::string(kReason));
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const std::vector<HostPort>& wanted = pod.pod_class->host_ports;
    if (wanted.empty()) return;
    const auto& pod_count = cycle.table.columns().pod_count;
    CachedRefusal refusal(statuses, Code::kUnschedulable, kReason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk || pod_count[row] == 0) continue;
      if (HasConflict(wanted, cycle.nodes.Info(row).used_ports())) verdicts[row] = refusal.Get();
    }
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {OfClass(OnPod(kDelete, AfterPodDeletion)), OnNode(kAdd)};
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodePorts() { return std::make_unique<NodePorts>(); }

}  // namespace berth::plugins
