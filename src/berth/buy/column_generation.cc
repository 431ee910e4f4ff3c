// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/column_generation.h"

#include <algorithm>
#include <array>
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
// How much more than an offer's price a filling must be worth, as a share of it, to be looked for: columns that save
// much come first. What is left at the end makes the bound lower by no more than the last of them.
constexpr std::array<double, 4> kGainShares = {0.03, 0.004, 0.0005, 0};
// The part that prices by amounts have in those of the first rounds, and the last one before they have none.
constexpr double kSteadiness = 0.8;
constexpr double kSteadinessMin = 0.15;
// Offers that AddWorthyColumns() chooses from, those with the highest bound of worth, and the part of the steps that it
// may take.
constexpr std::size_t kCandidatesMax = 16;
constexpr std::uint64_t kWorthyPart = 3;
// The relaxation is solved when the bound is so close below its price.
constexpr double kGapMin = 1e-6;

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

// What pods would be worth if nodes were nothing but their amounts: prices of amounts come from a linear program of one
// row each. Early prices of the real program are far off; these are near, and steady them.
std::vector<double> ColumnGeneration::WorthByAmounts(const Remainder& rest) const {
  std::vector<double> worth(problem_.kinds.size(), 0);
  if (problem_.kinds.empty()) return worth;
  const std::size_t amounts = problem_.kinds.front().size.size();
  std::vector<double> needed(amounts, 0);
  for (std::size_t kind = 0; kind < worth.size(); ++kind) {
    for (std::size_t i = 0; i < amounts; ++i)
      needed[i] += static_cast<double>(rest.demands[kind]) * static_cast<double>(problem_.kinds[kind].size[i]);
  }
  // Each amount in parts of what is needed of it, so that the rows are of one scale.
  CoveringProgram program(std::vector<double>(amounts, 1), {}, kMissingCost * static_cast<double>(offers_.size()));
  for (const std::size_t offer : offers_) {
    if (rest.offers_left[offer] <= 0) continue;
    CoveringProgram::Column column;
    for (std::size_t i = 0; i < amounts; ++i) {
      const auto room = static_cast<double>(problem_.offers[offer].room[i]);
      if (needed[i] > 0 && room > 0) column.emplace_back(i, room / needed[i]);
    }
    if (!column.empty())
      program.AddColumn(std::move(column), static_cast<double>(problem_.offers[offer].price_micro) / scale_);
  }
  program.Solve(kPivotsMax);
  for (std::size_t kind = 0; kind < worth.size(); ++kind) {
    for (std::size_t i = 0; i < amounts; ++i) {
      if (needed[i] > 0)
        worth[kind] += program.demand_prices()[i] * static_cast<double>(problem_.kinds[kind].size[i]) / needed[i];
    }
  }
  return worth;
}

// A bound of the price that needs no columns, for where there is no time for more: weak duality with these prices of
// pods, and with bounds of the fillings that are not searched for.
double ColumnGeneration::BoundByWorth(const Remainder& rest, const std::vector<double>& worth) {
  double of_demands = 0;
  for (std::size_t kind = 0; kind < worth.size(); ++kind)
    of_demands += worth[kind] * static_cast<double>(std::max<std::int64_t>(rest.demands[kind], 0));
  double factor = 1;
  double of_scarce = 0;
  worthiness_.assign(problem_.offers.size(), 0);
  for (const std::size_t offer : offers_) {
    if (rest.offers_left[offer] <= 0) continue;
    const double price = static_cast<double>(problem_.offers[offer].price_micro) / scale_;
    const double bound =
        FillNode(problem_, problem_.offers[offer], worth, rest.demands, 0, weights_[offer], steps_, 0).bound;
    worthiness_[offer] = bound / std::max(price, 1e-12);
    if (bound <= price) continue;
    if (rest.offers_left[offer] == kUnlimited) {
      factor = std::min(factor, price / bound);
    } else {
      of_scarce += static_cast<double>(rest.offers_left[offer]) * (bound - price);
    }
  }
  return std::max(factor * of_demands - of_scarce, 0.0) * scale_ * kBoundSafety;
}

