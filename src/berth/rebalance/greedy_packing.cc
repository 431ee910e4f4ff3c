// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/greedy_packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "berth/base/random.h"

namespace berth::rebalance {
namespace {

// Tests of whether an item fits, over all orders that are tried; orders; and bins that are looked at for an ejection.
constexpr std::uint64_t kStepsMax = 200'000'000;
constexpr std::size_t kOrdersMax = 12;
constexpr std::uint64_t kEjectionsMax = 100'000;
// Bins and items that one ejection looks at, items that make room for one, and links of a chain of ejections.
constexpr std::size_t kEjectBinsMax = 24;
constexpr std::size_t kEjectItemsMax = 24;
constexpr std::size_t kEjectedMax = 3;
constexpr int kChainLinksMax = 3;
// More than Leftover() can be, so that a bin's rank counts first.
constexpr double kRankWeight = 1000;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// The largest part of a bin that the size takes.
double ShareOf(const PackingSize& size, const PackingSize& of) {
  double share = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 0) share = std::max(share, of[i] > 0 ? static_cast<double>(size[i]) / static_cast<double>(of[i]) : 1);
  }
  return share;
}

// What a search has used of its bounds.
struct Spent {
  std::uint64_t steps = 0;
  std::uint64_t ejections = 0;
};

// One greedy run over the bins in an order.
class GreedyRun {
 public:
  GreedyRun(const PackingProblem& problem, const std::vector<std::vector<std::size_t>>& items_of, Spent& spent)
      : problem_(problem), items_(items_of), spent_(spent) {
    for (const PackingBin& bin : problem.bins) {
      free_.push_back(bin.free);
      is_open_.push_back(bin.may_receive);
    }
    has_moved_.resize(problem.items.size());
    at_.reserve(problem.items.size());
    for (const PackingItem& item : problem.items) at_.push_back(item.bin);
    used_ = static_cast<std::size_t>(
        std::ranges::count_if(items_of, [](const std::vector<std::size_t>& items) { return !items.empty(); }));
  }

  // `fills_last`: items go to the bin that is emptied last of those where they fit; else to the one that they fill
  // best.
  std::vector<PackingMove> Run(const std::vector<std::size_t>& order, bool fills_last) {
    std::size_t emptied = 0;
    if (fills_last) {
      rank_.assign(free_.size(), order.size());
      for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
    }
    for (const std::size_t bin : order) {
      if (emptied >= problem_.empty_max || used_ <= problem_.keep || spent_.steps > kStepsMax) break;
      if (Empty(bin)) {
        ++emptied;
        --used_;
      }
    }
    return std::move(moves_);
  }

 private:
  bool Empty(std::size_t bin) {
    const bool was_open = is_open_[bin];
    is_open_[bin] = false;
    const std::size_t mark = moves_.size();
    // An item that has come here from another bin cannot move again.
    std::vector<std::size_t> items = items_[bin];
    bool is_good = std::ranges::none_of(
        items, [this](std::size_t item) { return has_moved_[item] || !problem_.items[item].may_move; });
    const PackingSize& capacity = problem_.bins[bin].capacity;
    std::ranges::stable_sort(items, [&](std::size_t a, std::size_t b) {
      return ShareOf(problem_.items[a].size, capacity) > ShareOf(problem_.items[b].size, capacity);
    });
    for (std::size_t i = 0; is_good && i < items.size(); ++i)
      is_good = PlaceSomewhere(items[i], bin) || PlaceByEjection(items[i], bin, kChainLinksMax, kNone);
    if (is_good) return true;
    while (moves_.size() > mark) TakeBack();
    is_open_[bin] = was_open;
    return false;
  }

