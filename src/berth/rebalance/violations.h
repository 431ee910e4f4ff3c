// SPDX-License-Identifier: Apache-2.0
// What each strategy wants less of, as a number that a move changes: pods on nodes that do not suit them, squares of
// how many pods of an owner or of a spread constraint are together, imbalance, nodes in use. The numbers of a policy's
// strategies are one vector: first what is violated, then what is paid for, then balance, and within these in the order
// in which the strategies run. A plan makes only moves after which it is smaller, compared from its beginning. So plans
// come to an end, whatever the strategies want. The numbers depend on where pods are and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/measurements.h"
#include "berth/rebalance/policy.h"
#include "berth/rebalance/spread.h"

namespace berth::rebalance {

// --- What strategies and violations both ask -------------------------------------------------------------------------

// The first taint of the node that the strategy looks at and the pod does not tolerate; null: none.
const api::Taint* UntoleratedTaint(const NodeTaintsArgs& args, const api::Pod& pod, const api::Node& node);

// Whether the pod counts among the pods of its owners.
bool IsDuplicable(const RemoveDuplicatesArgs& args, const PodView& pod);
// Pods of one key are to be spread over nodes.
std::string DuplicateKey(const PodView& pod, const api::OwnerReference& owner);
// Pods of one node that have the same are duplicates.
std::vector<std::string> DuplicateSignature(const PodView& pod);

// Pods of the node that a plan could move: not finished, not bound to it, and not about to leave it by themselves,
// since they are being deleted.
std::size_t CountMovable(const ClusterView& view, NodeNumber node);

// --- Violations ------------------------------------------------------------------------------------------------------

// How a move changes the number of one strategy.
struct ViolationChange {
  const StrategyArgs* strategy = nullptr;
  double change = 0;  // below 0: better
  std::string text;   // "node-1 3 to 2, node-2 0 to 1"; empty: the number tells it all
};

// The number of one strategy.
class Violation {
 public:
  virtual ~Violation() = default;
  // The change of the number if the pod's replacement were on the node instead of where the pod is.
  virtual double ChangeOf(const PodView& pod, NodeNumber to) const = 0;
  // What the strategy asks of a node beside being better; empty: nothing speaks against it.
  virtual std::string WhyNotTarget(const PodView& /*pod*/, NodeNumber /*to*/) const { return {}; }
  // The change in words; empty: there are none.
  virtual std::string Describe(const PodView& /*pod*/, NodeNumber /*to*/) const { return {}; }
  // Is called before the pod moves there.
  virtual void OnMove(const PodView& /*pod*/, NodeNumber /*to*/) {}
};

// Two changes that are nearer to each other are the same.
inline constexpr double kViolationPrecision = 1e-9;

class Violations {
 public:
  // All must outlive it. `nodes` are those that the policy looks at.
  Violations(const Policy& policy, const ClusterView& view, std::vector<NodeNumber> nodes, Time now,
             const Measurements* measurements);

  // The changes of all strategies for which the move changes something, in the order of the vector.
  std::vector<ViolationChange> ChangesOf(const PodView& pod, NodeNumber to) const;
  // What a move must be for its strategy. kNoWorse: it is one of several that are better together.
  enum class Wants : std::uint8_t { kBetter, kNoWorse };
  // Why the move would not be better for `strategy` and no worse for those before it; empty: it is.
  std::string WhyWorse(const StrategyArgs& strategy, const PodView& pod, NodeNumber to,
                       Wants wants = Wants::kBetter) const;
  void Move(const PodView& pod, NodeNumber to);

  const std::vector<NodeNumber>& nodes() const { return nodes_; }

 private:
  struct Entry {
    const StrategyArgs* strategy;
    std::unique_ptr<Violation> violation;
  };

  std::vector<NodeNumber> nodes_;
  std::vector<Entry> entries_;
};

}  // namespace berth::rebalance
