// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_unschedulable/node_unschedulable.h"

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/tolerations.h"

namespace berth::plugins {
namespace {

using framework::Status;

bool ToleratesCordon(const framework::PodInfo& pod) {
  static const api::Taint kTaint{"node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule};
  return Tolerates(pod.spec().tolerations, kTaint);
}

framework::QueueingHint AfterNodeChange(const framework::PodInfo&, const framework::EventObjects& event) {
  if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
  const bool was_schedulable = event.old_node != nullptr && !event.old_node->unschedulable;
  return QueueIf(!was_schedulable && !event.new_node->unschedulable);
}

framework::QueueingHint AfterTolerationChange(const framework::PodInfo& pod, const framework::EventObjects& event) {
  return QueueIf(IsOwnUpdate(pod, event) && ToleratesCordon(*event.new_pod));
}

}  // namespace

Status NodeUnschedulable::Filter(const framework::Cycle&, const framework::PodInfo& pod,
                                 const framework::NodeInfo& node) const {
  if (!node.node().unschedulable || ToleratesCordon(pod)) return Status::Success();
  return Status::UnschedulableAndUnresolvable(std::string(kReason));
}

bool NodeUnschedulable::RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
  return cycle.table.columns().unschedulable_count == 0 || ToleratesCordon(pod);
}

void NodeUnschedulable::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                                   framework::StatusTable& statuses) const {
  if (RefusesNone(cycle, pod)) return;
  const auto& is_unschedulable = cycle.table.columns().is_unschedulable;
  CachedRefusal refusal(statuses, framework::Code::kUnschedulableAndUnresolvable, kReason);
  for (const framework::NodeIndex row : rows) {
    if (verdicts[row] == framework::kVerdictOk && is_unschedulable[row] != 0) verdicts[row] = refusal.Get();
  }
}

std::vector<framework::ClusterEventWithHint> NodeUnschedulable::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(OnNode(kAdd | kUpdateNodeTaint, AfterNodeChange)),
          OnPod(kUpdatePodToleration, AfterTolerationChange)};
}

}  // namespace berth::plugins
