// SPDX-License-Identifier: Apache-2.0
// RowPicker: a score plugin that wants one of the feasible nodes and does not tell the others apart. The runtime need
// not look at every row for it: the rows that it would take first are groups of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"

namespace berth::plugins {

class RowPicker : public framework::PreScorePlugin, public framework::FastScore, public framework::GroupingPlugin {
 public:
  framework::Dependency PreScoreDependsOn() const final { return framework::Dependency::kCycle; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const final;

  framework::Dependency ScoreDependsOn() const final { return framework::Dependency::kCycle; }
  framework::Normalization ScoreNormalization() const final { return framework::Normalization::kLowestFirst; }
  // 0 for the wanted node, 1 for the others.
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const final;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const final;

  // All rows are alike, but for those that are singled out.
  std::optional<Marks> MarksOf(const framework::Cycle&, const framework::PodInfo&) const final { return Marks(); }
  std::optional<Marks> SharedMarksOf(const framework::Cycle&, const framework::PodInfo&, std::size_t,
                                     std::vector<framework::NodeIndex>&) const final {
    return Marks();
  }
  void MarkRows(const framework::Cycle&, const framework::PodInfo&, MarkScope, std::span<const framework::NodeIndex>,
                std::span<std::uint32_t>, std::size_t) const final {}
  void SingleOut(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::vector<framework::NodeIndex>& rows) const final;
  framework::Status PreScoreGroups(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<const framework::NodeIndex> feasible,
                                   std::span<const std::size_t> sizes) const final;

 protected:
  // The number of rows that are singled out. Where none of them is feasible, all rows are looked at.
  static constexpr std::size_t kFirstMax = 32;

  // The rows, feasible or not, that the plugin would take first, the most wanted first; some may be there twice.
  // Appends kFirstMax at most.
  virtual void First(const framework::Cycle& cycle, const framework::PodInfo& pod,
                     std::vector<framework::NodeIndex>& rows) const = 0;
  // The row that the plugin takes of `feasible`, which has all feasible rows in ascending order: the first feasible row
  // of First, where there is one.
  virtual framework::NodeIndex Pick(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                    std::span<const framework::NodeIndex> feasible) const = 0;

  // The row that was picked in this cycle; kNoNode when PreScore was not asked, because there was no choice.
  static framework::NodeIndex PickedIn(const framework::CycleState& state, std::string_view key);
  // The key of this plugin's entry in the cycle's state, a string literal.
  virtual std::string_view StateKey() const = 0;

 private:
  mutable std::vector<framework::NodeIndex> first_;  // scratch
};

}  // namespace berth::plugins