  bool Fits(std::size_t item, std::size_t bin, const PackingSize* more = nullptr) {
    ++spent_.steps;
    const PackingSize& size = problem_.items[item].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0 && size[i] > free_[bin][i] + (more == nullptr ? 0 : (*more)[i])) return false;
    }
    return problem_.is_allowed(item, bin);
  }

  // What is left of the bin when the item is in it: the tighter the better.
  double Leftover(std::size_t item, std::size_t bin) const {
    const PackingSize& size = problem_.items[item].size;
    const PackingSize& capacity = problem_.bins[bin].capacity;
    double sum = 0;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (capacity[i] > 0) sum += static_cast<double>(free_[bin][i] - size[i]) / static_cast<double>(capacity[i]);
    }
    return sum;
  }

  std::size_t BestFor(std::size_t item, std::size_t but = kNone) {
    std::size_t best = kNone;
    double least = 0;
    for (std::size_t bin = 0; bin < free_.size(); ++bin) {
      if (!is_open_[bin] || bin == at_[item] || bin == but || !Fits(item, bin)) continue;
      const double left = Leftover(item, bin) - (rank_.empty() ? 0 : kRankWeight * static_cast<double>(rank_[bin]));
      if (best == kNone || left < least) {
        best = bin;
        least = left;
      }
    }
    return best;
  }

  bool PlaceSomewhere(std::size_t item, std::size_t empties, std::size_t but = kNone) {
    const std::size_t to = BestFor(item, but);
    if (to == kNone) return false;
    Move(item, to, empties);
    return true;
  }

  // Places the item where others leave for it, by ejection chains of at most `links` links.
  bool PlaceByEjection(std::size_t item, std::size_t empties, int links, std::size_t but) {
    if (links == 0) return false;
    for (const std::size_t bin : OpenByRoom(item)) {
      if (spent_.steps > kStepsMax || ++spent_.ejections > kEjectionsMax) return false;
      if (bin == but || !problem_.is_allowed(item, bin)) continue;
      const std::size_t mark = moves_.size();
      for (const std::vector<std::size_t>& leaving : WhoCouldLeave(item, bin)) {
        if (AllLeave(leaving, empties, links - 1, bin) && Fits(item, bin)) {
          Move(item, bin, empties);
          return true;
        }
        while (moves_.size() > mark) TakeBack();
      }
    }
    return false;
  }

  bool AllLeave(const std::vector<std::size_t>& items, std::size_t empties, int links, std::size_t bin) {
    return std::ranges::all_of(items, [&](std::size_t item) {
      return !has_moved_[item] && (PlaceSomewhere(item, empties, bin) || PlaceByEjection(item, empties, links, bin));
    });
  }

  // Single items of the bin without which there would be room, the smallest first; then the smallest ones together.
  std::vector<std::vector<std::size_t>> WhoCouldLeave(std::size_t item, std::size_t bin) {
    std::vector<std::size_t> movable;
    for (const std::size_t other : items_[bin]) {
      if (!has_moved_[other] && problem_.items[other].may_move) movable.push_back(other);
    }
    const PackingSize& capacity = problem_.bins[bin].capacity;
    std::ranges::stable_sort(movable, [&](std::size_t a, std::size_t b) {
      return ShareOf(problem_.items[a].size, capacity) < ShareOf(problem_.items[b].size, capacity);
    });
    if (movable.size() > kEjectItemsMax) movable.resize(kEjectItemsMax);
    std::vector<std::vector<std::size_t>> ways;
    for (const std::size_t other : movable) {
      if (Fits(item, bin, &problem_.items[other].size)) ways.push_back({other});
    }
    PackingSize together(problem_.items[item].size.size());
    std::vector<std::size_t> several;
    for (const std::size_t other : movable) {
      if (several.size() == kEjectedMax) break;
      several.push_back(other);
      for (std::size_t i = 0; i < together.size(); ++i) together[i] += problem_.items[other].size[i];
      if (several.size() > 1 && Fits(item, bin, &together)) {
        ways.push_back(several);
        break;
      }
    }
    return ways;
  }

  // Open bins other than the item's own, those with most room first.
  std::vector<std::size_t> OpenByRoom(std::size_t item) const {
    std::vector<std::pair<double, std::size_t>> bins;
    for (std::size_t bin = 0; bin < free_.size(); ++bin) {
      if (is_open_[bin] && bin != at_[item]) bins.emplace_back(-Leftover(item, bin), bin);
    }
    const std::size_t count = std::min(bins.size(), kEjectBinsMax);
    std::partial_sort(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(count), bins.end());
    std::vector<std::size_t> sorted;
    for (std::size_t i = 0; i < count; ++i) sorted.push_back(bins[i].second);
    return sorted;
  }

  void Shift(std::size_t item, std::size_t from, std::size_t to) {
    const PackingSize& size = problem_.items[item].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      free_[from][i] += size[i];
      free_[to][i] -= size[i];
    }
    std::erase(items_[from], item);
    items_[to].push_back(item);
    at_[item] = to;
  }
  void Move(std::size_t item, std::size_t to, std::size_t empties) {
    Shift(item, at_[item], to);
    has_moved_[item] = true;
    moves_.push_back({item, to, empties});
  }
  void TakeBack() {
    const std::size_t item = moves_.back().item;
    Shift(item, at_[item], problem_.items[item].bin);
    has_moved_[item] = false;
    moves_.pop_back();
  }

  const PackingProblem& problem_;
  std::vector<std::vector<std::size_t>> items_;  // by bin
  Spent& spent_;
  std::vector<PackingSize> free_;
  std::vector<char> is_open_;
  std::vector<char> has_moved_;
  std::vector<std::size_t> at_;    // by item
  std::vector<std::size_t> rank_;  // by bin: its place in the order in which bins are emptied; empty: it does not count
  std::size_t used_ = 0;
  std::vector<PackingMove> moves_;
};

}  // namespace

