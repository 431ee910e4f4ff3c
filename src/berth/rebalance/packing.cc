// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/packing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "berth/base/random.h"
#include "berth/rebalance/greedy_packing.h"
#include "berth/rebalance/guided_ejection.h"
#include "berth/rebalance/kept_bins.h"
#include "berth/rebalance/packing_order.h"
#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {
namespace {

// Tests of whether an item fits.
constexpr std::uint64_t kStepsMax = 100'000'000;
// The same for one set of bins that are kept; and how many such sets are tried.
constexpr std::uint64_t kStepsOfOneMax = 500'000;
constexpr std::size_t kWaysMax = 60;
// Numbers of bins that are tried first, as multiples of the number that capacity alone asks for.
constexpr double kFirstFactors[] = {1.01, 1.03, 1.1, 1.25};
// Steps that a copy of a state and an order of moves cost, for each item of the problem.
constexpr std::uint64_t kStepsOfState = 5;
constexpr std::uint64_t kStepsOfOrder = 20;
// How many of the best set's bins are tried as the next one to empty.
constexpr std::size_t kNextMax = 8;

// First finds an assignment that keeps few more bins than capacity alone asks for, or else takes what greedy search
// finds. Then tries one bin fewer, as long as it finds an assignment.
class Descent {
 public:
  explicit Descent(const PackingProblem& problem) : problem_(problem), kept_(problem), home_(problem) {
    for (const PackingItem& item : problem.items) target_.push_back(item.bin);
  }

  std::vector<PackingMove> Run() {
    const std::size_t used = kept_.used_count();
    const std::size_t least =
        std::max({kept_.FewestByCapacity(), problem_.keep, used - std::min(used, problem_.empty_max)});
    if (least >= used) return {};
    if (!FindNear(least)) Accept(PackGreedily(problem_), used);
    while (used - EmptiedBy(best_) > least && FindFor(used - EmptiedBy(best_) - 1)) {
    }
    return std::move(best_);
  }

 private:
  bool FindNear(std::size_t least) {
    const std::size_t used = kept_.used_count();
    for (const double factor : kFirstFactors) {
      const auto count = static_cast<std::size_t>(std::ceil(static_cast<double>(least) * factor));
      if (count >= used) break;
      const std::vector<std::vector<std::size_t>> sets = kept_.Choose(count, random_);
      if (sets.empty()) continue;
      // All moved items are placed; a few of those that cannot reach their bin in any order may stay.
      const std::uint64_t steps = target_.size() * count + kStepsOfOneMax;
      if (TrySet(home_, sets.front(), used - 1, steps).value_or(false)) return true;
    }
    return false;
  }

  // Finds an assignment that leaves no more than `count` bins in use.
  bool FindFor(std::size_t count) {
    // In a large problem it would take too long to place all items anew.
    const bool is_small = count * target_.size() <= kStepsOfOneMax;
    const std::vector<std::vector<std::size_t>> sets =
        is_small ? kept_.Choose(count, random_) : std::vector<std::vector<std::size_t>>();
    for (std::size_t way = 0; way < kWaysMax && !sets.empty(); ++way) {
      if (const auto tried = TrySet(home_, sets[way % sets.size()], count, kStepsOfOneMax); !tried || *tried)
        return tried.value_or(false);
    }
    PackingState packed = home_;
    for (std::size_t item = 0; item < target_.size(); ++item) {
      if (home_.BinOf(item) != target_[item]) packed.Move(item, target_[item]);
    }
    for (const std::vector<std::size_t>& set : OneFewer(packed)) {
      if (const auto tried = TrySet(packed, set, count, kStepsOfOneMax); !tried || *tried) return tried.value_or(false);
    }
    return false;
  }

  // Sets of bins that lack one of the least loaded ones.
  std::vector<std::vector<std::size_t>> OneFewer(const PackingState& packed) const {
    std::vector<std::size_t> bins;
    for (std::size_t bin = 0; bin < packed.bin_count(); ++bin) {
      if (!packed.ItemsIn(bin).empty()) bins.push_back(bin);
    }
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t bin : bins) {
      if (kept_.MustStay(bin)) continue;
      double load = 0;
      for (const std::size_t item : packed.ItemsIn(bin)) load += packed.ShareOf(item);
      order.emplace_back(load, bin);
    }
    std::ranges::sort(order);
    std::vector<std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < std::min(order.size(), kNextMax); ++i) {
      sets.push_back(bins);
      std::erase(sets.back(), order[i].second);
    }
    return sets;
  }

  // Whether the items fit into the kept bins, and moves lead there. nullopt: no steps are left.
  std::optional<bool> TrySet(const PackingState& from, const std::vector<std::size_t>& kept, std::size_t count,
                             std::uint64_t steps_max) {
    if (!Spend(kStepsOfState * target_.size())) return std::nullopt;
    std::vector<char> is_kept(problem_.bins.size()), is_open(problem_.bins.size());
    for (const std::size_t bin : kept) {
      is_kept[bin] = 1;
      is_open[bin] = problem_.bins[bin].may_receive ? 1 : 0;
    }
    PackingState state = from;
    std::vector<std::size_t> pool;
    for (std::size_t item = 0; item < target_.size(); ++item) {
      if (is_kept[state.BinOf(item)] != 0) continue;
      state.Take(item);
      pool.push_back(item);
    }
    std::uint64_t steps = std::min(steps_, steps_max);
    steps_ -= steps;
    const bool is_placed = GuidedEjection(state, is_open, random_).PlaceAll(std::move(pool), steps);
    steps_ += steps;
    if (!is_placed) return false;
    if (!Spend(kStepsOfOrder * target_.size())) return std::nullopt;
    std::vector<std::size_t> target;
    for (std::size_t item = 0; item < target_.size(); ++item) target.push_back(state.BinOf(item));
    return Accept(OrderMoves(problem_, std::move(target)), count);
  }

  // Makes these the best moves if they leave no more than `count` bins in use.
  bool Accept(std::vector<PackingMove> moves, std::size_t count) {
    if (kept_.used_count() - EmptiedBy(moves) > count) return false;
    best_ = std::move(moves);
    for (std::size_t item = 0; item < target_.size(); ++item) target_[item] = problem_.items[item].bin;
    for (const PackingMove& move : best_) target_[move.item] = move.to;
    return true;
  }

  bool Spend(std::uint64_t steps) {
    const bool is_enough = steps <= steps_;
    steps_ -= std::min(steps, steps_);
    return is_enough;
  }

  const PackingProblem& problem_;
  const KeptBins kept_;
  const PackingState home_;
  std::vector<PackingMove> best_;
  std::vector<std::size_t> target_;  // by item: its bin after the best moves
  Random random_{1};
  std::uint64_t steps_ = kStepsMax;
};

}  // namespace

std::size_t EmptiedBy(const std::vector<PackingMove>& moves) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) count += i == 0 || moves[i].empties != moves[i - 1].empties;
  return count;
}

std::vector<PackingMove> PackTogether(const PackingProblem& problem) { return Descent(problem).Run(); }

}  // namespace berth::rebalance
