// SPDX-License-Identifier: Apache-2.0
// MoveProver: whether a pod's replacement would go to a node where the policy is better served, with all earlier moves
// made: the scheduler's core is asked on the overlay. Private to this folder; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/scheduler/overlay.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/utilization.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

// What Prove() found.
struct ProvedMove {
  std::string why_not;  // empty: the replacement is on `to`, on the overlay
  bool fits_nowhere = false;
  NodeNumber to = 0;
  std::vector<std::string> ties;       // as good for the scheduler; one more than kTiesMax when there are more
  std::vector<ViolationChange> gains;  // that no violation knows of
};

class MoveProver {
 public:
  // All but the overlay must outlive it. `chooses_target`: see PlanOptions.
  MoveProver(std::unique_ptr<scheduler::Overlay> overlay, const ClusterView& view, const Violations& violations,
             bool chooses_target);

  // Moves the pod on the overlay; where that is not good, the caller takes it back.
  ProvedMove Prove(const Objection& objection, Violations::Wants wants);
  // Cordons the node: no further pod is placed there.
  void Cordon(NodeNumber node);

  scheduler::Overlay::Mark mark() const { return overlay_->mark(); }
  void UndoTo(scheduler::Overlay::Mark mark) { overlay_->UndoTo(mark); }
  // Is called when the view has changed: what was known of how full nodes are is outdated.
  void OnViewChanged() { grouped_by_ = nullptr; }

 private:
  ProvedMove ProveOfScheduler(const Objection& objection, const framework::PodInfoPtr& replacement,
                              Violations::Wants wants);
  ProvedMove ProveOfOurs(const Objection& objection, const framework::PodInfoPtr& replacement, Violations::Wants wants);
  bool TryWanted(const Objection& objection, const framework::PodInfoPtr& replacement, Violations::Wants wants,
                 ProvedMove& proved);
  std::string WhyNoGain(const BetterScoreArgs& args, const PodView& pod, const runtime::Outcome& outcome,
                        framework::NodeIndex row, ProvedMove& proved) const;
  ProvedMove Nowhere(const framework::PodInfoPtr& replacement);
  void Place(const framework::PodInfoPtr& replacement, framework::NodeIndex row, ProvedMove& proved);
  std::string WhyNotThere(const Objection& objection, framework::NodeIndex row, Violations::Wants wants);
  // Why the node would be no better, in a few words, for SaidOf().
  std::string WhyNoBetter(const Objection& objection, framework::NodeIndex row, Violations::Wants wants);
  std::string SaidOf(const Objection& objection, framework::NodeIndex row, const std::string& why) const;
  bool IsBack(const Objection& objection, NodeNumber to) const;
  bool IsNodeMended(const Objection& objection);
  std::string WhyNotTarget(const StrategyArgs& strategy, const PodView& pod, NodeNumber to);
  NodeNumber NodeOf(framework::NodeIndex row) const { return node_of_row_[row]; }
  template <typename Args>
  const UtilizationGroups& GroupsOf(const StrategyArgs& strategy, const Args& args);

  const std::unique_ptr<scheduler::Overlay> overlay_;
  const ClusterView& view_;
  const Violations& violations_;
  const bool chooses_target_;
  std::vector<NodeNumber> node_of_row_;
  std::uint64_t seed_ = 0;
  UtilizationGroups groups_;
  const StrategyArgs* grouped_by_ = nullptr;  // that groups_ is of; null: the view has changed since
};

// Strategies that object to the pod itself: a new one in its place is as good as elsewhere.
bool IsAboutPod(const StrategyArgs& strategy);

}  // namespace berth::rebalance
