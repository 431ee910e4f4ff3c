// SPDX-License-Identifier: Apache-2.0
// ExtenderVerdicts: the answers of extenders so far, as input for an evaluation. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/hash_map.h"
#include "berth/framework/status.h"

namespace berth::runtime {

// Stands for all extenders among the plugins that refused a pod; any event wakes such a pod.
inline constexpr std::string_view kExtenderName = "Extender";

struct ExtenderVerdicts {
  // The evaluation ends with the filters: Outcome::feasible holds the rows that passed, and no node is chosen. If the
  // pod's nominated node passes by itself, it is Outcome::node.
  bool filters_only = false;
  // With filters_only: if more rows than this pass, they are also scored by the plugins, and Outcome::totals has their
  // totals. Does not apply to a nominated node that passes by itself.
  std::size_t totals_above = SIZE_MAX;
  // Do not try the pod's nominated node first.
  bool skips_nominated = false;

  // Without filters_only: only these nodes are left. Any other node that passes the filters counts as `refused` says;
  // without an entry it counts as not evaluated.
  StringHashSet passed;
  StringHashMap<framework::Status> refused;
  // An extender refused at least one node.
  bool has_refused = false;
  // No extender is asked: a ranking of nodes has left out those that are not in `passed`.
  bool is_ranking = false;
  // Added to the totals of the score plugins; extenders' weights are included.
  StringHashMap<std::int64_t> scores;
};

}  // namespace berth::runtime
