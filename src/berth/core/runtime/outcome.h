// SPDX-License-Identifier: Apache-2.0
// Outcome: the result of an evaluation. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/framework/status.h"

namespace berth::runtime {

enum class Result : std::uint8_t {
  kFeasible,
  kRefused,  // no node is feasible
  kNoNodes,
  kError,
};

struct Outcome {
  Result result = Result::kError;
  std::string error;  // kError

  framework::NodeIndex node = framework::kNoNode;  // kFeasible
  std::int64_t total = 0;      // the node's total score; 0 when only one node was feasible, which is not scored
  std::size_t node_count = 0;  // all nodes
  std::size_t feasible_count = 0;
  bool is_scored = false;

  framework::Status pre_filter_status;  // the refusal of a PreFilter plugin, if there is one
  std::optional<std::set<std::string>> narrowed_to;
  std::vector<std::string> narrowing_plugins;   // sorted
  std::set<std::string> unschedulable_plugins;  // kRefused: the plugins that have to change their answer
  bool is_nominated_node = false;      // the pod's nominated node passed and was chosen without looking at others
  framework::Status nominated_status;  // why the nominated node was refused

  // Set with detail, or for extenders (ExtenderVerdicts::filters_only):
  std::vector<framework::NodeIndex> feasible;
  std::vector<std::int64_t> totals;  // parallel to `feasible`
  // Set with detail:
  std::vector<framework::NodeIndex> best;
  std::vector<std::pair<std::string_view, std::vector<std::int64_t>>> scores;  // by plugin, parallel to `feasible`
  std::vector<std::vector<std::int64_t>> raw_scores;  // parallel to `scores`: before normalisation
  std::vector<framework::NodeIndex> evaluated;        // rows that were filtered
};

}  // namespace berth::runtime
