// SPDX-License-Identifier: Apache-2.0
// The nodes that an evaluation refused, and upstream's message for a pod that fits nowhere. Within turns only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// The FitErrorText() of a cluster without nodes.
inline constexpr std::string_view kNoNodesText = "no nodes available to schedule pods";

// The filters' verdict on a row; success if it is feasible.
framework::Status StatusOfRow(const EvaluationCycle& cycle, framework::NodeIndex row);

// The number of nodes for each status.
std::vector<std::pair<framework::Status, std::size_t>> CountRefusals(const EvaluationCycle& cycle);

// After kRefused or kNoNodes: upstream's FitError.
std::string FitErrorText(const EvaluationCycle& cycle);

}  // namespace berth::runtime
