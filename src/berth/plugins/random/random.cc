// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/random/random.h"

#include <algorithm>

#include "berth/base/random.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/row_picker.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

// The cycle's seed also breaks ties between nodes of equal scores: these draws are others.
constexpr std::uint64_t kOwnStream = 0xd1342543de82ef95ULL;

NodeIndex Draw(Random& random, std::span<const NodeIndex> rows) { return rows[random.Below(rows.size())]; }

class RandomScore final : public RowPicker {
 public:
  std::string_view Name() const override { return names::kRandom; }

 private:
  // Rejection sampling: rows are drawn until one is feasible, so each feasible row has the same chance, and which rows
  // are feasible need not be known before. When none of the first draws is, all feasible rows are drawn from.
  void First(const Cycle& cycle, const PodInfo&, std::vector<NodeIndex>& rows) const override {
    Random random(cycle.seed ^ kOwnStream);
    for (std::size_t i = 0; i < kFirstMax; ++i) rows.push_back(Draw(random, cycle.nodes.rows()));
  }

  NodeIndex Pick(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> feasible) const override {
    Random random(cycle.seed ^ kOwnStream);
    for (std::size_t i = 0; i < kFirstMax; ++i) {
      const NodeIndex row = Draw(random, cycle.nodes.rows());
      if (std::binary_search(feasible.begin(), feasible.end(), row)) return row;
    }
    return Draw(random, feasible);
  }
  std::string_view StateKey() const override { return "PreScoreRandom"; }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateRandom() { return std::make_unique<RandomScore>(); }

}  // namespace berth::plugins
