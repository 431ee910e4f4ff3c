// SPDX-License-Identifier: Apache-2.0
// NodeBatches: the feasible nodes of a cycle in the batches in which extenders are asked about them, the best ones
// first (docs/plugins/extenders.md). A plain value; within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::scheduler {

// No batch is smaller, unless there are fewer feasible nodes.
inline constexpr std::size_t kNodeBatchMin = 100;

// How many feasible nodes are looked for among so many: upstream's numFeasibleNodesToFind (pkg/scheduler/
// schedule_one.go, v1.36.3). `percentage` is percentageOfNodesToScore: 0 to 100, and 0 stands for 50 less one for each
// 125 nodes, and 5 at least.
std::size_t FeasibleNodesToFind(std::size_t node_count, std::int32_t percentage);

class NodeBatches {
 public:
  // The nodes are those of `feasible`, a batch has so many. Where they are more than that, `totals` has the score of
  // each, and the best go first; `seed` decides among equals. Else they are in the order of `feasible`.
  void Begin(std::span<const framework::NodeIndex> feasible, std::span<const std::int64_t> totals,
             const framework::NodeTable& nodes, std::size_t batch_size, std::uint64_t seed);

  // The names of the next batch, without nodes that have gone since; empty when there are none left.
  std::vector<std::string> Take(const framework::NodeTable& nodes);

 private:
  std::vector<std::string> names_;  // in the order in which they are asked about
  std::size_t taken_count_ = 0;
  std::size_t batch_size_ = 0;
};

}  // namespace berth::scheduler
