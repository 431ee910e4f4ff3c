// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/packing_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/rebalance/packing_state.h"

namespace berth::rebalance {
namespace {

// Items that make room for each other in one chain.
constexpr std::size_t kLinksMax = 16;
// Items that one of the same size is compared with.
constexpr std::size_t kAlikeMax = 100;

// Makes items of one size exchange their targets, so that as many as possible stay where they are. What is left goes
// home if there is room in the end.
class StayAtHome {
 public:
  StayAtHome(const PackingProblem& problem, std::vector<std::size_t>& target) : problem_(problem), target_(target) {}

  void Run() {
    std::map<PackingSize, std::vector<std::size_t>> alike;
    for (std::size_t item = 0; item < target_.size(); ++item) {
      if (problem_.items[item].may_move) alike[problem_.items[item].size].push_back(item);
    }
    for (const auto& each : alike) Exchange(each.second);
    GoHome();
  }

 private:
  // Each item that leaves a bin takes the target of one that comes there.
  void Exchange(const std::vector<std::size_t>& items) {
    std::map<std::size_t, std::vector<std::size_t>> comers;  // by bin
    for (const std::size_t item : items) {
      if (target_[item] != problem_.items[item].bin) comers[target_[item]].push_back(item);
    }
    for (const std::size_t item : items) {
      const std::size_t home = problem_.items[item].bin;
      const auto at = comers.find(home);
      if (target_[item] == home || at == comers.end()) continue;
      std::vector<std::size_t>& others = at->second;
      for (std::size_t tried = 0; tried < std::min(others.size(), kAlikeMax); ++tried) {
        const std::size_t i = others.size() - 1 - tried, other = others[i];
        // An earlier exchange may have sent it elsewhere.
        if (target_[other] != home || !MayGo(other, target_[item])) continue;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        target_[other] = std::exchange(target_[item], home);
        if (target_[other] != problem_.items[other].bin) comers[target_[other]].push_back(other);
        break;
      }
    }
  }
  bool MayGo(std::size_t item, std::size_t bin) const {
    return bin == problem_.items[item].bin || problem_.is_allowed(item, bin);
  }

  void GoHome() {
    PackingState state(problem_);
    std::vector<std::size_t> away;
    std::vector<char> is_kept(problem_.bins.size());
    for (std::size_t item = 0; item < target_.size(); ++item) {
      is_kept[target_[item]] = 1;
      if (target_[item] == problem_.items[item].bin) continue;
      state.Move(item, target_[item]);
      away.push_back(item);
    }
    const auto goes = [&](std::size_t item) {
      const std::size_t home = problem_.items[item].bin;
      if (is_kept[home] == 0 || state.ItemsIn(target_[item]).size() == 1 || !state.HasRoom(item, home)) return false;
      state.Move(item, home);
      target_[item] = home;
      return true;
    };
    while (std::erase_if(away, goes) > 0) {
    }
  }

  const PackingProblem& problem_;
  std::vector<std::size_t>& target_;
};

class Sequence {
 public:
  Sequence(const PackingProblem& problem, const std::vector<std::size_t>& target)
      : state_(problem),
        target_(target),
        is_left_(problem.bins.size(), 1),
        is_on_way_(target.size()),
        has_moved_(target.size()) {
    for (const std::size_t bin : target) is_left_[bin] = 0;
  }

  std::vector<PackingMove> Run() {
    std::vector<std::size_t> waiting;
    for (std::size_t bin = 0; bin < is_left_.size(); ++bin) {
      if (is_left_[bin] != 0 && !state_.ItemsIn(bin).empty()) waiting.push_back(bin);
    }
    std::ranges::stable_sort(waiting, {}, [this](std::size_t bin) {
      return std::pair(!state_.problem().bins[bin].goes_first, state_.ItemsIn(bin).size());
    });
    // The room that one bin's items leave may help bins before it. When nothing helps any more, items go wherever there
    // is room, since the items that were to come there may find some elsewhere.
    for (const bool may_go_elsewhere : {false, true}) {
      may_go_elsewhere_ = may_go_elsewhere;
      while (std::erase_if(waiting, [this](std::size_t bin) { return Empty(bin); }) > 0) {
      }
    }
    return std::move(moves_);
  }

 private:
  bool Empty(std::size_t bin) {
    const std::size_t mark = moves_.size();
    std::vector<std::size_t> items = state_.ItemsIn(bin);
    std::ranges::sort(items);
    std::ranges::stable_sort(items, {}, [this](std::size_t item) { return -state_.ShareOf(item); });
    if (std::ranges::all_of(items, [&](std::size_t item) { return Bring(item, bin, kLinksMax); })) return true;
    while (moves_.size() > mark) {
      const std::size_t item = moves_.back().item;
      state_.Move(item, state_.problem().items[item].bin);
      has_moved_[item] = 0;
      moves_.pop_back();
    }
    return false;
  }

  // Brings the item to its target; those that have yet to leave the target go first if they must.
  bool Bring(std::size_t item, std::size_t empties, std::size_t links) {
    const std::size_t to = target_[item];
    // The last item of a bin does not leave it before another one has come.
    const std::size_t from = state_.BinOf(item);
    if (is_left_[from] == 0 && state_.ItemsIn(from).size() == 1) return false;
    std::size_t where = state_.HasRoom(item, to) ? to : may_go_elsewhere_ ? Elsewhere(item) : kNoBin;
    if (where == kNoBin && links > 0 && MakeRoom(item, empties, links)) where = to;
    if (where == kNoBin) return false;
    state_.Move(item, where);
    has_moved_[item] = 1;
    moves_.push_back({item, where, empties});
    return true;
  }

  bool MakeRoom(std::size_t item, std::size_t empties, std::size_t links) {
    const std::size_t to = target_[item];
    std::vector<std::size_t> leaving;
    for (const std::size_t other : state_.ItemsIn(to)) {
      if (target_[other] != to && has_moved_[other] == 0 && is_on_way_[other] == 0) leaving.push_back(other);
    }
    std::ranges::sort(leaving);
    is_on_way_[item] = 1;
    for (const std::size_t other : leaving) {
      if (state_.HasRoom(item, to)) break;
      // A chain that fails halfway has brought some items to their targets, and is not taken back.
      if (state_.BinOf(other) == to) Bring(other, empties, links - 1);
    }
    is_on_way_[item] = 0;
    return state_.HasRoom(item, to);
  }

  // The tightest bin that has room for the item and keeps items.
  std::size_t Elsewhere(std::size_t item) const {
    std::size_t best = kNoBin;
    double least = 0;
    for (std::size_t bin = 0; bin < state_.bin_count(); ++bin) {
      if (is_left_[bin] != 0 || bin == state_.BinOf(item) || !state_.problem().bins[bin].may_receive ||
          !state_.HasRoom(item, bin)) {
        continue;
      }
      const double left = state_.Leftover(item, bin);
      if ((best != kNoBin && left >= least) || !state_.IsAllowed(item, bin)) continue;
      best = bin;
      least = left;
    }
    return best;
  }

  PackingState state_;
  const std::vector<std::size_t>& target_;
  std::vector<char> is_left_;    // by bin: nothing is there in the end
  std::vector<char> is_on_way_;  // by item
  std::vector<char> has_moved_;  // by item
  bool may_go_elsewhere_ = false;
  std::vector<PackingMove> moves_;
};

}  // namespace

std::vector<PackingMove> OrderMoves(const PackingProblem& problem, std::vector<std::size_t> target) {
  StayAtHome(problem, target).Run();
  return Sequence(problem, target).Run();
}

}  // namespace berth::rebalance
