// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_filling.h"

#include <algorithm>
#include <limits>

namespace berth::buy {
namespace {

constexpr std::uint64_t kLooksPerStep = 8;

// A kind that is worth something and fits; or several of the same size and worth, in the order of kinds.
struct Item {
  std::size_t kind = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> kinds;  // each with its most; empty: it is one alone
  double value = 0;
  std::int64_t count_max = 0;
  double weight = 0;  // by the weights of resources that were chosen; 0: it takes nothing
  double density = 0;
};

// The resources are added up to one by weights, of the share of the node's room, which makes a problem that has every
// fill of the node and more.
double WeightOf(const Amounts& size, const Amounts& room, const std::vector<double>& weights) {
  double weight = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (weights[i] > 0 && size[i] > 0)
      weight += weights[i] * static_cast<double>(size[i]) / static_cast<double>(room[i]);
  }
  return weight;
}

// The best fill if pods could be divided, by the simplex method with bounded variables; one row for each resource. Only
// its prices of resources are wanted, and a bound that follows from them holds whatever was rounded on the way.
class DividedFill {
 public:
  // `sizes`: by item and resource, of the room.
  DividedFill(const std::vector<Item>& items, const std::vector<double>& sizes, std::size_t rows)
      : items_(items), sizes_(sizes), rows_(rows), is_full_(items.size(), 0), is_basic_(items.size() + rows, 0) {
    for (std::size_t row = 0; row < rows; ++row) {
      basis_.push_back(items.size() + row);
      is_basic_[items.size() + row] = 1;
    }
    amounts_.assign(rows, 1);
    inverse_.assign(rows * rows, 0);
    for (std::size_t row = 0; row < rows; ++row) inverse_[row * rows + row] = 1;
    column_.resize(rows);
  }

  // By resource. Ends early, with prices that are worse, after some steps.
  std::vector<double> Prices(std::uint64_t& steps) {
    const std::size_t steps_max = 2 * items_.size() + 10 * rows_;
    for (std::size_t step = 0; step < steps_max; ++step) {
      steps += 1 + items_.size() * rows_ / kMultipliedPerStep;
      if (!Improve()) break;
    }
    for (double& price : prices_) price = std::max(price, 0.0);
    return prices_;
  }

 private:
  static constexpr double kTolerance = 1e-9;
  static constexpr std::size_t kMultipliedPerStep = 32;

  double UpperOf(std::size_t variable) const {
    return variable < items_.size() ? static_cast<double>(items_[variable].count_max) : kNoBound;
  }
  double ValueOf(std::size_t variable) const { return variable < items_.size() ? items_[variable].value : 0; }

  bool Improve() {
    prices_.assign(rows_, 0);
    for (std::size_t k = 0; k < rows_; ++k) {
      const double value = ValueOf(basis_[k]);
      if (value == 0) continue;
      for (std::size_t row = 0; row < rows_; ++row) prices_[row] += value * inverse_[k * rows_ + row];
    }
    // What gains most by its bound comes first, so that most steps need no change of the basis.
    std::size_t entering = items_.size() + rows_;
    double most = kTolerance;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (is_basic_[i] != 0) continue;
      double gain = items_[i].value;
      for (std::size_t row = 0; row < rows_; ++row) gain -= prices_[row] * sizes_[i * rows_ + row];
      if (is_full_[i] != 0) gain = -gain;
      if (gain <= kTolerance) continue;
      gain *= UpperOf(i);
      if (gain <= most) continue;
      most = gain;
      entering = i;
    }
    for (std::size_t row = 0; row < rows_; ++row) {
      if (is_basic_[items_.size() + row] != 0 || -prices_[row] <= most) continue;
      most = -prices_[row];
      entering = items_.size() + row;
    }
    if (entering == items_.size() + rows_) return false;
    Enter(entering);
    return true;
  }

