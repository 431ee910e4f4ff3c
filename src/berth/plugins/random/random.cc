#include "berth/plugins/random/random.h"

#include "berth/base/random.h"

namespace berth::plugins {
namespace {

// Depends on seed and row alone, so that the order in which rows are asked, and which of them are, does not matter. All
// rows draw from the same distribution and ties are broken by chance, so no node is favoured.
std::int64_t Draw(std::uint64_t seed, framework::NodeIndex row) {
  constexpr std::uint64_t kOddMultiplier = 0xd1342543de82ef95ULL;
  Random random(Random(seed).Next() + kOddMultiplier * row);
  return static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(framework::kNodeScoreMax) + 1));
}

}  // namespace

std::int64_t RandomScore::Score(const framework::Cycle& cycle, const framework::PodInfo&, framework::NodeIndex row,
                                const framework::NodeInfo&, framework::Status&) const {
  return Draw(cycle.seed, row);
}

void RandomScore::ScoreRows(const framework::Cycle& cycle, const framework::PodInfo&,
                            std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                            framework::Status&) const {
  for (const framework::NodeIndex row : rows) scores[row] = Draw(cycle.seed, row);
}

}  // namespace berth::plugins
