// SPDX-License-Identifier: Apache-2.0
// KeptEvaluation: the results for every node that are kept for the pods of one class, or of all classes with one
// placement_id: verdicts and scores of plugins that depend on nodes only. A value; ClassStore owns it and ClassUpdater
// updates it. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/fast_path.h"

namespace berth::runtime {

// The verdict of a row without a node.
inline constexpr framework::VerdictId kVerdictNoNode = UINT32_MAX;

// The raw scores of one score plugin. They are normalised in each cycle, over the feasible nodes.
struct ScoreColumn {
  std::size_t score = 0;  // index in the profile
  framework::Normalization normalization = framework::Normalization::kNone;
  std::vector<std::int64_t> raw;
  bool is_zero = true;  // no raw score differed from 0 since the last full evaluation
};

struct KeptEvaluation {
  // The data of PreFilter and PreScore plugins that depend on the class only.
  framework::CycleState state;
  std::vector<std::optional<framework::PreFilterResult>> pre_filter;  // by plugin
  // Whether all kept PreFilter answers exist and none refuses the pod or names nodes; and which of them are Skip, by
  // plugin.
  bool do_pre_filters_pass = false;
  PluginFlags is_pre_filter_skipped;
  std::vector<std::optional<framework::Status>> pre_score;  // by plugin

  framework::StatusTable statuses;
  std::vector<framework::VerdictId> verdicts;  // by row; of the kept filters
  std::vector<std::int64_t> fixed;             // by row; sum of weighted scores that need no normalisation
  std::vector<ScoreColumn> columns;
  std::vector<std::vector<std::int64_t>> spare;  // buffers of former columns, for reuse
  std::size_t feasible_count = 0;
  std::vector<std::uint32_t> verdict_counts;  // number of rows by verdict, without kVerdictNoNode
  bool has_plan = false;                      // pre_score, columns and is_fixed_score are set
  PluginFlags is_fixed_score;                 // by score plugin: it is included in `fixed`
  bool needs_cluster = false;                 // a kept filter or score depends on the whole cluster

  std::uint64_t epoch = 0;    // EpochOfAll when the evaluation was cleared
  std::uint64_t version = 0;  // node table version at the last update; 0: never updated
  std::uint64_t nodes_version = 0;
  std::uint64_t rebuild = 0;  // unique number of the last full evaluation, across all KeptEvaluations
  // Whether the verdicts include other pods' nominations, and as of which version of them.
  bool respects_nominations = false;
  std::uint64_t nominated_version = 0;

  // Clears everything, but keeps the capacity.
  void Clear();
  void Resize(std::size_t row_count);
  void Count(framework::VerdictId verdict, int sign);
  void Recount();
  // Whether a filter failed on some row.
  bool HasError() const;
  std::size_t Bytes() const;
};

}  // namespace berth::runtime
