// SPDX-License-Identifier: Apache-2.0
// ExtenderVerdicts: what extenders have said so far about the nodes, for the evaluation of a pod that they are asked
// about. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/hash_map.h"
#include "berth/framework/status.h"

namespace berth::runtime {

// The name that stands for all extenders among the plugins that refused a pod: any event lets it try again.
inline constexpr std::string_view kExtenderName = "Extender";

struct ExtenderVerdicts {
  // The evaluation ends with the filters: Outcome::feasible holds the rows that passed, and no node is chosen. Where
  // the pod's nominated node passes, alone, it is Outcome::node.
  bool filters_only = false;
  // With filters_only: where more rows than these pass, they are scored as well, by the plugins alone, and
  // Outcome::totals has the total of each. Not for a nominated node that passes alone.
  std::size_t totals_above = SIZE_MAX;
  // The pod's nominated node is not tried first and alone.
  bool skips_nominated = false;

  // Without filters_only: only these nodes are left. A node that passes the filters now, and is not among them, counts
  // as `refused` says, or as one that nobody has looked at.
  StringHashSet passed;
  StringHashMap<framework::Status> refused;
  // Extenders left fewer nodes than there were.
  bool has_refused = false;
  // Added to the totals of the score plugins; weights are in it.
  StringHashMap<std::int64_t> scores;
};

}  // namespace berth::runtime
