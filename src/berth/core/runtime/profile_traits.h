// SPDX-License-Identifier: Apache-2.0
// ProfileTraits: what a profile's plugins declare about themselves, and which of their answers may therefore be kept
// for later pods of a class. Computed when an Evaluator is made; constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/runtime/row_plugins.h"
#include "berth/framework/fast_path.h"

namespace berth::runtime {

// A flag for each plugin, by index in the profile. Bytes instead of bits, because each cycle writes all of them.
using PluginFlags = std::vector<std::uint8_t>;

// "Kept" means that the plugin's answers are stored with the pod's class, so that it need not be called in each cycle.
struct ProfileTraits {
  // `of_plugins` must outlive it.
  ProfileTraits(const ProfilePlugins& of_plugins, Form form);

  static constexpr std::size_t kNone = SIZE_MAX;

  struct PreFilter {
    const framework::PreFilterPlugin* plugin = nullptr;
    bool is_kept = false;
    bool has_extensions = false;
    bool is_own = false;  // an author's plugin, here and below: its work is bounded
  };
  struct Filter {
    const framework::FilterPlugin* plugin = nullptr;
    RowFilter by_rows;
    framework::Dependency depends_on = framework::Dependency::kCycle;
    bool is_kept = false;
    std::size_t pre_filter = kNone;  // index of the PreFilter plugin of the same name
    bool is_own = false;
  };
  struct PreScore {
    const framework::PreScorePlugin* plugin = nullptr;
    const framework::FastPreScore* fast = nullptr;  // null: the plugin has no fast path
    bool is_kept = false;
    bool is_own = false;
  };
  struct Score {
    const framework::ScorePlugin* plugin = nullptr;
    RowScore by_rows;
    std::int64_t weight = 1;
    framework::Dependency depends_on = framework::Dependency::kCycle;
    framework::Normalization normalization = framework::Normalization::kNone;
    bool is_kept = false;
    std::size_t pre_score = kNone;  // index of the PreScore plugin of the same name
    bool is_own = false;
  };

  // Whether the plugin is an author's own.
  bool IsOwn(const framework::Plugin& plugin) const;

  const ProfilePlugins& plugins;
  // In the profile's order.
  std::vector<PreFilter> pre_filters;
  std::vector<Filter> filters;
  std::vector<PreScore> pre_scores;
  std::vector<Score> scores;
  // Indices of the plugins that are not kept. Cycles of a class that was seen before call few others.
  std::vector<std::size_t> unkept_pre_filters;
  std::vector<std::size_t> unkept_scores;
  // Whether everything that is kept depends on PodClass::placement_id only, so that classes can share it.
  bool is_kept_by_placement = true;
};

}  // namespace berth::runtime
