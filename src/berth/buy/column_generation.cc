// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/column_generation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "berth/buy/covering_program.h"
#include "berth/buy/node_filling.h"

namespace berth::buy {
namespace {

// A pod without a node costs as much as so many of the dearest nodes.
constexpr double kMissingCost = 1000;
constexpr double kGainMin = 1e-7;
// Of the bound, for sums of rounded numbers.
constexpr double kBoundSafety = 1 - 1e-9;
// Columns of one round. All offers are looked at only when few can be found.
constexpr std::size_t kColumnsPerRound = 12;
constexpr double kUseMin = 1e-7;

bool IsAsGood(const PackingProblem& problem, std::size_t better, std::size_t worse) {
  const NodeOffer& a = problem.offers[better];
  const NodeOffer& b = problem.offers[worse];
  if (a.count_max != kUnlimited || a.price_micro > b.price_micro) return false;
  for (std::size_t i = 0; i < a.room.size(); ++i) {
    if (a.room[i] < b.room[i]) return false;
  }
  for (std::size_t i = 0; i < a.fits.size(); ++i) {
    if (a.fits[i] < b.fits[i]) return false;
  }
  return std::ranges::all_of(problem.limits,
                             [&](const SideLimit& limit) { return limit.per_offer[better] <= limit.per_offer[worse]; });
}

}  // namespace

Remainder Everything(const PackingProblem& problem) {
  Remainder rest;
  for (const PodKind& kind : problem.kinds) rest.demands.push_back(kind.count);
  for (const SideLimit& limit : problem.limits) rest.limits.push_back(limit.max);
  for (const NodeOffer& offer : problem.offers) rest.offers_left.push_back(offer.count_max);
  return rest;
}

void Buy(const PackingProblem& problem, PackedNode& node, Remainder& rest) {
  for (auto& [kind, count] : node.fill) {
    count = static_cast<std::int32_t>(std::min<std::int64_t>(count, rest.demands[kind]));
    rest.demands[kind] -= count;
  }
  std::erase_if(node.fill, [](const auto& part) { return part.second == 0; });
  if (rest.offers_left[node.offer] != kUnlimited) --rest.offers_left[node.offer];
  for (std::size_t i = 0; i < problem.limits.size(); ++i) rest.limits[i] -= problem.limits[i].per_offer[node.offer];
}

bool MayBuy(const PackingProblem& problem, std::size_t offer, const Remainder& rest) {
  if (rest.offers_left[offer] <= 0) return false;
  for (std::size_t i = 0; i < problem.limits.size(); ++i) {
    const double amount = problem.limits[i].per_offer[offer];
    if (amount > 0 && amount > rest.limits[i] + 1e-9) return false;
  }
  return true;
}

ColumnGeneration::ColumnGeneration(const PackingProblem& problem)
    : problem_(problem), weights_(problem.offers.size()), is_scarce_(problem.offers.size(), 0) {
  std::vector<std::size_t> by_price(problem.offers.size());
  std::iota(by_price.begin(), by_price.end(), std::size_t{0});
  std::ranges::stable_sort(by_price, {}, [&](std::size_t i) { return problem.offers[i].price_micro; });
  for (const std::size_t offer : by_price) {
    if (std::ranges::none_of(offers_, [&](std::size_t kept) { return IsAsGood(problem, kept, offer); }))
      offers_.push_back(offer);
  }
  for (const std::size_t offer : offers_)
    scale_ = std::max(scale_, static_cast<double>(problem.offers[offer].price_micro));
  AddSimpleColumns();
}

// For each kind the offer that takes its pods at the least price each.
void ColumnGeneration::AddSimpleColumns() {
  for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
    std::optional<PackedNode> best;
    double least = 0;
    for (const std::size_t index : offers_) {
      const NodeOffer& offer = problem_.offers[index];
      const auto count =
          static_cast<std::int32_t>(std::min<std::int64_t>(offer.fits[kind], problem_.kinds[kind].count));
      if (count <= 0) continue;
      const double each = static_cast<double>(offer.price_micro) / count;
      if (best && each >= least) continue;
      least = each;
      best = PackedNode{index, {{kind, count}}};
    }
    if (best) columns_.push_back(std::move(*best));
  }
}

