// SPDX-License-Identifier: Apache-2.0
// Shrink: makes the plan of a failing run as small as it gets, by leaving out items while the same check fails.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "berth/proof/program_sim/plan.h"

namespace berth::program_sim {

// The plan with these of its items alone, by position.
Plan Keep(const Plan& plan, const std::vector<std::size_t>& positions);

// Positions of the items that are left, in order. `fails` tells whether a plan's run breaks the same check; it is asked
// at most `runs_max` times. After delta debugging (Zeller and Hildebrandt): halves first, then smaller parts.
std::vector<std::size_t> Shrink(const Plan& plan, const std::function<bool(const Plan& plan)>& fails, int runs_max);

// "3,7,12", and back; an empty text and what is no such list give nothing.
std::string PositionsText(const std::vector<std::size_t>& positions);
std::vector<std::size_t> ParsePositions(std::string_view text);

}  // namespace berth::program_sim
