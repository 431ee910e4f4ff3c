// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_packer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "berth/base/random.h"
#include "berth/buy/column_generation.h"

namespace berth::buy {
namespace {

// Rounds of new columns for a remainder: most of what it needs is there.
constexpr std::size_t kDiveRoundsMax = 60;
// Of all steps, those that the relaxation of the whole may take; and of what is left, each one of a remainder.
constexpr std::uint64_t kRootPart = 2;
constexpr std::uint64_t kDivePart = 16;
// Of the columns that are used in part, so many become nodes before the next solution.
constexpr std::size_t kAtOncePart = 12;
// Nodes that are given up together.
constexpr std::size_t kNeighboursMin = 1;
constexpr std::size_t kNeighboursMax = 7;
// Neighbourhoods without a gain, one after the other, after which it is over; more for more nodes.
constexpr std::size_t kVainPerNode = 12;
constexpr std::size_t kVainMin = 150;
constexpr std::size_t kVainMax = 1'500;

// Prices are multiples of the greatest common divisor of all offers' prices, so that the bound may be raised to one.
std::int64_t RoundedBound(const PackingProblem& problem, double bound_micro) {
  std::int64_t divisor = 0;
  for (const NodeOffer& offer : problem.offers) divisor = std::gcd(divisor, offer.price_micro);
  const double safe = std::max(bound_micro - 1e-3, 0.0);
  if (divisor == 0) return 0;
  return static_cast<std::int64_t>(std::ceil(safe / static_cast<double>(divisor) - 1e-9)) * divisor;
}

// Where something is left in any case, no price bounds anything.
std::int64_t BoundOf(const PackingProblem& problem, const ColumnGeneration::Solution& solution) {
  constexpr double kMissingMin = 1e-6;
  return solution.missing > kMissingMin ? 0 : RoundedBound(problem, solution.bound_micro);
}

class Packer {
 public:
  Packer(const PackingProblem& problem, const PackOptions& options)
      : problem_(problem), options_(options), generation_(problem) {}

  PackResult Go() {
    const Remainder all = Everything(problem_);
    auto root = generation_.Solve(all, ColumnGeneration::kRoundsMax, options_.steps_max / kRootPart);
    PackResult result;
    result.bound_micro = BoundOf(problem_, root);
    result.packing = Dive(all, std::move(root));
    Shrink(result.packing);
    if (result.packing.LeftCount() == 0) Improve(result.packing, result.bound_micro);
    result.is_interrupted = IsInterrupted();
    return result;
  }

 private:
  bool IsInterrupted() const { return options_.is_interrupted && options_.is_interrupted(); }
  bool IsOver() const { return generation_.steps() >= options_.steps_max || IsInterrupted(); }
  std::uint64_t Used() const { return std::min(generation_.steps(), options_.steps_max); }

  // Makes the solution's nodes whole, the surest first; or, with `random`, one by one, each as likely as it is used.
  // `price_max`: what costs more is of no use.
  Packing Dive(Remainder rest, ColumnGeneration::Solution solution, std::int64_t price_max = kUnlimited,
               Random* random = nullptr) {
    Packing packing;
    std::optional<Packing> closed;  // the same, with one node for all that was left at some point
    for (;;) {
      if (packing.price_micro >= price_max) break;
      Close(rest, packing, closed);
      std::vector<ColumnGeneration::Use>& uses = solution.uses;
      bool has_bought = false;
      if (random != nullptr && random->Below(kRandomNodesPart) == 0)
        has_bought = Take(generation_.RandomNode(rest, *random), rest, packing);
      if (random != nullptr) Shuffle(uses, *random);
      for (const auto& use : uses) {
        if (random != nullptr) break;
        const auto whole = static_cast<std::int64_t>(use.amount + 1e-6);
        for (std::int64_t i = 0; i < whole && Take(generation_.column(use.column), rest, packing); ++i)
          has_bought = true;
      }
      if (!has_bought) {
        if (random == nullptr) {
          std::ranges::sort(uses, [](const auto& a, const auto& b) {
            return a.amount != b.amount ? a.amount > b.amount : a.column < b.column;
          });
        }
        // Many at once where many are used in part, so that the program is not solved again for each.
        const std::size_t at_once = random == nullptr ? std::max<std::size_t>(uses.size() / kAtOncePart, 1) : 1;
        std::size_t bought = 0;
        for (const auto& use : uses) {
          bought += Take(generation_.column(use.column), rest, packing) ? 1 : 0;
          if (bought == at_once) break;
        }
        has_bought = bought > 0;
      }
      if (!has_bought) break;
      if (std::ranges::all_of(rest.demands, [](std::int64_t demand) { return demand == 0; })) break;
      solution = generation_.Solve(rest, IsOver() ? 0 : kDiveRoundsMax, (options_.steps_max - Used()) / kDivePart);
    }
    packing.left = rest.demands;
    if (closed && (packing.LeftCount() > 0 || closed->price_micro < packing.price_micro)) return *std::move(closed);
    return packing;
  }

  // Puts one of the uses first, each as likely as its amount is large.
  static void Shuffle(std::vector<ColumnGeneration::Use>& uses, Random& random) {
    constexpr std::uint64_t kParts = 1 << 20;
    double sum = 0;
    for (const auto& use : uses) sum += use.amount;
    double at = sum * static_cast<double>(random.Below(kParts)) / static_cast<double>(kParts);
    for (auto& use : uses) {
      at -= use.amount;
      if (at >= 0) continue;
      std::swap(use, uses.front());
      return;
    }
  }

