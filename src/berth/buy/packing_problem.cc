// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/packing_problem.h"

#include <numeric>

namespace berth::buy {

bool Fits(const PackingProblem& problem, const NodeOffer& offer, const Fill& fill) {
  Amounts room = offer.room;
  for (const auto& [kind, count] : fill) {
    if (offer.fits[kind] < count) return false;
    const Amounts& size = problem.kinds[kind].size;
    for (std::size_t i = 0; i < size.size(); ++i) {
      room[i] -= size[i] * count;
      if (size[i] > 0 && room[i] < 0) return false;
    }
  }
  return true;
}

std::int64_t Packing::LeftCount() const { return std::accumulate(left.begin(), left.end(), std::int64_t{0}); }

}  // namespace berth::buy
