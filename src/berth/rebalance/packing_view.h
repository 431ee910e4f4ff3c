// SPDX-License-Identifier: Apache-2.0
// PackingView: the nodes and pods that a strategy looks at, as a packing problem (packing.h). Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/rebalance/packing.h"
#include "berth/rebalance/strategy_run.h"

namespace berth::rebalance {

class PackingView {
 public:
  // All of the run's nodes are bins that may be emptied and may receive; pods that neither come nor go with their node
  // are items, which may move if the plan could move them. `run` must outlive it.
  explicit PackingView(const StrategyRun& run);
  PackingView(const PackingView&) = delete;
  PackingView& operator=(const PackingView&) = delete;

  PackingProblem& problem() { return problem_; }
  const PackingProblem& problem() const { return problem_; }
  NodeNumber NodeOf(std::size_t bin) const { return run_.nodes[bin]; }
  PodNumber PodOf(std::size_t item) const { return pods_[item]; }

 private:
  void AddNode(NodeNumber number);
  bool IsAllowed(std::size_t item, std::size_t bin) const;
  template <typename Amount>
  PackingSize SizeOf(Amount amount) const;

  const StrategyRun& run_;
  const std::vector<std::string> resources_;
  PackingProblem problem_;
  std::vector<PodNumber> pods_;  // by item
};

}  // namespace berth::rebalance
