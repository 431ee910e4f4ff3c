// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/taint_toleration/taint_toleration.h"

#include <algorithm>

#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

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
  PerTaintSet(const NodeTable& nodes, Compute compute) : nodes_(nodes), compute_(std::move(compute)) {}

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
  const NodeTable& nodes_;
  Compute compute_;
  std::vector<bool> known_;
  std::vector<Value> values_;
  std::uint32_t last_set_ = UINT32_MAX;
  Value last_value_{};
};

QueueingHint AfterNodeChange(const PodInfo& pod, const EventObjects& event) {
  if (event.new_node == nullptr) return QueueingHint::kQueue;
  const auto& tolerations = pod.spec().tolerations;
  const bool was_refused = event.old_node == nullptr || HasUntoleratedHardTaint(event.old_node->taints, tolerations);
  return QueueIf(was_refused && !HasUntoleratedHardTaint(event.new_node->taints, tolerations));
}

class TaintToleration final : public FastFilter, public PreScorePlugin, public FastScore, public EnqueueExtensions {
 public:
  // Since 1.36 without the taint's name.
  static constexpr std::string_view kReason = "node(s) had untolerated taint(s)";

  std::string_view Name() const override { return names::kTaintToleration; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    if (!HasUntoleratedHardTaint(node.node().taints, pod.spec().tolerations)) return Status::Success();
    return Status::UnschedulableAndUnresolvable(std::string(kReason));
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    if (cycle.table.columns().tainted_count == 0) return;
    const auto& taint_set = cycle.table.columns().taint_set;
    const auto& tolerations = pod.spec().tolerations;
    const auto is_refused = [&](const std::vector<api::Taint>& taints) -> std::uint8_t {
      return HasUntoleratedHardTaint(taints, tolerations) ? 1 : 0;
    };
    PerTaintSet<std::uint8_t, decltype(is_refused)> refused(cycle.table, is_refused);
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, kReason);
    for (const NodeIndex row : rows) {
      if (taint_set[row] == 0 || verdicts[row] != kVerdictOk) continue;
      if (refused.Get(taint_set[row]) != 0) verdicts[row] = refusal.Get();
    }
  }

  bool RefusesNone(const Cycle& cycle, const PodInfo&) const override {
    return cycle.table.columns().tainted_count == 0;
  }

  // Never skips: without taints every node scores 100.
  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  Status PreScore(const Cycle&, const PodInfo&, std::span<const NodeIndex>) const override { return {}; }
  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  Normalization ScoreNormalization() const override { return Normalization::kMaxReverse; }
  std::int64_t Score(const Cycle&, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    return CountUntoleratedSoftTaints(node.node().taints, pod.spec().tolerations);
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    if (cycle.table.columns().tainted_count == 0) return framework::FillRows<std::int64_t>(rows, scores, 0);
    const auto& taint_set = cycle.table.columns().taint_set;
    const auto& tolerations = pod.spec().tolerations;
    const auto count = [&](const std::vector<api::Taint>& taints) {
      return CountUntoleratedSoftTaints(taints, tolerations);
    };
    PerTaintSet<std::int64_t, decltype(count)> counts(cycle.table, count);
    for (const NodeIndex row : rows) scores[row] = taint_set[row] == 0 ? 0 : counts.Get(taint_set[row]);
  }

  std::optional<std::int64_t> ScoreOfAll(const Cycle& cycle, const PodInfo&) const override {
    return cycle.table.columns().tainted_count == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {OfClass(OnNode(kAdd | kUpdateNodeTaint, AfterNodeChange)),
            OnPod(kUpdatePodToleration,
                  [](const PodInfo& pod, const EventObjects& event) { return QueueIf(IsOwnUpdate(pod, event)); })};
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateTaintToleration() { return std::make_unique<TaintToleration>(); }

}  // namespace berth::plugins