  void Enter(std::size_t entering) {
    const bool is_item = entering < items_.size();
    for (std::size_t k = 0; k < rows_; ++k) {
      column_[k] = 0;
      for (std::size_t row = 0; row < rows_; ++row) {
        const double size = is_item ? sizes_[entering * rows_ + row] : (row == entering - items_.size() ? 1.0 : 0.0);
        column_[k] += inverse_[k * rows_ + row] * size;
      }
    }
    const bool falls = is_item && is_full_[entering] != 0;
    const double direction = falls ? -1 : 1;
    double step = UpperOf(entering);
    std::size_t leaving = rows_;
    bool leaves_full = false;
    for (std::size_t k = 0; k < rows_; ++k) {
      const double slope = column_[k] * direction;
      double limit = kNoBound;
      if (slope > kTolerance) limit = amounts_[k] / slope;
      if (slope < -kTolerance && UpperOf(basis_[k]) < kNoBound) limit = (UpperOf(basis_[k]) - amounts_[k]) / -slope;
      if (limit >= step) continue;
      step = std::max(limit, 0.0);
      leaving = k;
      leaves_full = slope < 0;
    }
    for (std::size_t k = 0; k < rows_; ++k) amounts_[k] -= column_[k] * direction * step;
    if (leaving == rows_) {
      is_full_[entering] ^= 1;
      return;
    }
    const std::size_t out = basis_[leaving];
    is_basic_[out] = 0;
    if (out < items_.size()) is_full_[out] = leaves_full ? 1 : 0;
    basis_[leaving] = entering;
    is_basic_[entering] = 1;
    amounts_[leaving] = falls ? UpperOf(entering) - step : step;
    if (is_item) is_full_[entering] = 0;
    const double pivot = column_[leaving];
    for (std::size_t row = 0; row < rows_; ++row) inverse_[leaving * rows_ + row] /= pivot;
    for (std::size_t k = 0; k < rows_; ++k) {
      if (k == leaving || column_[k] == 0) continue;
      for (std::size_t row = 0; row < rows_; ++row)
        inverse_[k * rows_ + row] -= column_[k] * inverse_[leaving * rows_ + row];
    }
  }

  static constexpr double kNoBound = std::numeric_limits<double>::max();

  const std::vector<Item>& items_;
  const std::vector<double>& sizes_;
  const std::size_t rows_;
  // Variables are the items and then what is free of each resource. One that is not basic is at zero or, if it is full,
  // at its bound.
  std::vector<std::uint8_t> is_full_, is_basic_;
  std::vector<std::size_t> basis_;
  std::vector<double> amounts_;  // of the basic variables
  std::vector<double> inverse_, column_, prices_;
};

class Filler {
 public:
  Filler(const PackingProblem& problem, const NodeOffer& offer, std::vector<Item> items, std::size_t steps_max)
      : problem_(problem), offer_(offer), items_(std::move(items)), steps_max_(steps_max) {}

