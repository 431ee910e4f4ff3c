// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_packing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "berth/base/random.h"

namespace berth::rebalance {
namespace {

constexpr std::size_t kOrdersMax = 200;
// Times that an order is gone through, because room has come meanwhile.
constexpr std::size_t kRepeatsMax = 20;

// What is cheap for an item, the cheapest first.
struct Choices {
  std::size_t item = 0;
  double here = 0;
  std::vector<std::pair<double, std::size_t>> bins;  // cost and bin: those that pay off
  double saving() const { return bins.empty() ? 0 : here - bins.front().first; }
};

struct Outcome {
  double saving = 0;
  std::vector<PackingMove> moves;
};

class Attempts {
 public:
  Attempts(const PackingProblem& problem, const ItemPrices& prices) : problem_(problem) {
    for (std::size_t item = 0; item < problem.items.size(); ++item) {
      if (!problem.items[item].may_move) continue;
      Choices choices;
      choices.item = item;
      choices.here = prices.cost(item, problem.items[item].bin);
      for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
        if (bin == problem.items[item].bin || !problem.bins[bin].may_receive) continue;
        const double cost = prices.cost(item, bin);
        if (prices.pays_off(choices.here, cost) && problem.is_allowed(item, bin)) choices.bins.emplace_back(cost, bin);
      }
      std::ranges::sort(choices.bins);
      if (!choices.bins.empty()) choices_.push_back(std::move(choices));
    }
  }

  const std::vector<Choices>& choices() const { return choices_; }

  // Items in the order of the indices of choices().
  Outcome Run(const std::vector<std::size_t>& order, std::uint64_t& steps) const {
    std::vector<PackingSize> free;
    for (const PackingBin& bin : problem_.bins) free.push_back(bin.free);
    std::vector<bool> has_moved(choices_.size());
    Outcome outcome;
    bool goes_on = true;
    for (std::size_t repeat = 0; goes_on && repeat < kRepeatsMax; ++repeat) {
      goes_on = false;
      for (const std::size_t index : order) {
        if (has_moved[index]) continue;
        const Choices& choices = choices_[index];
        // The first times only the cheapest will do: what is there may go away yet.
        const std::size_t tried = repeat + 1 < kRepeatsMax && repeat < 2 ? 1 : choices.bins.size();
        for (std::size_t i = 0; i < std::min(tried, choices.bins.size()); ++i) {
          const auto& [cost, bin] = choices.bins[i];
          if (++steps > kPackingStepsMax) return outcome;
          if (!Fits(choices.item, free[bin])) continue;
          Take(choices.item, bin, free);
          outcome.moves.push_back({choices.item, bin, 0});
          outcome.saving += choices.here - cost;
          has_moved[index] = goes_on = true;
          break;
        }
      }
      // Nothing went to its cheapest bin: then to others.
      if (repeat < 2) goes_on = true;
    }
    return outcome;
  }

 private:
  bool Fits(std::size_t item, const PackingSize& free) const {
    const PackingSize& size = problem_.items[item].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0 && size[i] > free[i]) return false;
    }
    return true;
  }
  void Take(std::size_t item, std::size_t bin, std::vector<PackingSize>& free) const {
    const PackingSize& size = problem_.items[item].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      free[problem_.items[item].bin][i] += size[i];
      free[bin][i] -= size[i];
    }
  }

  const PackingProblem& problem_;
  std::vector<Choices> choices_;
};

}  // namespace

std::vector<PackingMove> MoveForLess(const PackingProblem& problem, const ItemPrices& prices) {
  const Attempts attempts(problem, prices);
  const std::vector<Choices>& choices = attempts.choices();
  std::uint64_t steps = 0;
  Random random(1);
  Outcome best;
  for (std::size_t attempt = 0; attempt < kOrdersMax && steps <= kPackingStepsMax; ++attempt) {
    std::vector<double> key(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const double disorder = attempt < 2 ? 1 : 0.5 + static_cast<double>(random.Below(1000)) / 1000;
      // What saves most first, or what saves most of what it costs.
      key[i] = -choices[i].saving() * disorder / (attempt % 2 == 0 ? 1 : std::max(choices[i].here, 1e-9));
    }
    std::vector<std::size_t> order(choices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    Outcome outcome = attempts.Run(order, steps);
    if (outcome.saving > best.saving) best = std::move(outcome);
  }
  return std::move(best.moves);
}

}  // namespace berth::rebalance
