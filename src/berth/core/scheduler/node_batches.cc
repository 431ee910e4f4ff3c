// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/node_batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/random.h"

namespace berth::scheduler {

namespace {

constexpr std::size_t kPercentageMin = 5;      // lower bound of the adaptive percentage
constexpr std::size_t kPercentageMax = 50;     // upper bound of the adaptive percentage
constexpr std::size_t kNodesPerPercent = 125;  // the adaptive percentage falls by one for each of these steps

}  // namespace

std::size_t FeasibleNodesToFind(std::size_t node_count, std::int32_t percentage) {
  if (node_count < kNodeBatchMin) return node_count;
  auto percent = static_cast<std::size_t>(percentage);
  if (percent == 0) percent = kPercentageMax - std::min(node_count / kNodesPerPercent, kPercentageMax - kPercentageMin);
  return std::max(node_count * percent / 100, kNodeBatchMin);
}

void NodeBatches::Begin(std::span<const framework::NodeIndex> feasible, std::span<const std::int64_t> totals,
                        const framework::NodeTable& nodes, std::size_t batch_size, std::uint64_t seed) {
  batch_size_ = batch_size;
  taken_count_ = 0;
  names_.clear();
  names_.reserve(feasible.size());
  std::vector<std::size_t> order(feasible.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (feasible.size() > batch_size) {
    BERTH_CHECK(totals.size() == feasible.size(), totals.size(), feasible.size());
    // A different random sequence than the one that breaks the cycle's ties.
    Random random(~seed);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return totals[a] > totals[b]; });
  }
  for (const std::size_t i : order) names_.push_back(nodes.Info(feasible[i]).name());
}

std::vector<std::string> NodeBatches::Take(const framework::NodeTable& nodes) {
  std::vector<std::string> batch;
  for (; taken_count_ < names_.size() && batch.size() < batch_size_; ++taken_count_) {
    if (nodes.Find(names_[taken_count_]) != framework::kNoNode) batch.push_back(std::move(names_[taken_count_]));
  }
  return batch;
}

}  // namespace berth::scheduler
