// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/cheap_annealing.h"

#include <algorithm>
#include <cmath>

namespace berth::rebalance {
namespace {

// The first and the last temperature, as parts of an item's mean cost: a place that costs that much more is taken often
// at first, and seldom in the end.
constexpr double kHot = 0.1;
constexpr double kCold = 0.003;
// Steps of one temperature.
constexpr std::uint64_t kPlateau = 100;

}  // namespace

std::vector<std::size_t> CheapAnnealing::Run(std::uint64_t steps) {
  state_ = home_;
  saving_ = best_saving_ = 0;
  changed_.clear();
  best_.clear();
  for (std::size_t item = 0; item < state_.item_count(); ++item) best_.push_back(state_.BinOf(item));
  if (offers_.items().empty()) return best_;
  temperature_ = kHot * offers_.mean_cost();
  const double cooling =
      std::pow(kCold / kHot, static_cast<double>(kPlateau) / static_cast<double>(std::max(steps, kPlateau)));
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step % kPlateau == 0) temperature_ *= cooling;
    Step();
    if (saving_ <= best_saving_ + offers_.mean_cost() * 1e-9) continue;
    best_saving_ = saving_;
    Remember();
  }
  return best_;
}

// A shift: an item goes to one of the bins where it may be. Where there is no room, an item that is there makes some.
void CheapAnnealing::Step() {
  const std::size_t item = offers_.items()[random_.Below(offers_.items().size())];
  const std::vector<CheapOffers::Offer>& offers = offers_.Of(item);
  const CheapOffers::Offer& offer = offers[random_.Below(offers.size())];
  if (offer.bin == state_.BinOf(item)) return;
  const double change = offer.cost - offers_.CostOf(item, state_.BinOf(item));
  if (!state_.HasRoom(item, offer.bin)) {
    TryExchange(item, offer.bin, change);
  } else if (Accepts(change)) {
    state_.Move(item, offer.bin);
    changed_.push_back(item);
    saving_ -= change;
  }
}

// An exchange: one of the bin's items goes where the other one was, or anywhere else.
void CheapAnnealing::TryExchange(std::size_t item, std::size_t to, double change) {
  const std::vector<std::size_t>& there = state_.ItemsIn(to);
  if (there.empty()) return;
  const std::size_t other = there[random_.Below(there.size())], from = state_.BinOf(item);
  const std::vector<CheapOffers::Offer>& offers = offers_.Of(other);
  if (offers.size() < 2) return;
  const std::size_t elsewhere = random_.Below(2) == 0 ? from : offers[random_.Below(offers.size())].bin;
  if (elsewhere == to || !offers_.MayBe(other, elsewhere)) return;
  change += offers_.CostOf(other, elsewhere) - offers_.CostOf(other, to);
  if (!Accepts(change)) return;
  state_.Take(item);
  state_.Take(other);
  const bool has_room = state_.HasRoom(item, to);
  if (has_room) state_.Put(item, to);
  const bool is_good = has_room && state_.HasRoom(other, elsewhere);
  if (has_room && !is_good) state_.Take(item);
  if (!is_good) state_.Put(item, from);
  state_.Put(other, is_good ? elsewhere : to);
  if (!is_good) return;
  changed_.insert(changed_.end(), {item, other});
  saving_ -= change;
}

// The Metropolis criterion.
bool CheapAnnealing::Accepts(double change) {
  constexpr std::uint64_t kParts = std::uint64_t{1} << 30;
  if (change <= 0) return true;
  return static_cast<double>(random_.Below(kParts)) < std::exp(-change / temperature_) * static_cast<double>(kParts);
}

// Large problems have many improvements, so that each one copies only what has changed since the last.
void CheapAnnealing::Remember() {
  for (const std::size_t item : changed_) best_[item] = state_.BinOf(item);
  changed_.clear();
}

}  // namespace berth::rebalance
