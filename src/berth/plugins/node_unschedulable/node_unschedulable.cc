// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_unschedulable/node_unschedulable.h"

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

bool ToleratesCordon(const PodInfo& pod) {
  static const api::Taint kTaint{"node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule};
  return Tolerates(pod.spec().tolerations, kTaint);
}

QueueingHint AfterNodeChange(const PodInfo&, const EventObjects& event) {
  if (event.new_node == nullptr) return QueueingHint::kQueue;
  const bool was_schedulable = event.old_node != nullptr && !event.old_node->unschedulable;
  return QueueIf(!was_schedulable && !event.new_node->unschedulable);
}

QueueingHint AfterTolerationChange(const PodInfo& pod, const EventObjects& event) {
  return QueueIf(IsOwnUpdate(pod, event) && ToleratesCordon(*event.new_pod));
}

class NodeUnschedulable final : public FastFilter, public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) were unschedulable";

  std::string_view Name() const override { return names::kNodeUnschedulable; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    if (!node.node().unschedulable || ToleratesCordon(pod)) return Status::Success();
    return Status::UnschedulableAndUnresolvable(std::string(kReason));
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    if (RefusesNone(cycle, pod)) return;
    const auto& is_unschedulable = cycle.table.columns().is_unschedulable;
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, kReason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] == kVerdictOk && is_unschedulable[row] != 0) verdicts[row] = refusal.Get();
    }
  }

  bool RefusesNone(const Cycle& cycle, const PodInfo& pod) const override {
    return cycle.table.columns().unschedulable_count == 0 || ToleratesCordon(pod);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {OfClass(OnNode(kAdd | kUpdateNodeTaint, AfterNodeChange)),
            OnPod(kUpdatePodToleration, AfterTolerationChange)};
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeUnschedulable() { return std::make_unique<NodeUnschedulable>(); }

}  // namespace berth::plugins