std::vector<PackingMove> PackGreedily(const PackingProblem& problem) {
  std::vector<std::vector<std::size_t>> items_of(problem.bins.size());
  for (std::size_t i = 0; i < problem.items.size(); ++i) items_of[problem.items[i].bin].push_back(i);
  std::vector<std::size_t> candidates;
  std::vector<double> used(problem.bins.size()), size(problem.bins.size());
  PackingSize largest;
  for (const PackingBin& bin : problem.bins) {
    largest.resize(bin.capacity.size());
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], bin.capacity[i]);
  }
  for (std::size_t bin = 0; bin < problem.bins.size(); ++bin) {
    const PackingBin& of = problem.bins[bin];
    if (of.may_empty && !items_of[bin].empty()) candidates.push_back(bin);
    for (const std::size_t item : items_of[bin]) used[bin] += ShareOf(problem.items[item].size, largest);
    size[bin] = ShareOf(of.capacity, largest);
  }
  Spent spent;
  Random random(1);
  std::vector<PackingMove> best;
  // Bins by how much is used, by size, and by the used share; then all three orders with some randomness.
  for (std::size_t attempt = 0; attempt < kOrdersMax && spent.steps <= kStepsMax; ++attempt) {
    std::vector<double> key(problem.bins.size());
    for (const std::size_t bin : candidates) {
      const double disorder = attempt < 3 ? 1 : 0.5 + static_cast<double>(random.Below(1000)) / 1000;
      const double by[] = {used[bin], size[bin] + used[bin] / 1000, used[bin] / std::max(size[bin], 1e-9)};
      key[bin] = problem.bins[bin].goes_first ? -1 : by[attempt % 3] * disorder;
    }
    std::vector<std::size_t> order = candidates;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    std::vector<PackingMove> moves = GreedyRun(problem, items_of, spent).Run(order, attempt / 3 % 2 == 1);
    const std::size_t emptied = EmptiedBy(moves), most = EmptiedBy(best);
    if (emptied > most || (emptied == most && moves.size() < best.size())) best = std::move(moves);
    // No order can empty more than all candidates.
    if (emptied == candidates.size()) break;
  }
  return best;
}

}  // namespace berth::rebalance
