// SPDX-License-Identifier: Apache-2.0
// PlanDraft: the moves that a plan has made so far, and all that they have changed: who is where, how well the policy
// is served, the overlay, and what budgets and limits still allow. Moves that are good only together are taken back
// together. Private to this folder; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/scheduler/overlay.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/move_prover.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/violations.h"
#include "berth/whatif/eviction_budgets.h"

namespace berth::rebalance {

// Why a pod is not moved.
struct Refusal {
  std::string why;        // empty: it may be
  std::string_view hold;  // the cause, where PlanOptions::allowance holds it
};

class PlanDraft {
 public:
  // All but the view must outlive it.
  PlanDraft(whatif::OfflineCluster& cluster, const whatif::ClusterState& state, const Policy& policy,
            const PlanOptions& options, ClusterView view);
  PlanDraft(const PlanDraft&) = delete;
  PlanDraft& operator=(const PlanDraft&) = delete;

  const ClusterView& view() const { return view_; }
  const Violations& violations() const { return violations_; }
  const std::vector<PlannedMove>& moves() const { return moves_; }
  const std::set<PodNumber>& moved() const { return moved_; }
  bool HasMoved(PodNumber pod) const { return moved_.contains(pod); }
  std::vector<PlannedMove> TakeMoves() { return std::move(moves_); }
  // Pods that are on their way out of a node which is being emptied, and are not evicted in this round.
  std::vector<StayingPod> TakeLater() { return std::move(later_); }

  // Why no plan at all can move the pod of this objection; empty: some plan could.
  std::string WhyNever(const Objection& objection) const;
  // Why this plan cannot move the pod, for causes that may be gone in another one: budgets, limits, the allowance.
  Refusal WhyNotNow(const Objection& objection) const;
  StayingPod Staying(const Objection& objection, Refusal refusal) const;

  std::size_t proof_count() const { return proof_count_; }
  // Proves a move on the overlay alone; if it is not good, the overlay is as it was.
  ProvedMove Prove(const Objection& objection, Violations::Wants wants);
  // Cordons the node: no further pod is placed there.
  void Cordon(NodeNumber node) { prover_.Cordon(node); }
  // Makes a move that has just been proved. nullopt: a finished pod, which is gone; that is not taken back.
  void Commit(const Objection& objection, std::optional<NodeNumber> to, ProvedMove proved);
  // Makes a move of a pod that is only evicted in a later round.
  void CommitForLater(const Objection& objection, NodeNumber to, Refusal not_yet);
  // Marks the last move as one of those that empty its node.
  void MarkLastAsEmptying() { moves_.back().empties = true; }

  // Marks the moves from `first` on as a chain.
  void JoinMoves(std::size_t first);
  // A number that is the same only while the same moves have been made.
  std::uint64_t revision() const { return revision_; }

  // For UndoTo().
  struct Mark {
    scheduler::Overlay::Mark overlay;
    std::size_t made_count;
    std::uint64_t revision;
  };
  Mark mark() const { return {prover_.mark(), made_.size(), revision_}; }
  // Takes back all that was done since the mark, the newest first; the cost is proportional to that.
  void UndoTo(const Mark& mark);

 private:
  struct Made {
    PodNumber pod;
    NodeNumber from;
    bool is_evicted;    // else it is among later_
    bool takes_budget;  // of a PodDisruptionBudget
  };
  std::string WhyOverNodeLimit(const Objection& objection) const;
  void MoveInView(PodNumber pod, std::optional<NodeNumber> to);

  ClusterView view_;
  Violations violations_;
  whatif::EvictionBudgets budgets_;
  EvictionCounter counter_;
  std::optional<MoveAllowance> allowance_;
  MoveProver prover_;
  std::vector<PlannedMove> moves_;
  std::vector<StayingPod> later_;
  std::vector<Made> made_;     // in order, without the removal of finished pods
  std::set<PodNumber> moved_;  // with those that are gone
  std::size_t chain_count_ = 0;
  std::size_t proof_count_ = 0;
  std::uint64_t revision_ = 0;
  std::uint64_t last_revision_ = 0;  // of all, also those that were taken back
};

}  // namespace berth::rebalance
