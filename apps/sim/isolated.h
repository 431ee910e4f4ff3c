// SPDX-License-Identifier: Apache-2.0
// Runs simulations in processes of their own, so that one that aborts is a failing seed like any other, and as many at
// once as there are processors.
#pragma once

#include <cstdint>
#include <functional>

#include "berth/proof/program_sim/simulation.h"

namespace berth::program_sim {

// One run. A process that dies is the check "crash".
Report SimulateIsolated(const Plan& plan);

// All seeds from `first` to `last`, by `jobs` processes. Calls `tell` here, as results come, in no order; when it
// returns false nothing more is begun.
void SimulateSeeds(std::uint64_t first, std::uint64_t last, int jobs,
                   const std::function<bool(std::uint64_t seed, const Report& report)>& tell);

}  // namespace berth::program_sim