// Fills the nodes that are most worth their price, one after the other and each as often as the demand allows, which
// is a packing of its own. Its columns are good ones to begin with.
void ColumnGeneration::AddWorthyColumns(Remainder rest, const std::vector<double>& worth, std::uint64_t steps_end) {
  std::vector<std::size_t> candidates;
  for (const std::size_t offer : offers_) {
    if (worthiness_[offer] > 0) candidates.push_back(offer);
  }
  std::ranges::stable_sort(candidates, std::greater<>(), [&](std::size_t offer) { return worthiness_[offer]; });
  while (steps_ < steps_end && columns_.size() < kColumnsMax) {
    PackedNode best;
    double most = 0;
    std::size_t looked_at = 0;
    for (const std::size_t offer : candidates) {
      if (!MayBuy(problem_, offer, rest)) continue;
      if (++looked_at > kCandidatesMax) break;
      const double price = std::max(static_cast<double>(problem_.offers[offer].price_micro) / scale_, 1e-12);
      NodeFilling filling = FillNode(problem_, problem_.offers[offer], worth, rest.demands, most * price,
                                     weights_[offer], steps_, kFillingStepsQuick);
      if (filling.fill.empty() || filling.value <= most * price) continue;
      most = filling.value / price;
      best = {offer, std::move(filling.fill)};
    }
    if (best.fill.empty()) break;
    std::int64_t times = kUnlimited;
    for (const auto& [kind, count] : best.fill) times = std::min(times, rest.demands[kind] / count);
    if (!AddColumn(best)) break;
    for (; times > 0 && MayBuy(problem_, best.offer, rest); --times) Buy(problem_, best, rest);
  }
}

ColumnGeneration::Solution ColumnGeneration::Solve(const Remainder& rest, std::size_t rounds_max,
                                                   std::uint64_t steps_max) {
  const std::uint64_t steps_end = steps_max < kUnlimitedSteps - steps_ ? steps_ + steps_max : kUnlimitedSteps;
  constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  Solution solution;
  const bool is_whole = rounds_max >= kRoundsMax;
  std::vector<double> center;
  double first_bound = 0;
  if (is_whole) {
    center = WorthByAmounts(rest);
    first_bound = BoundByWorth(rest, center);
    AddWorthyColumns(rest, center, std::min(steps_end, steps_ + steps_max / kWorthyPart));
  }
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
    std::size_t share = 0;
    double steadiness = is_whole ? kSteadiness : 0;
    solution.bound_micro = first_bound;
    for (std::size_t round = 0;; ++round) {
      const std::size_t before = program.pivot_count();
      program.Solve(kPivotsMax);
      const std::size_t rows = demands.size() + limits.size();
      steps_ += (program.pivot_count() - before + 1) * (rows * rows / 256 + used_columns.size() / 16 + 1);
      for (std::size_t kind = 0; kind < worth.size(); ++kind)
        worth[kind] = row_of_kind[kind] == kNoRow ? 0 : program.demand_prices()[row_of_kind[kind]];
      // Any prices of demands make a bound.
      double of_demands = 0;
      for (std::size_t kind = 0; kind < worth.size(); ++kind) {
        if (row_of_kind[kind] == kNoRow) continue;
        if (steadiness > 0) worth[kind] = steadiness * center[kind] + (1 - steadiness) * worth[kind];
        of_demands += worth[kind] * demands[row_of_kind[kind]];
      }
      // With the duals of limits, an offer's price is higher by what it takes of them.
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
        const double enough = price + std::max(price, 0.0) * kGainShares[share];
        NodeFilling filling = FillNode(problem_, problem_.offers[offer], worth, rest.demands, enough + kGainMin / 2,
                                       weights_[offer], steps_, filling_steps);
        bounds.emplace_back(offer, filling.bound);
        if (filling.value <= enough + kGainMin || filling.fill.empty()) continue;
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
      if (round >= rounds_max || steps_ >= steps_end) break;
      const double objective = program.objective() * scale_;
      if (has_all && objective - solution.bound_micro <= objective * kGapMin) break;
      if (added.empty() && steadiness > 0) {
        steadiness = steadiness > kSteadinessMin ? steadiness / 2 : 0;
      } else if (added.empty() && share + 1 < kGainShares.size()) {
        ++share;
      } else if (added.empty()) {
        // The last columns and the bound of the whole are worth a thorough search.
        if (filling_steps == kFillingStepsThorough || rounds_max < kRoundsMax) break;
        filling_steps = kFillingStepsThorough;
      }
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
