// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_name/node_name.h"

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

class NodeName final : public FastFilter, public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match the requested node name";

  std::string_view Name() const override { return names::kNodeName; }
  bool ReadsPlacementOnly() const override { return true; }

  // A node's name never changes. Pods that name a node have one already and so are not scheduled: the answer about the
  // pods of a class is always the same.
  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    if (pod.node_name.empty() || pod.node_name == node.name()) return Status::Success();
    return Status::UnschedulableAndUnresolvable(std::string(kReason));
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    if (pod.node_name.empty()) return;
    const NodeIndex wanted = cycle.nodes.Find(pod.node_name);
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, kReason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] == kVerdictOk && row != wanted) verdicts[row] = refusal.Get();
    }
  }

  bool RefusesNone(const Cycle&, const PodInfo& pod) const override { return pod.node_name.empty(); }

  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {OnNode(framework::action::kAdd)}; }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeName() { return std::make_unique<NodeName>(); }

}  // namespace berth::plugins
