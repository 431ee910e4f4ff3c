// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_filling.h"

#include <algorithm>

namespace berth::buy {
namespace {

// A kind that is worth something and fits.
struct Item {
  std::size_t kind = 0;
  double value = 0;
  std::int64_t count_max = 0;
  double weight = 0;  // by the weights of resources that were chosen; 0: it takes nothing
  double density = 0;
};

// The resources are added up to one by weights, which makes a problem that has every fill of the node and more.
struct Weighing {
  std::vector<double> weights;  // by resource, of the share of the node's room
  double bound = 0;
};

double WeightOf(const Amounts& size, const Amounts& room, const std::vector<double>& weights) {
  double weight = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (weights[i] > 0 && size[i] > 0)
      weight += weights[i] * static_cast<double>(size[i]) / static_cast<double>(room[i]);
  }
  return weight;
}

class Filler {
 public:
  Filler(const PackingProblem& problem, const NodeOffer& offer, std::vector<Item> items, std::size_t steps_max)
      : problem_(problem), offer_(offer), items_(std::move(items)), steps_max_(steps_max) {}

  // Looks for weights that make the bound small, from those that did so before. Ends when it is `enough` at most.
  void Weigh(double enough, std::vector<double>& weights, std::uint64_t& steps) {
    const std::size_t resources = offer_.room.size();
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < resources; ++i) {
      if (std::ranges::any_of(items_, [&](const Item& item) { return problem_.kinds[item.kind].size[i] > 0; }))
        used.push_back(i);
    }
    Weighing best;
    best.bound = -1;
    const auto consider = [&](std::vector<double> tried) {
      steps += items_.size();
      const double bound = BoundBy(tried);
      if (best.bound < 0 || bound < best.bound) best = {std::move(tried), bound};
      return best.bound <= enough;
    };
    const auto look = [&] {
      if (weights.size() == resources && consider(weights)) return;
      if (weights.empty()) {
        std::vector<double> even(resources, 0);
        for (const std::size_t i : used) even[i] = 1.0 / static_cast<double>(used.size());
        if (consider(std::move(even))) return;
        for (const std::size_t i : used) {
          std::vector<double> alone(resources, 0);
          alone[i] = 1;
          if (consider(std::move(alone))) return;
        }
      }
      // Moves weight to one resource at a time, in steps that become smaller.
      for (double step = weights.empty() ? 0.5 : 0.1; step > 0.02 && used.size() > 1; step /= 2) {
        for (const std::size_t i : used) {
          std::vector<double> moved = best.weights;
          for (double& weight : moved) weight *= 1 - step;
          moved[i] += step;
          if (consider(std::move(moved))) return;
        }
      }
    };
    look();
    bound_ = BoundBy(best.weights);
    weights = std::move(best.weights);
  }

  double bound() const { return bound_; }

  NodeFilling Search(std::uint64_t& steps) {
    room_ = offer_.room;
    counts_.assign(items_.size(), 0);
    best_counts_ = counts_;
    Descend(0, 0, 1);
    steps += steps_;
    NodeFilling filling;
    filling.value = best_value_;
    filling.bound = steps_ < steps_max_ ? std::min(bound_, best_value_ * (1 + 1e-12)) : bound_;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (best_counts_[i] > 0) filling.fill.emplace_back(items_[i].kind, static_cast<std::int32_t>(best_counts_[i]));
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
    return BoundFrom(0, 1);
  }

  double BoundFrom(std::size_t first, double room) const {
    double value = 0;
    for (std::size_t i = first; i < items_.size(); ++i) {
      const Item& item = items_[i];
      const double all = item.weight * static_cast<double>(item.count_max);
      if (all > room) return value + std::max(room, 0.0) * item.density;
      value += item.value * static_cast<double>(item.count_max);
      room -= all;
    }
    return value;
  }

  void Descend(std::size_t first, double value, double weight_left) {
    if (value > best_value_) {
      best_value_ = value;
      best_counts_ = counts_;
    }
    if (first == items_.size() || steps_ >= steps_max_) return;
    ++steps_;
    if (value + BoundFrom(first, weight_left) <= best_value_ * (1 + 1e-12)) return;
    const Item& item = items_[first];
    const Amounts& size = problem_.kinds[item.kind].size;
    std::int64_t most = item.count_max;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0) most = std::min(most, room_[i] / size[i]);
    }
    for (std::int64_t count = most; count >= 0; --count) {
      counts_[first] = count;
      for (std::size_t i = 0; i < size.size(); ++i) room_[i] -= size[i] * count;
      Descend(first + 1, value + item.value * static_cast<double>(count),
              weight_left - item.weight * static_cast<double>(count));
      for (std::size_t i = 0; i < size.size(); ++i) room_[i] += size[i] * count;
      if (steps_ >= steps_max_) break;
    }
    counts_[first] = 0;
  }

  const PackingProblem& problem_;
  const NodeOffer& offer_;
  std::vector<Item> items_;
  const std::size_t steps_max_;
  double bound_ = 0;
  Amounts room_;
  std::vector<std::int64_t> counts_, best_counts_;
  double best_value_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

NodeFilling FillNode(const PackingProblem& problem, const NodeOffer& offer, const std::vector<double>& values,
                     const std::vector<std::int64_t>& counts_max, double enough, std::vector<double>& weights,
                     std::uint64_t& steps, std::size_t steps_max) {
  std::vector<Item> items;
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    const std::int64_t count_max = std::min<std::int64_t>(offer.fits[kind], counts_max[kind]);
    if (values[kind] > 0 && count_max > 0) items.push_back({kind, values[kind], count_max});
  }
  ++steps;
  if (items.empty()) return {};
  Filler filler(problem, offer, std::move(items), steps_max);
  filler.Weigh(enough, weights, steps);
  if (filler.bound() <= enough) return {{}, 0, filler.bound()};
  return filler.Search(steps);
}

}  // namespace berth::buy
