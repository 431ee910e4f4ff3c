// Random: a policy of berth's own. Scores every node by chance, so that each feasible node is equally likely to be
// chosen when no other plugin scores. The same cycle seed gives the same scores.
#pragma once

#include "berth/framework/plugin.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class RandomScore final : public framework::ScorePlugin {
 public:
  std::string_view Name() const override { return names::kRandom; }

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
};

}  // namespace berth::plugins
