// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/kept_bins.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace berth::rebalance {
namespace {

constexpr std::size_t kWeightingsMax = 40;
constexpr std::size_t kSetsMax = 12;
// Pairs of bins of which one takes the other's place, in one step of a climb. Larger problems have many sets anyway.
constexpr std::size_t kPairsMax = 10'000;

}  // namespace

KeptBins::KeptBins(const PackingProblem& problem)
    : problem_(problem), must_stay_(problem.bins.size()), loads_(problem.bins.size()) {
  const std::size_t width = problem.bins.empty() ? 0 : problem.bins.front().capacity.size();
  std::vector<PackingSize> need(problem.bins.size(), PackingSize(width));
  std::vector<char> is_used(problem.bins.size());
  PackingSize all(width);
  for (const PackingItem& item : problem.items) {
    is_used[item.bin] = 1;
    if (!item.may_move) must_stay_[item.bin] = 1;
    for (std::size_t i = 0; i < width; ++i) {
      need[item.bin][i] += item.size[i];
      all[i] += item.size[i];
    }
  }
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
    if (is_used[bin] != 0) used_.push_back(bin);
    if (!problem.bins[bin].may_empty) must_stay_[bin] = 1;
    std::vector<double>& rooms = rooms_.emplace_back();
    for (std::size_t i = 0; i < width; ++i) {
      if (all[i] <= 0) continue;
      const std::int64_t free =
          problem.bins[bin].may_receive ? std::max<std::int64_t>(problem.bins[bin].free[i], 0) : 0;
      rooms.push_back(static_cast<double>(need[bin][i] + free) / static_cast<double>(all[i]));
      loads_[bin] += static_cast<double>(need[bin][i]) / static_cast<double>(all[i]);
    }
  }
}

std::size_t KeptBins::FewestByCapacity() const {
  std::size_t fewest =
      static_cast<std::size_t>(std::ranges::count_if(used_, [this](std::size_t bin) { return must_stay_[bin] != 0; }));
  const std::size_t width = rooms_.empty() ? 0 : rooms_.front().size();
  for (std::size_t i = 0; i < width; ++i) {
    std::vector<std::pair<bool, double>> rooms;
    for (const std::size_t bin : used_) rooms.emplace_back(must_stay_[bin] != 0, rooms_[bin][i]);
    std::ranges::sort(rooms, std::greater());
    double sum = 0;
    std::size_t count = 0;
    // Rounding errors of sums must not make one bin too many seem needed.
    for (; count < rooms.size() && sum < 1 - 1e-9; ++count) sum += rooms[count].second;
    fewest = std::max(fewest, count);
  }
  return fewest;
}

double KeptBins::SpareOf(const std::vector<double>& sums) const {
  return sums.empty() ? 0 : *std::ranges::min_element(sums) - 1;
}

std::vector<double> KeptBins::SumsOf(const std::vector<std::size_t>& bins) const {
  std::vector<double> sums(rooms_.empty() ? 0 : rooms_.front().size());
  for (const std::size_t bin : bins) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += rooms_[bin][i];
  }
  return sums;
}

double KeptBins::Weight(std::size_t bin, const std::vector<double>& weights) const {
  return std::inner_product(weights.begin(), weights.end(), rooms_[bin].begin(), 0.0);
}

// Among equal bins those with most items come first, so that fewer items move.
std::vector<std::size_t> KeptBins::HeaviestBy(const std::vector<double>& weights, std::size_t count) const {
  std::vector<std::tuple<bool, bool, double, double, std::size_t>> order;
  for (const std::size_t bin : used_)
    order.emplace_back(must_stay_[bin] == 0, problem_.bins[bin].goes_first, -Weight(bin, weights), -loads_[bin], bin);
  std::ranges::sort(order);
  std::vector<std::size_t> bins;
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) bins.push_back(std::get<4>(order[i]));
  return bins;
}

// Steepest ascent: while some resource is short, swaps the pair of bins that gains most of it.
void KeptBins::Climb(std::vector<std::size_t>& bins) const {
  std::vector<char> is_in(rooms_.size());
  for (const std::size_t bin : bins) is_in[bin] = 1;
  while (bins.size() * used_.size() <= kPairsMax) {
    const std::vector<double> sums = SumsOf(bins);
    double best = SpareOf(sums) + 1e-9;
    std::size_t out = bins.size(), in = 0;
    for (std::size_t at = 0; at < bins.size(); ++at) {
      if (must_stay_[bins[at]] != 0) continue;
      for (const std::size_t other : used_) {
        if (is_in[other] != 0 || problem_.bins[other].goes_first) continue;
        double spare = std::numeric_limits<double>::max();
        for (std::size_t i = 0; i < sums.size(); ++i)
          spare = std::min(spare, sums[i] - rooms_[bins[at]][i] + rooms_[other][i] - 1);
        if (spare <= best) continue;
        best = spare;
        out = at;
        in = other;
      }
    }
    if (out == bins.size()) return;
    is_in[bins[out]] = 0;
    is_in[in] = 1;
    bins[out] = in;
  }
}

std::vector<std::vector<std::size_t>> KeptBins::Choose(std::size_t count, Random& random) const {
  std::set<std::pair<double, std::vector<std::size_t>>> sets;
  const auto add = [&](std::vector<std::size_t> bins) {
    const double spare = SpareOf(SumsOf(bins));
    std::ranges::sort(bins);
    if (spare >= -1e-9) sets.emplace(-spare, std::move(bins));
  };
  const std::size_t width = rooms_.empty() ? 0 : rooms_.front().size();
  for (std::size_t i = 0; i < kWeightingsMax; ++i) {
    std::vector<double> weights;
    for (std::size_t at = 0; at < width; ++at)
      weights.push_back(i == 0 ? 1 : static_cast<double>(random.Below(1000) + 1) / 1000);
    std::vector<std::size_t> bins = HeaviestBy(weights, count);
    if (bins.size() < count) return {};
    add(bins);
    Climb(bins);
    add(std::move(bins));
  }
  std::vector<std::vector<std::size_t>> chosen;
  for (const auto& each : sets) {
    if (chosen.size() < kSetsMax) chosen.push_back(each.second);
  }
  return chosen;
}

}  // namespace berth::rebalance
