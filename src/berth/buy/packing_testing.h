// SPDX-License-Identifier: Apache-2.0
// Random packing problems, and the optimum of small ones by looking at every packing. Tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/buy/packing_problem.h"

namespace berth::buy {

struct RandomProblemOptions {
  std::size_t kinds_max = 8;
  std::size_t offers_max = 30;
  std::int64_t pods_max = 300;  // in all
};

// Pods and nodes as clouds have them: millicores, MiB, pods.
inline PackingProblem RandomProblem(std::uint64_t seed, const RandomProblemOptions& options = {}) {
  constexpr std::int64_t kCpus[] = {250, 500, 1000, 1500, 2000, 3000, 4000};
  constexpr std::int64_t kMemories[] = {256, 512, 1024, 2048, 3072, 4096, 8192, 12288};
  Random random(seed);
  PackingProblem problem;
  const std::size_t kinds = 1 + random.Below(options.kinds_max);
  for (std::size_t i = 0; i < kinds; ++i) {
    const std::int64_t most = std::max<std::int64_t>(options.pods_max / static_cast<std::int64_t>(kinds), 1);
    problem.kinds.push_back(
        {1 + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(most))),
         {kCpus[random.Below(std::size(kCpus))], kMemories[random.Below(std::size(kMemories))], 1}});
  }
  const std::size_t offers = 1 + random.Below(options.offers_max);
  for (std::size_t i = 0; i < offers; ++i) {
    // The first takes every kind.
    const std::int64_t cpus = i == 0 ? 8 : std::int64_t{2} << random.Below(4);
    const std::int64_t each = i == 0 ? 4 : std::int64_t{2} << random.Below(3);
    NodeOffer offer;
    offer.room = {cpus * 1000 - static_cast<std::int64_t>(random.Below(3)) * 80,
                  cpus * each * 1024 - static_cast<std::int64_t>(random.Below(3)) * 300,
                  29 + 29 * (std::int64_t{1} << random.Below(2))};
    const std::int64_t fair = cpus * 30'000 + cpus * each * 4'000;
    offer.price_micro = fair * static_cast<std::int64_t>(850 + random.Below(350)) / 1'000'000 * 1'000;
    for (const PodKind& kind : problem.kinds) {
      std::int64_t fits = kind.count;
      for (std::size_t k = 0; k < kind.size.size(); ++k) fits = std::min(fits, offer.room[k] / kind.size[k]);
      offer.fits.push_back(static_cast<std::int32_t>(fits));
    }
    problem.offers.push_back(std::move(offer));
  }
  return problem;
}

// The least price at which all pods of a small problem have nodes, by dynamic programming over the pods that are left.
inline std::int64_t OptimumByTrying(const PackingProblem& problem) {
  std::map<std::vector<std::int64_t>, std::int64_t> known;
  struct Search {
    const PackingProblem& problem;
    std::map<std::vector<std::int64_t>, std::int64_t>& known;

    std::int64_t Least(const std::vector<std::int64_t>& left) {
      const auto first = std::ranges::find_if(left, [](std::int64_t count) { return count > 0; });
      if (first == left.end()) return 0;
      if (const auto at = known.find(left); at != known.end()) return at->second;
      std::int64_t best = std::numeric_limits<std::int64_t>::max() / 2;
      for (const NodeOffer& offer : problem.offers) {
        // The node has one pod of the first kind that is left, so that orders of nodes do not count.
        Try(offer, left, static_cast<std::size_t>(first - left.begin()), left, offer.room, true, best);
      }
      known[left] = best;
      return best;
    }

    void Try(const NodeOffer& offer, const std::vector<std::int64_t>& before, std::size_t kind,
             std::vector<std::int64_t> left, Amounts room, bool is_first, std::int64_t& best) {
      if (kind == left.size()) {
        if (left != before) best = std::min(best, offer.price_micro + Least(left));
        return;
      }
      const Amounts& size = problem.kinds[kind].size;
      for (std::int32_t count = 0; count <= offer.fits[kind]; ++count) {
        if (count > 0 || !is_first) Try(offer, before, kind + 1, left, room, false, best);
        if (left[kind] == 0) return;
        --left[kind];
        for (std::size_t i = 0; i < size.size(); ++i) room[i] -= size[i];
        if (std::ranges::any_of(room, [](std::int64_t amount) { return amount < 0; })) return;
      }
    }
  };
  std::vector<std::int64_t> all;
  for (const PodKind& kind : problem.kinds) all.push_back(kind.count);
  return Search{problem, known}.Least(all);
}

}  // namespace berth::buy
