// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/guided_ejection.h"

#include <algorithm>
#include <utility>

namespace berth::rebalance {
namespace {

// Open bins that one ejection looks at, and items of a bin.
constexpr std::size_t kBinsMax = 24;
constexpr std::size_t kLeaversMax = 40;
// Random moves after an ejection.
constexpr std::size_t kShakes = 20;

}  // namespace

GuidedEjection::GuidedEjection(PackingState& state, const std::vector<char>& is_open, Random& random)
    : state_(state), is_open_(is_open), random_(random), penalty_(state.item_count(), 1) {
  for (std::size_t bin = 0; bin < is_open.size(); ++bin) {
    if (is_open[bin]) bins_.push_back(bin);
  }
}

bool GuidedEjection::PlaceAll(std::vector<std::size_t> pool, std::uint64_t& steps) {
  used_ = 0;
  std::ranges::stable_sort(pool, {}, [this](std::size_t item) { return state_.ShareOf(item); });
  while (!pool.empty() && used_ < steps) {
    const std::size_t item = pool.back();
    pool.pop_back();
    if (const std::size_t bin = BestBinFor(item); bin != kNoBin) {
      state_.Put(item, bin);
      continue;
    }
    penalty_[item] += 1;
    const Ejection ejection = CheapestFor(item);
    if (ejection.bin == kNoBin) {
      pool.push_back(item);
      break;  // it can be nowhere
    }
    for (const std::size_t other : ejection.items) {
      state_.Take(other);
      pool.push_back(other);
    }
    state_.Put(item, ejection.bin);
    Shake();
  }
  steps -= std::min(steps, used_);
  return pool.empty();
}

std::size_t GuidedEjection::BestBinFor(std::size_t item) {
  std::size_t best = kNoBin;
  double least = 0;
  used_ += bins_.size();
  for (const std::size_t bin : bins_) {
    if (!state_.Fits(item, bin)) continue;
    const double left = state_.Leftover(item, bin);
    if (best == kNoBin || left < least) {
      best = bin;
      least = left;
    }
  }
  return best;
}

GuidedEjection::Ejection GuidedEjection::CheapestFor(std::size_t item) {
  Ejection best;
  const std::size_t first = random_.Below(std::max<std::size_t>(bins_.size(), 1));
  for (std::size_t i = 0, looked = 0; i < bins_.size() && looked < kBinsMax; ++i) {
    const std::size_t bin = bins_[(first + i) % bins_.size()];
    ++used_;
    if (!state_.IsAllowed(item, bin)) continue;
    ++looked;
    TryBin(item, bin, best);
  }
  return best;
}

// One, two or three items of the bin that leave enough room, if they cost less than `best`.
void GuidedEjection::TryBin(std::size_t item, std::size_t bin, Ejection& best) {
  const auto size = state_.SizeOf(item), free = state_.FreeOf(bin);
  lacks_.assign(size.size(), 0);
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 0) lacks_[i] = std::max<std::int64_t>(size[i] - free[i], 0);
  }
  leavers_.clear();
  for (const std::size_t other : state_.ItemsIn(bin)) {
    if (state_.problem().items[other].may_move) leavers_.push_back(other);
  }
  std::ranges::sort(
      leavers_, [this](std::size_t a, std::size_t b) { return std::pair(penalty_[a], a) < std::pair(penalty_[b], b); });
  if (leavers_.size() > kLeaversMax) leavers_.resize(kLeaversMax);
  for (std::size_t at = 0; at < leavers_.size(); ++at) TryLeavers(at, bin, best);
}

// Tries `first` with up to two of the leavers behind it. Leavers are sorted by cost, so that the first set that leaves
// enough room is the cheapest.
void GuidedEjection::TryLeavers(std::size_t first, std::size_t bin, Ejection& best) {
  const std::size_t a = leavers_[first];
  const auto take = [&](std::vector<std::size_t> items, double cost) { best = {bin, std::move(items), cost}; };
  const auto is_better = [&best](double cost) { return best.bin == kNoBin || cost < best.cost; };
  const double one = penalty_[a];
  if (!is_better(one)) return;
  if (MakeRoom({a})) return take({a}, one);
  for (std::size_t second = first + 1; second < leavers_.size(); ++second) {
    const std::size_t b = leavers_[second];
    const double two = one + penalty_[b];
    if (!is_better(two)) return;
    if (MakeRoom({a, b})) return take({a, b}, two);
    for (std::size_t third = second + 1; third < leavers_.size(); ++third) {
      const std::size_t c = leavers_[third];
      const double three = two + penalty_[c];
      if (!is_better(three)) break;
      if (!MakeRoom({a, b, c})) continue;
      take({a, b, c}, three);
      break;
    }
  }
}

bool GuidedEjection::MakeRoom(std::initializer_list<std::size_t> leaving) {
  ++used_;
  for (std::size_t i = 0; i < lacks_.size(); ++i) {
    std::int64_t sum = 0;
    for (const std::size_t item : leaving) sum += state_.SizeOf(item)[i];
    if (sum < lacks_[i]) return false;
  }
  return true;
}

void GuidedEjection::Shake() {
  const std::size_t count = state_.item_count();
  for (std::size_t i = 0; i < kShakes; ++i) {
    const std::size_t a = random_.Below(count), b = random_.Below(count);
    if (i % 2 == 0)
      TryRelocation(a);
    else
      TrySwap(a, b);
  }
}

void GuidedEjection::TryRelocation(std::size_t item) {
  ++used_;
  const std::size_t from = state_.BinOf(item);
  if (from == kNoBin || !is_open_[from] || !state_.problem().items[item].may_move) return;
  // A bin that is kept is not emptied.
  if (state_.ItemsIn(from).size() == 1) return;
  const std::size_t to = bins_[random_.Below(bins_.size())];
  if (to != from && state_.Fits(item, to)) state_.Move(item, to);
}

void GuidedEjection::TrySwap(std::size_t a, std::size_t b) {
  used_ += 2;
  const std::size_t at = state_.BinOf(a), bt = state_.BinOf(b);
  if (at == kNoBin || bt == kNoBin || at == bt || !is_open_[at] || !is_open_[bt]) return;
  if (!state_.problem().items[a].may_move || !state_.problem().items[b].may_move) return;
  state_.Take(a);
  state_.Take(b);
  const bool is_good = state_.Fits(a, bt) && state_.Fits(b, at);
  state_.Put(a, is_good ? bt : at);
  state_.Put(b, is_good ? at : bt);
}

}  // namespace berth::rebalance
