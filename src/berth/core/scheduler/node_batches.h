// SPDX-License-Identifier: Apache-2.0
// NodeBatches: splits the feasible nodes of a cycle into the batches about which extenders are asked, best nodes first
// (docs/plugins/extenders.md). A plain value; within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::scheduler {

// Smallest batch, unless fewer nodes are feasible.
inline constexpr std::size_t kNodeBatchMin = 100;

// The number of feasible nodes to look for in a cluster of this size: upstream's numFeasibleNodesToFind
// (pkg/scheduler/schedule_one.go, v1.36.3). `percentage` is percentageOfNodesToScore, 0 to 100. 0 stands for 50 minus
// one for each 125 nodes, but at least 5.
std::size_t FeasibleNodesToFind(std::size_t node_count, std::int32_t percentage);

class NodeBatches {
 public:
  // Splits the nodes `feasible` into batches of `batch_size`. If there is more than one batch, `totals` has the score
  // of each node, batches begin with the best, and `seed` breaks ties. If there is one, it keeps the order of
  // `feasible`.
  void Begin(std::span<const framework::NodeIndex> feasible, std::span<const std::int64_t> totals,
             const framework::NodeTable& nodes, std::size_t batch_size, std::uint64_t seed);

  // The names of the next batch, without nodes that were deleted since Begin(). Empty: no nodes are left.
  std::vector<std::string> Take(const framework::NodeTable& nodes);

 private:
  std::vector<std::string> names_;  // in batch order
  std::size_t taken_count_ = 0;
  std::size_t batch_size_ = 0;
};

}  // namespace berth::scheduler
