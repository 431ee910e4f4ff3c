// SPDX-License-Identifier: Apache-2.0
// ProfileTraits: what a profile's plugins say of themselves once and for all, and what follows from it: whose answers
// may be kept for the next pods of a class. Asked when an Evaluator is made; does not change afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/runtime/row_plugins.h"
#include "berth/framework/fast_path.h"

namespace berth::runtime {

// What a cycle says of each plugin, by its position in the profile. Bytes, since every cycle writes them all.
using PluginFlags = std::vector<std::uint8_t>;

// "Kept": the plugin's answers are kept with the pod's class, instead of being asked for in each cycle.
struct ProfileTraits {
  // `of_plugins` must outlive it.
  ProfileTraits(const ProfilePlugins& of_plugins, Form form);

  static constexpr std::size_t kNone = SIZE_MAX;

  struct PreFilter {
    const framework::PreFilterPlugin* plugin = nullptr;
    bool is_kept = false;
    bool has_extensions = false;
  };
  struct Filter {
    const framework::FilterPlugin* plugin = nullptr;
    RowFilter by_rows;
    framework::Dependency depends_on = framework::Dependency::kCycle;
    bool is_kept = false;
    std::size_t pre_filter = kNone;  // index of the PreFilter plugin of the same name
  };
  struct PreScore {
    const framework::PreScorePlugin* plugin = nullptr;
    const framework::FastPreScore* fast = nullptr;  // the same plugin; null: it has no fast path
    bool is_kept = false;
  };
  struct Score {
    const framework::ScorePlugin* plugin = nullptr;
    RowScore by_rows;
    std::int64_t weight = 1;
    framework::Dependency depends_on = framework::Dependency::kCycle;
    framework::Normalization normalization = framework::Normalization::kNone;
    bool is_kept = false;
    std::size_t pre_score = kNone;  // index of the PreScore plugin of the same name
  };

  const ProfilePlugins& plugins;
  // In the profile's order.
  std::vector<PreFilter> pre_filters;
  std::vector<Filter> filters;
  std::vector<PreScore> pre_scores;
  std::vector<Score> scores;
  // Positions of those that are not kept. A cycle of a class that was met before asks few others.
  std::vector<std::size_t> unkept_pre_filters;
  std::vector<std::size_t> unkept_scores;
  // What is kept holds for all classes of one PodClass::placement_id.
  bool is_kept_by_placement = true;
};

}  // namespace berth::runtime
