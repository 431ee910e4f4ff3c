// SPDX-License-Identifier: Apache-2.0
// RowFilter and RowScore: call a plugin for many rows at once, through its fast path (framework/fast_path.h) if it has
// one. That is determined once at construction instead of in each loop over rows. Values that refer to the plugin;
// within turns only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "berth/framework/fast_path.h"

namespace berth::runtime {

class RowFilter {
 public:
  explicit RowFilter(const framework::FilterPlugin& plugin)
      : plugin_(&plugin), fast_(dynamic_cast<const framework::FastFilter*>(&plugin)) {}

  const framework::FilterPlugin& plugin() const { return *plugin_; }

  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const {
    if (fast_ == nullptr) return framework::FilterByNode(*plugin_, cycle, pod, rows, verdicts, statuses);
    fast_->FilterRows(cycle, pod, rows, verdicts, statuses);
  }
  bool has_fast_path() const { return fast_ != nullptr; }
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
    return fast_ != nullptr && fast_->RefusesNone(cycle, pod);
  }

 private:
  const framework::FilterPlugin* plugin_;
  const framework::FastFilter* fast_;  // null: the plugin has no fast path
};

class RowScore {
 public:
  explicit RowScore(const framework::ScorePlugin& plugin)
      : plugin_(&plugin), fast_(dynamic_cast<const framework::FastScore*>(&plugin)) {}

  const framework::ScorePlugin& plugin() const { return *plugin_; }

  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const {
    if (fast_ == nullptr) return framework::ScoreByNode(*plugin_, cycle, pod, rows, scores, status);
    fast_->ScoreRows(cycle, pod, rows, scores, status);
  }
  bool has_fast_path() const { return fast_ != nullptr; }
  bool ScoresNothing(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
    return fast_ != nullptr && fast_->ScoresNothing(cycle, pod);
  }
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
    return fast_ == nullptr ? std::nullopt : fast_->ScoreOfAll(cycle, pod);
  }

 private:
  const framework::ScorePlugin* plugin_;
  const framework::FastScore* fast_;  // null: the plugin has no fast path
};

}  // namespace berth::runtime
