// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/random/random.h"

#include <algorithm>

#include "berth/base/random.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;

// The cycle's seed also breaks ties between nodes of equal scores: these draws are others.
constexpr std::uint64_t kOwnStream = 0xd1342543de82ef95ULL;

NodeIndex Draw(Random& random, std::span<const NodeIndex> rows) { return rows[random.Below(rows.size())]; }

}  // namespace

// Rejection sampling: rows are drawn until one is feasible, so each feasible row has the same chance, and which rows
// are feasible need not be known before. When none of the first draws is, all feasible rows are drawn from.
void RandomScore::First(const framework::Cycle& cycle, const framework::PodInfo&, std::vector<NodeIndex>& rows) const {
  Random random(cycle.seed ^ kOwnStream);
  for (std::size_t i = 0; i < kFirstMax; ++i) rows.push_back(Draw(random, cycle.nodes.rows()));
}

NodeIndex RandomScore::Pick(const framework::Cycle& cycle, const framework::PodInfo&,
                            std::span<const NodeIndex> feasible) const {
  Random random(cycle.seed ^ kOwnStream);
  for (std::size_t i = 0; i < kFirstMax; ++i) {
    const NodeIndex row = Draw(random, cycle.nodes.rows());
    if (std::binary_search(feasible.begin(), feasible.end(), row)) return row;
  }
  return Draw(random, feasible);
}

}  // namespace berth::plugins