bool ColumnGeneration::AddColumn(PackedNode column) {
  if (columns_.size() >= kColumnsMax) return false;
  columns_.push_back(std::move(column));
  return true;
}

PackedNode ColumnGeneration::RandomNode(const Remainder& rest, Random& random) {
  const std::size_t index = offers_[random.Below(offers_.size())];
  const NodeOffer& offer = problem_.offers[index];
  std::vector<double> values(problem_.kinds.size(), 0);
  for (std::size_t kind = 0; kind < values.size(); ++kind) {
    if (rest.demands[kind] <= 0 || offer.fits[kind] == 0) continue;
    const Amounts& size = problem_.kinds[kind].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (size[i] > 0) values[kind] += static_cast<double>(size[i]) / static_cast<double>(offer.room[i]);
    }
    values[kind] *= 0.8 + 0.004 * static_cast<double>(random.Below(100));
  }
  std::vector<double> weights;
  return {index, FillNode(problem_, offer, values, rest.demands, 0, weights, steps_).fill};
}

ColumnGeneration::Solution ColumnGeneration::Solve(const Remainder& rest, std::size_t rounds_max) {
  constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  Solution solution;
  for (;;) {
    // Rows: kinds in demand, side limits, offers of which there are few.
    std::vector<std::size_t> row_of_kind(problem_.kinds.size(), kNoRow);
    std::vector<double> demands;
    for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
      if (rest.demands[kind] <= 0) continue;
      row_of_kind[kind] = demands.size();
      demands.push_back(static_cast<double>(rest.demands[kind]));
    }
    solution = {};
    if (demands.empty()) return solution;
    std::vector<double> limits = rest.limits;
    std::vector<std::size_t> row_of_offer(problem_.offers.size(), kNoRow);
    for (const std::size_t offer : offers_) {
      if (is_scarce_[offer] == 0) continue;
      row_of_offer[offer] = demands.size() + limits.size();
      limits.push_back(static_cast<double>(rest.offers_left[offer]));
    }
    CoveringProgram program(demands, limits, kMissingCost);
    std::vector<std::size_t> used_columns;
    const auto add = [&](std::size_t index) {
      const PackedNode& node = columns_[index];
      if (rest.offers_left[node.offer] <= 0) return;
      CoveringProgram::Column column;
      for (const auto& [kind, count] : node.fill) {
        if (row_of_kind[kind] != kNoRow)
          column.emplace_back(row_of_kind[kind],
                              static_cast<double>(std::min<std::int64_t>(count, rest.demands[kind])));
      }
      if (column.empty()) return;
      for (std::size_t i = 0; i < problem_.limits.size(); ++i) {
        const double amount = problem_.limits[i].per_offer[node.offer];
        if (amount != 0) column.emplace_back(demands.size() + i, amount);
      }
      if (row_of_offer[node.offer] != kNoRow) column.emplace_back(row_of_offer[node.offer], 1.0);
      used_columns.push_back(index);
      program.AddColumn(std::move(column), static_cast<double>(problem_.offers[node.offer].price_micro) / scale_);
    };
    for (std::size_t i = 0; i < columns_.size(); ++i) add(i);
    std::vector<double> worth(problem_.kinds.size(), 0);
    std::size_t filling_steps = kFillingStepsUsual;
    for (std::size_t round = 0;; ++round) {
      const std::size_t before = program.pivot_count();
      program.Solve(kPivotsMax);
      const std::size_t rows = demands.size() + limits.size();
      steps_ += (program.pivot_count() - before + 1) * (rows * rows / 256 + used_columns.size() / 16 + 1);
      for (std::size_t kind = 0; kind < worth.size(); ++kind)
        worth[kind] = row_of_kind[kind] == kNoRow ? 0 : program.demand_prices()[row_of_kind[kind]];
      // With the duals of limits, an offer's price is higher by what it takes of them.
      double of_demands = 0;
      for (std::size_t i = 0; i < demands.size(); ++i) of_demands += program.demand_prices()[i] * demands[i];
      double of_limits = 0;
      for (std::size_t i = 0; i < limits.size(); ++i) of_limits += program.limit_prices()[i] * limits[i];
      const auto full_price = [&](std::size_t offer) {
        double price = static_cast<double>(problem_.offers[offer].price_micro) / scale_;
        for (std::size_t i = 0; i < problem_.limits.size(); ++i)
          price += program.limit_prices()[i] * problem_.limits[i].per_offer[offer];
        if (row_of_offer[offer] != kNoRow) price += program.limit_prices()[row_of_offer[offer] - demands.size()];
        return price;
      };
      std::vector<std::size_t> added;
      std::vector<std::pair<std::size_t, double>> bounds;  // what an offer's best filling is worth at most
      bool has_all = true;
      bool is_sound = true;
      for (std::size_t i = 0; i < offers_.size(); ++i) {
        const std::size_t offer = offers_[(next_offer_ + i) % offers_.size()];
        if (rest.offers_left[offer] <= 0) continue;
        const double price = full_price(offer);
        is_sound = is_sound && price >= 0;
        NodeFilling filling = FillNode(problem_, problem_.offers[offer], worth, rest.demands, price + kGainMin / 2,
                                       weights_[offer], steps_, filling_steps);
        bounds.emplace_back(offer, filling.bound);
        if (filling.value <= price + kGainMin || filling.fill.empty()) continue;
        if (!AddColumn({offer, std::move(filling.fill)})) continue;
        added.push_back(columns_.size() - 1);
        if (added.size() < kColumnsPerRound) continue;
        next_offer_ = (next_offer_ + i + 1) % offers_.size();
        has_all = i + 1 == offers_.size();
        break;
      }
      if (has_all && is_sound) {
        double factor = 1;
        for (const auto& [offer, bound] : bounds) {
          if (rest.offers_left[offer] == kUnlimited && bound > full_price(offer))
            factor = std::min(factor, full_price(offer) / bound);
        }
        double bound_of_all = factor * of_demands - of_limits;
        for (const auto& [offer, bound] : bounds) {
          if (rest.offers_left[offer] == kUnlimited) continue;
          bound_of_all -=
              static_cast<double>(rest.offers_left[offer]) * std::max(factor * bound - full_price(offer), 0.0);
        }
        solution.bound_micro = std::max(solution.bound_micro, bound_of_all * scale_ * kBoundSafety);
      }
      if (round >= rounds_max) break;
      if (added.empty() && (filling_steps == kFillingStepsThorough || rounds_max < kRoundsMax)) break;
      // The last columns and the bound of the whole are worth a thorough search.
      if (added.empty()) filling_steps = kFillingStepsThorough;
      for (const std::size_t index : added) add(index);
    }
    const std::vector<double> values = program.Values();
    double price = 0;
    std::vector<double> of_offers(problem_.offers.size(), 0);
    solution.uses.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < kUseMin) continue;
      const std::size_t offer = columns_[used_columns[i]].offer;
      solution.uses.push_back({used_columns[i], values[i]});
      price += values[i] * static_cast<double>(problem_.offers[offer].price_micro);
      of_offers[offer] += values[i];
    }
    solution.price_micro = price;
    solution.missing = std::max(program.objective() - price / scale_, 0.0) / kMissingCost;
    bool is_within = true;
    for (const std::size_t offer : offers_) {
      if (rest.offers_left[offer] == kUnlimited || is_scarce_[offer] != 0 ||
          of_offers[offer] <= static_cast<double>(rest.offers_left[offer]) + kUseMin)
        continue;
      is_scarce_[offer] = 1;
      is_within = false;
    }
    if (is_within) return solution;
  }
}

}  // namespace berth::buy
