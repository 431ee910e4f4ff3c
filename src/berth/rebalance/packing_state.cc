// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/packing_state.h"

#include <algorithm>

namespace berth::rebalance {

PackingState::PackingState(const PackingProblem& problem) : problem_(&problem) {
  std::vector<std::size_t> resources;
  const std::size_t count = problem.bins.empty() ? 0 : problem.bins.front().capacity.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::any_of(problem.items, [i](const PackingItem& item) { return item.size[i] > 0; }))
      resources.push_back(i);
  }
  width_ = resources.size();
  std::vector<double> largest(width_, 0);
  for (const PackingBin& bin : problem.bins) {
    for (std::size_t i = 0; i < width_; ++i) {
      const std::int64_t capacity = bin.capacity[resources[i]];
      free_.push_back(bin.free[resources[i]]);
      parts_.push_back(capacity > 0 ? 1 / static_cast<double>(capacity) : 0);
      largest[i] = std::max(largest[i], static_cast<double>(capacity));
    }
  }
  items_.resize(problem.bins.size());
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const PackingItem& of = problem.items[item];
    double share = 0;
    for (std::size_t i = 0; i < width_; ++i) {
      const std::int64_t size = std::max<std::int64_t>(of.size[resources[i]], 0);
      sizes_.push_back(size);
      if (size > 0) share = std::max(share, largest[i] > 0 ? static_cast<double>(size) / largest[i] : 1);
    }
    shares_.push_back(share);
    at_.push_back(of.bin);
    place_.push_back(items_[of.bin].size());
    items_[of.bin].push_back(item);
  }
}

bool PackingState::HasRoom(std::size_t item, std::size_t bin) const {
  const std::int64_t* const size = &sizes_[item * width_];
  const std::int64_t* const free = &free_[bin * width_];
  for (std::size_t i = 0; i < width_; ++i) {
    if (size[i] > 0 && size[i] > free[i]) return false;
  }
  return true;
}

double PackingState::Leftover(std::size_t item, std::size_t bin) const {
  const std::int64_t* const size = &sizes_[item * width_];
  const std::size_t at = bin * width_;
  double sum = 0;
  for (std::size_t i = 0; i < width_; ++i) sum += static_cast<double>(free_[at + i] - size[i]) * parts_[at + i];
  return sum;
}

void PackingState::Take(std::size_t item) {
  const std::size_t bin = at_[item];
  for (std::size_t i = 0; i < width_; ++i) free_[bin * width_ + i] += sizes_[item * width_ + i];
  std::vector<std::size_t>& items = items_[bin];
  items[place_[item]] = items.back();
  place_[items.back()] = place_[item];
  items.pop_back();
  at_[item] = kNoBin;
}

void PackingState::Put(std::size_t item, std::size_t bin) {
  for (std::size_t i = 0; i < width_; ++i) free_[bin * width_ + i] -= sizes_[item * width_ + i];
  place_[item] = items_[bin].size();
  items_[bin].push_back(item);
  at_[item] = bin;
}

}  // namespace berth::rebalance
