// SPDX-License-Identifier: Apache-2.0
// What an evaluation says about the nodes that it refused, and upstream's text for a pod that fits nowhere. Within
// turns only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/runtime/evaluation_cycle.h"

namespace berth::runtime {

// FitErrorText() where there is no node at all.
inline constexpr std::string_view kNoNodesText = "no nodes available to schedule pods";

// What the filters said of a row; success for a feasible one.
framework::Status StatusOfRow(const EvaluationCycle& cycle, framework::NodeIndex row);

// How many nodes were refused for each status.
std::vector<std::pair<framework::Status, std::size_t>> CountRefusals(const EvaluationCycle& cycle);

// After kRefused or kNoNodes: upstream's FitError.
std::string FitErrorText(const EvaluationCycle& cycle);

}  // namespace berth::runtime