  // False: the limits forbid it, or the node would be empty.
  bool Take(PackedNode node, Remainder& rest, Packing& packing) {
    if (!MayBuy(problem_, node.offer, rest)) return false;
    if (std::ranges::none_of(node.fill, [&](const auto& part) { return rest.demands[part.first] > 0; })) return false;
    Buy(problem_, node, rest);
    packing.price_micro += problem_.offers[node.offer].price_micro;
    packing.nodes.push_back(std::move(node));
    return true;
  }

  std::optional<std::size_t> Cheapest(const Fill& fill, const Remainder& rest, std::int64_t below) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < problem_.offers.size(); ++i) {
      const NodeOffer& offer = problem_.offers[i];
      if (offer.price_micro >= below || !MayBuy(problem_, i, rest) || !Fits(problem_, offer, fill)) continue;
      best = i;
      below = offer.price_micro;
    }
    return best;
  }

  void Close(const Remainder& rest, const Packing& packing, std::optional<Packing>& closed) const {
    PackedNode node;
    std::int64_t count = 0;
    for (std::size_t kind = 0; kind < rest.demands.size(); ++kind) {
      count += rest.demands[kind];
      if (count > kClosedPodsMax) return;
      if (rest.demands[kind] > 0) node.fill.emplace_back(kind, static_cast<std::int32_t>(rest.demands[kind]));
    }
    const std::int64_t below = closed ? closed->price_micro - packing.price_micro : kUnlimited;
    const auto offer = Cheapest(node.fill, rest, below);
    if (!offer) return;
    closed = packing;
    node.offer = *offer;
    closed->price_micro += problem_.offers[*offer].price_micro;
    closed->left.assign(rest.demands.size(), 0);
    closed->nodes.push_back(std::move(node));
  }

  // Each node becomes the cheapest one that takes what it has.
  void Shrink(Packing& packing) const {
    Remainder rest = Everything(problem_);
    for (PackedNode& node : packing.nodes) Buy(problem_, node, rest);
    for (PackedNode& node : packing.nodes) {
      const std::int64_t price = problem_.offers[node.offer].price_micro;
      for (std::size_t i = 0; i < problem_.limits.size(); ++i)
        rest.limits[i] += problem_.limits[i].per_offer[node.offer];
      const auto offer = Cheapest(node.fill, rest, price);
      if (offer) {
        packing.price_micro += problem_.offers[*offer].price_micro - price;
        if (rest.offers_left[node.offer] != kUnlimited) ++rest.offers_left[node.offer];
        if (rest.offers_left[*offer] != kUnlimited) --rest.offers_left[*offer];
        node.offer = *offer;
      }
      for (std::size_t i = 0; i < problem_.limits.size(); ++i)
        rest.limits[i] -= problem_.limits[i].per_offer[node.offer];
    }
  }

  void Improve(Packing& packing, std::int64_t bound_micro) {
    Random random(options_.seed);
    std::size_t vain = 0;
    const std::size_t vain_max = std::clamp(packing.nodes.size() * kVainPerNode, kVainMin, kVainMax);
    while (packing.price_micro > bound_micro && vain < vain_max && !IsOver()) {
      vain = Repack(packing, random) ? 0 : vain + 1;
    }
  }

  // Packs the pods of a few nodes again. True: for less.
  bool Repack(Packing& packing, Random& random) {
    const std::size_t count =
        std::min(kNeighboursMin + random.Below(kNeighboursMax - kNeighboursMin + 1), packing.nodes.size());
    std::vector<std::size_t> chosen(packing.nodes.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) std::swap(chosen[i], chosen[i + random.Below(chosen.size() - i)]);
    chosen.resize(count);
    std::ranges::sort(chosen, std::greater<>());
    Remainder rest = Everything(problem_);
    for (std::int64_t& demand : rest.demands) demand = 0;
    std::int64_t price = 0;
    for (std::size_t i = 0, next = chosen.size(); i < packing.nodes.size(); ++i) {
      const PackedNode& node = packing.nodes[i];
      if (next > 0 && chosen[next - 1] == i) {
        --next;
        price += problem_.offers[node.offer].price_micro;
        for (const auto& [kind, pods] : node.fill) rest.demands[kind] += pods;
        continue;
      }
      for (std::size_t k = 0; k < problem_.limits.size(); ++k)
        rest.limits[k] -= problem_.limits[k].per_offer[node.offer];
      if (rest.offers_left[node.offer] != kUnlimited) --rest.offers_left[node.offer];
    }
    auto solution = generation_.Solve(rest, kDiveRoundsMax);
    if (solution.bound_micro >= static_cast<double>(price) - 0.5) return false;
    Packing again = Dive(rest, std::move(solution), price, &random);
    if (again.LeftCount() > 0 || again.price_micro >= price) return false;
    for (const std::size_t i : chosen) packing.nodes.erase(packing.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    for (PackedNode& node : again.nodes) packing.nodes.push_back(std::move(node));
    packing.price_micro += again.price_micro - price;
    Shrink(packing);
    return true;
  }

  // One in so many nodes of a random dive is of no column.
  static constexpr std::uint64_t kRandomNodesPart = 4;
  // More pods are on no one node.
  static constexpr std::int64_t kClosedPodsMax = 10'000;

  const PackingProblem& problem_;
  const PackOptions& options_;
  ColumnGeneration generation_;
};

}  // namespace

PackResult PackNodes(const PackingProblem& problem, const PackOptions& options) {
  if (problem.offers.empty()) {
    PackResult none;
    none.packing.left = Everything(problem).demands;
    return none;
  }
  return Packer(problem, options).Go();
}

std::int64_t BoundOfPrice(const PackingProblem& problem, std::uint64_t steps_max) {
  if (problem.offers.empty()) return 0;
  ColumnGeneration generation(problem);
  return BoundOf(problem, generation.Solve(Everything(problem), ColumnGeneration::kRoundsMax, steps_max));
}

}  // namespace berth::buy
