// SPDX-License-Identifier: Apache-2.0
// ChainSearch: where a pod fits nowhere, other pods make room for it, each by a move that is no worse. A pod that
// leaves a node may itself go where a third one leaves: A goes to where B was, B to where C was, C to a free place. Or
// two leave one node. Chains that are short come first. Sizes tell which moves may help; these are proved in the order
// in which they would be made, each with those before it made, and a chain is made as a whole or not at all. Work is
// bounded by counts, so that the answer depends on the cluster alone. Private to this folder; one thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/resource.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/evictor.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/plan_draft.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

class ChainSearch {
 public:
  // Most moves of one chain, counting that of the pod that is objected to.
  static constexpr std::size_t kMovesMax = 3;
  // Proofs by the scheduler's core, of a plan and for one pod.
  static constexpr std::size_t kProofsMax = 1000;
  static constexpr std::size_t kProofsOfPodMax = 100;
  // Pods and nodes whose sizes are compared, of a plan and for one pod.
  static constexpr std::size_t kLooksMax = 4'000'000;
  static constexpr std::size_t kLooksOfPodMax = 200'000;

  // The draft must outlive it.
  ChainSearch(PlanDraft& draft, Time now) : draft_(draft), view_(draft.view()), now_(now) {}

  // True: a chain whose last move is that of the pod has been made. False: the draft is as it was.
  bool Find(const Objection& objection);
  // Whether by sizes the pod can go somewhere without a chain.
  bool HasRoom(PodNumber pod);
  // A bound was reached, so that there may be chains that were not looked at.
  bool is_cut() const { return is_cut_; }

 private:
  using Wants = Violations::Wants;
  // Pods of one controller that request the same: for sizes, they are alike.
  using ClassNumber = std::uint32_t;
  // Key of pods for which no chain was found, or which cannot move directly.
  struct Dead {
    ClassNumber pod_class;
    NodeNumber node;
    const StrategyArgs* strategy;
    auto operator<=>(const Dead&) const = default;
  };

  void ForgetOldRevision();
  // Moves the pod after exactly `others` moves of other pods.
  bool MoveAfter(const Objection& objection, Wants wants, std::size_t others);
  // Takes pods, from `first` of `leavers` on, off the node by exactly `others` moves; then moves the pod.
  bool ClearFor(const Objection& objection, Wants wants, NodeNumber node, const std::vector<PodNumber>& leavers,
                std::size_t first, std::size_t others);
  // Moves the pod that makes room, by `moves` moves including its own.
  bool MakeLeave(const Objection& link, std::size_t moves);
  bool ProveAndMake(const Objection& objection, Wants wants);

  // Pods that may be among `count` which leave the node so that what it lacks is there.
  std::vector<PodNumber> LeaversOf(NodeNumber node, const framework::Resource& lack, std::size_t count);
  bool MayLeave(const Objection& link);
  // Whether the node suits the pod, sizes aside, and the policy is better served there.
  bool IsTarget(const Objection& objection, Wants wants, NodeNumber node);
  // Whether by sizes the pod can go to a node that is not being cleared.
  bool HasPlace(PodNumber pod);
  Objection LinkOf(const Objection& objection, PodNumber other) const;
  Dead DeadOf(const Objection& objection);
  ClassNumber ClassOf(PodNumber pod);
  const Evictor& EvictorOf(const PolicyProfile& profile);
  void Look(std::size_t count = 1) { looks_of_pod_ += count; }
  bool IsSpent();

  PlanDraft& draft_;
  const ClusterView& view_;
  const Time now_;
  std::map<const PolicyProfile*, Evictor> evictors_;
  StringHashMap<ClassNumber> classes_;
  std::map<PodNumber, ClassNumber> class_of_;

  // What is known of the draft as it is before a chain is begun.
  std::uint64_t revision_ = 0;
  std::map<ClassNumber, std::vector<NodeNumber>> places_;  // as many as HasPlace() may have to skip, and one more
  std::set<Dead> hopeless_;                                // no chain was found
  std::set<Dead> stuck_;                                   // they cannot move directly

  std::vector<PodNumber> waiting_;    // pods of the chain that wait for room; the first one is objected to
  std::vector<NodeNumber> clearing_;  // the nodes on which they wait for it
  std::size_t proofs_ = 0;
  std::size_t proofs_of_pod_ = 0;
  std::size_t looks_ = 0;
  std::size_t looks_of_pod_ = 0;
  bool is_cut_ = false;
};

}  // namespace berth::rebalance
