// SPDX-License-Identifier: Apache-2.0
// KeptEvaluation: what is known of every node for the pods of one class, or of all classes of one placement_id, kept
// while it holds: verdicts and scores of the plugins whose answers rest on the nodes. A value; ClassStore owns it,
// ClassUpdater brings it up to date. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/runtime/profile_traits.h"
#include "berth/framework/fast_path.h"

namespace berth::runtime {

// The verdict of a row that holds no node.
inline constexpr framework::VerdictId kVerdictNoNode = UINT32_MAX;

// One score plugin's raw scores, which are normalised over the nodes that are feasible in a cycle.
struct ScoreColumn {
  std::size_t score = 0;  // index of the score plugin in the profile
  framework::Normalization normalization = framework::Normalization::kNone;
  std::vector<std::int64_t> raw;
  bool is_zero = true;  // no raw score was other than 0 since all rows were last looked at
};

struct KeptEvaluation {
  // From PreFilter and PreScore plugins whose answer rests on the class alone.
  framework::CycleState state;
  std::vector<std::optional<framework::PreFilterResult>> pre_filter;  // by plugin
  // All kept PreFilter answers are there, and none refuses the pod or names nodes. Who said Skip among them, by plugin.
  bool do_pre_filters_pass = false;
  PluginFlags is_pre_filter_skipped;
  std::vector<std::optional<framework::Status>> pre_score;  // by plugin

  framework::StatusTable statuses;
  std::vector<framework::VerdictId> verdicts;  // of the kept filters, by row
  std::vector<std::int64_t> fixed;             // sum of weighted scores that need no normalisation, by row
  std::vector<ScoreColumn> columns;
  std::vector<std::vector<std::int64_t>> spare;  // buffers of former columns, to be reused
  std::size_t feasible_count = 0;
  std::vector<std::uint32_t> verdict_counts;  // rows by verdict, kVerdictNoNode left out
  bool has_plan = false;                      // pre_score, columns and is_fixed_score are set
  PluginFlags is_fixed_score;                 // by score plugin: summed up in `fixed`
  bool needs_cluster = false;                 // a kept filter or score rests on the whole cluster

  std::uint64_t epoch = 0;    // of all plugins together, when it began
  std::uint64_t version = 0;  // of the node table when last brought up to date; 0: never
  std::uint64_t nodes_version = 0;
  std::uint64_t rebuild = 0;  // grows whenever all rows are looked at anew; never the same for two evaluations
  // The verdicts respect other pods' nominations, as of this version of them.
  bool respects_nominations = false;
  std::uint64_t nominated_version = 0;

  // Forgets everything, but not the room it took.
  void Clear();
  void Resize(std::size_t row_count);
  void Count(framework::VerdictId verdict, int sign);
  void Recount();
  // A filter failed at some row.
  bool HasError() const;
  std::size_t Bytes() const;
};

}  // namespace berth::runtime
