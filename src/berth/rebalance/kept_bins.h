// SPDX-License-Identifier: Apache-2.0
// KeptBins: which sets of a given number of bins could stay in use: those that have capacity for all items together, by
// each resource. It does not find out whether the items fit. Private to this folder; one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/base/random.h"
#include "berth/rebalance/packing.h"

namespace berth::rebalance {

class KeptBins {
 public:
  explicit KeptBins(const PackingProblem& problem);

  // Bins that have items.
  std::size_t used_count() const { return used_.size(); }
  // With fewer bins than this there is too little of some resource, whichever they are.
  std::size_t FewestByCapacity() const;
  // Sets of `count` bins, sorted; those with most room to spare come first. Bins that cannot be emptied are in all of
  // them. Empty: there is none, or none was found.
  std::vector<std::vector<std::size_t>> Choose(std::size_t count, Random& random) const;
  bool MustStay(std::size_t bin) const { return must_stay_[bin] != 0; }

 private:
  // The part by which the scarcest resource is more than what all items need; below 0: it is not enough.
  double SpareOf(const std::vector<double>& sums) const;
  std::vector<double> SumsOf(const std::vector<std::size_t>& bins) const;
  std::vector<std::size_t> HeaviestBy(const std::vector<double>& weights, std::size_t count) const;
  void Climb(std::vector<std::size_t>& bins) const;
  double Weight(std::size_t bin, const std::vector<double>& weights) const;

  const PackingProblem& problem_;
  std::vector<std::size_t> used_;
  std::vector<char> must_stay_;             // by bin
  std::vector<std::vector<double>> rooms_;  // by bin and resource: for items, of what all items need
  std::vector<double> loads_;               // by bin: the sum over resources of what its items need, likewise
};

}  // namespace berth::rebalance
