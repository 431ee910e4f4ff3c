// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/taint_toleration/taint_toleration.h"

#include <algorithm>

#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/tolerations.h"

namespace berth::plugins {
namespace {

using framework::Status;

std::int64_t CountUntoleratedSoftTaints(const std::vector<api::Taint>& taints,
                                        const std::vector<api::Toleration>& tolerations) {
  return std::count_if(taints.begin(), taints.end(), [&](const api::Taint& taint) {
    return taint.effect == api::TaintEffect::kPreferNoSchedule && !Tolerates(tolerations, taint);
  });
}

// Many nodes share few taint lists: an answer for each list is found once a call. Works for the whole column as for the
// single row of an update.
template <typename Value, typename Compute>
class PerTaintSet {
 public:
  PerTaintSet(const framework::NodeTable& nodes, Compute compute) : nodes_(nodes), compute_(std::move(compute)) {}

  Value Get(std::uint32_t set) {
    if (set == last_set_) return last_value_;
    if (known_.empty()) {
      known_.resize(nodes_.taint_set_count());
      values_.resize(nodes_.taint_set_count());
    }
    if (!known_[set]) {
      known_[set] = true;
      values_[set] = compute_(nodes_.TaintSet(set));
    }
    last_set_ = set;
    return last_value_ = values_[set];
  }

 private:
  const framework::NodeTable& nodes_;
  Compute compute_;
  std::vector<bool> known_;
  std::vector<Value> values_;
  std::uint32_t last_set_ = UINT32_MAX;
  Value last_value_{};
};

framework::QueueingHint AfterNodeChange(const framework::PodInfo& pod, const framework::EventObjects& event) {
  if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
  const auto& tolerations = pod.spec().tolerations;
  const bool was_refused = event.old_node == nullptr || HasUntoleratedHardTaint(event.old_node->taints, tolerations);
  return QueueIf(was_refused && !HasUntoleratedHardTaint(event.new_node->taints, tolerations));
}

}  // namespace

Status TaintToleration::Filter(const framework::Cycle&, const framework::PodInfo& pod,
                               const framework::NodeInfo& node) const {
  if (!HasUntoleratedHardTaint(node.node().taints, pod.spec().tolerations)) return Status::Success();
  return Status::UnschedulableAndUnresolvable(std::string(kReason));
}

void TaintToleration::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                 std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                                 framework::StatusTable& statuses) const {
  if (cycle.table.columns().tainted_count == 0) return;
  const auto& taint_set = cycle.table.columns().taint_set;
  const auto& tolerations = pod.spec().tolerations;
  const auto is_refused = [&](const std::vector<api::Taint>& taints) -> std::uint8_t {
    return HasUntoleratedHardTaint(taints, tolerations) ? 1 : 0;
  };
  PerTaintSet<std::uint8_t, decltype(is_refused)> refused(cycle.table, is_refused);
  CachedRefusal refusal(statuses, framework::Code::kUnschedulableAndUnresolvable, kReason);
  for (const framework::NodeIndex row : rows) {
    if (taint_set[row] == 0 || verdicts[row] != framework::kVerdictOk) continue;
    if (refused.Get(taint_set[row]) != 0) verdicts[row] = refusal.Get();
  }
}

std::int64_t TaintToleration::Score(const framework::Cycle&, const framework::PodInfo& pod, framework::NodeIndex,
                                    const framework::NodeInfo& node, Status&) const {
  return CountUntoleratedSoftTaints(node.node().taints, pod.spec().tolerations);
}

void TaintToleration::ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                                Status&) const {
  if (cycle.table.columns().tainted_count == 0) return framework::FillRows<std::int64_t>(rows, scores, 0);
  const auto& taint_set = cycle.table.columns().taint_set;
  const auto& tolerations = pod.spec().tolerations;
  const auto count = [&](const std::vector<api::Taint>& taints) {
    return CountUntoleratedSoftTaints(taints, tolerations);
  };
  PerTaintSet<std::int64_t, decltype(count)> counts(cycle.table, count);
  for (const framework::NodeIndex row : rows) scores[row] = taint_set[row] == 0 ? 0 : counts.Get(taint_set[row]);
}

std::vector<framework::ClusterEventWithHint> TaintToleration::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(OnNode(kAdd | kUpdateNodeTaint, AfterNodeChange)),
          OnPod(kUpdatePodToleration, [](const framework::PodInfo& pod, const framework::EventObjects& event) {
            return QueueIf(IsOwnUpdate(pod, event));
          })};
}

}  // namespace berth::plugins