  // Looks for weights that make the bound small. Those that did so before are enough where the bound is `enough` at
  // most.
  void Weigh(double enough, std::vector<double>& weights, std::uint64_t& steps) {
    const std::size_t resources = offer_.room.size();
    steps += 1 + items_.size() / kLooksPerStep;
    if (weights.size() == resources) {
      bound_ = BoundBy(weights);
      if (bound_ <= enough) return;
    }
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < resources; ++i) {
      if (std::ranges::any_of(items_, [&](const Item& item) { return problem_.kinds[item.kind].size[i] > 0; }))
        used.push_back(i);
    }
    std::vector<double> sizes;
    sizes.reserve(items_.size() * used.size());
    for (const Item& item : items_) {
      for (const std::size_t i : used) {
        sizes.push_back(static_cast<double>(problem_.kinds[item.kind].size[i]) /
                        static_cast<double>(std::max<std::int64_t>(offer_.room[i], 1)));
      }
    }
    const std::vector<double> prices = DividedFill(items_, sizes, used.size()).Prices(steps);
    double sum = 0;
    for (const double price : prices) sum += price;
    std::vector<double> found(resources, 0);
    // Where no resource is scarce, any weights do.
    for (std::size_t k = 0; k < used.size(); ++k)
      found[used[k]] = sum > 0 ? prices[k] / sum : 1.0 / static_cast<double>(used.size());
    const double before = weights.size() == resources ? bound_ : std::numeric_limits<double>::max();
    bound_ = BoundBy(found);
    if (bound_ <= before) {
      weights = std::move(found);
    } else {
      bound_ = BoundBy(weights);
    }
  }

  double bound() const { return bound_; }

  NodeFilling Search(double enough, std::uint64_t& steps) {
    room_ = offer_.room;
    enough_ = enough;
    counts_.assign(items_.size(), 0);
    best_counts_ = counts_;
    Descend(0, 0, 1);
    steps += steps_ + looks_ / kLooksPerStep;
    NodeFilling filling;
    filling.value = best_value_;
    filling.bound = steps_ < steps_max_ ? std::min(bound_, Needed()) : bound_;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      std::int64_t count = best_counts_[i];
      if (items_[i].kinds.empty() && count > 0)
        filling.fill.emplace_back(items_[i].kind, static_cast<std::int32_t>(count));
      for (const auto& [kind, most] : items_[i].kinds) {
        const std::int64_t taken = std::min(count, most);
        if (taken > 0) filling.fill.emplace_back(kind, static_cast<std::int32_t>(taken));
        count -= taken;
      }
    }
    std::ranges::sort(filling.fill);
    return filling;
  }

 private:
  // The value of the best fill if pods could be divided; sorts the items by it.
  double BoundBy(const std::vector<double>& weights) {
    for (Item& item : items_) {
      item.weight = WeightOf(problem_.kinds[item.kind].size, offer_.room, weights);
      item.density = item.value / std::max(item.weight, 1e-15);
    }
    std::ranges::sort(items_, [](const Item& a, const Item& b) {
      return a.density != b.density ? a.density > b.density : a.kind < b.kind;
    });
    return BoundFrom(0, 1, false);
  }

  // `only_fitting`: only with items of which the room that is left takes one at least.
  double BoundFrom(std::size_t first, double room, bool only_fitting) {
    double value = 0;
    for (std::size_t i = first; i < items_.size(); ++i) {
      ++looks_;
      const Item& item = items_[i];
      if (only_fitting && !IsRoomFor(item)) continue;
      const double all = item.weight * static_cast<double>(item.count_max);
      if (all > room) return value + std::max(room, 0.0) * item.density;
      value += item.value * static_cast<double>(item.count_max);
      room -= all;
    }
    return value;
  }

  bool IsRoomFor(const Item& item) const {
    const Amounts& size = problem_.kinds[item.kind].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0 && size[i] > room_[i]) return false;
    }
    return true;
  }

  // What a fill must be worth more than to be of any use.
  double Needed() const { return std::max(best_value_ * (1 + 1e-12), enough_); }

  // False: nothing that begins like this is of use, nor with fewer pods of the last item.
  bool Descend(std::size_t first, double value, double weight_left) {
    if (value > best_value_) {
      best_value_ = value;
      best_counts_ = counts_;
    }
    if (first == items_.size() || steps_ >= steps_max_) return true;
    ++steps_;
    if (value + BoundFrom(first, weight_left, false) <= Needed()) return false;
    if (value + BoundFrom(first, weight_left, true) <= Needed()) return true;
    const Item& item = items_[first];
    const Amounts& size = problem_.kinds[item.kind].size;
    std::int64_t most = item.count_max;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0) most = std::min(most, room_[i] / size[i]);
    }
    for (std::int64_t count = most; count >= 0; --count) {
      counts_[first] = count;
      for (std::size_t i = 0; i < size.size(); ++i) room_[i] -= size[i] * count;
      const bool is_of_use = Descend(first + 1, value + item.value * static_cast<double>(count),
                                     weight_left - item.weight * static_cast<double>(count));
      for (std::size_t i = 0; i < size.size(); ++i) room_[i] += size[i] * count;
      // Later items are worth less by weight, so that fewer of this one make the bound no higher.
      if (!is_of_use || steps_ >= steps_max_) break;
    }
    counts_[first] = 0;
    return true;
  }

  const PackingProblem& problem_;
  const NodeOffer& offer_;
  std::vector<Item> items_;
  const std::size_t steps_max_;
  double bound_ = 0;
  double enough_ = 0;
  std::uint64_t looks_ = 0;  // at items, for bounds
  Amounts room_;
  std::vector<std::int64_t> counts_, best_counts_;
  double best_value_ = 0;
  std::size_t steps_ = 0;
};

// Items of the same size and worth become one, which spares the search their permutations.
void MergeAlike(const PackingProblem& problem, std::vector<Item>& items) {
  std::ranges::sort(items, [&](const Item& a, const Item& b) {
    if (a.value != b.value) return a.value < b.value;
    const Amounts& of_a = problem.kinds[a.kind].size;
    const Amounts& of_b = problem.kinds[b.kind].size;
    return of_a != of_b ? of_a < of_b : a.kind < b.kind;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item* last = kept == 0 ? nullptr : &items[kept - 1];
    if (last == nullptr || items[i].value != last->value ||
        problem.kinds[items[i].kind].size != problem.kinds[last->kind].size) {
      if (kept != i) items[kept] = std::move(items[i]);
      ++kept;
      continue;
    }
    if (last->kinds.empty()) last->kinds.emplace_back(last->kind, last->count_max);
    last->kinds.emplace_back(items[i].kind, items[i].count_max);
    last->count_max += items[i].count_max;
  }
  items.resize(kept);
}

}  // namespace

NodeFilling FillNode(const PackingProblem& problem, const NodeOffer& offer, const std::vector<double>& values,
                     const std::vector<std::int64_t>& counts_max, double enough, std::vector<double>& weights,
                     std::uint64_t& steps, std::size_t steps_max) {
  std::vector<Item> items;
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    const std::int64_t count_max = std::min<std::int64_t>(offer.fits[kind], counts_max[kind]);
    if (values[kind] > 0 && count_max > 0) items.push_back({kind, {}, values[kind], count_max});
  }
  ++steps;
  if (items.empty()) return {};
  MergeAlike(problem, items);
  Filler filler(problem, offer, std::move(items), steps_max);
  filler.Weigh(enough, weights, steps);
  if (filler.bound() <= enough) return {{}, 0, filler.bound()};
  return filler.Search(enough, steps);
}

}  // namespace berth::buy
