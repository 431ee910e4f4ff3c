// SPDX-License-Identifier: Apache-2.0
// CheaperNode: pods that would cost less elsewhere, by the prices that nodes' annotations have, as BestPrice reads
// them. A pod costs the part of its node's price that it takes of the node, by the resource of which it takes most. See
// strategy_run.h and violations.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "berth/rebalance/strategy_run.h"
#include "berth/rebalance/violations.h"

namespace berth::rebalance {

// What pods cost an hour, in units of the cluster's currency.
class NodePrices {
 public:
  NodePrices(const CheaperNodeArgs& args, const ClusterView& view);

  bool HasPrice(NodeNumber node) const { return prices_[node].has_value(); }
  bool empty() const { return dearest_ == 0; }
  double PriceOf(NodeNumber node) const { return prices_[node].value_or(dearest_); }
  // Where the price is not known, it counts as the dearest of all.
  double CostOf(const PodView& pod, NodeNumber node) const;
  // Nodes of one kind count the same for any pod. Numbers from 0.
  std::size_t KindOf(NodeNumber node) const { return kinds_[node]; }
  // One node of each kind of those that take pods.
  const std::vector<NodeNumber>& examples() const { return examples_; }

 private:
  const ClusterView& view_;
  std::vector<std::optional<double>> prices_;
  double dearest_ = 0;
  std::vector<std::size_t> kinds_;  // by node
  std::vector<NodeNumber> examples_;
};

// Whether it pays to move from a node where the pod costs `from` to one where it costs `to`.
bool PaysOff(const CheaperNodeArgs& args, double from, double to);

void Run(const CheaperNodeArgs& args, const StrategyRun& run);
// What all pods cost together.
std::unique_ptr<Violation> MakeViolation(const CheaperNodeArgs& args, const ClusterView& view);

}  // namespace berth::rebalance
