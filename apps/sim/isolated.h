// SPDX-License-Identifier: Apache-2.0
// Runs simulations in separate processes, so that an abort is a failing seed like any other, with as many at once as
// there are processors.
#pragma once

#include <cstdint>
#include <functional>

#include "berth/proof/program_sim/simulation.h"

namespace berth::program_sim {

// Runs one simulation. If its process dies, that is the check "crash".
Report SimulateIsolated(const Plan& plan);

// Runs all seeds from `first` to `last` in `jobs` processes. Calls `tell` on this thread as results arrive, in no
// order; when it returns false, no further seeds are started.
void SimulateSeeds(std::uint64_t first, std::uint64_t last, int jobs,
                   const std::function<bool(std::uint64_t seed, const Report& report)>& tell);

}  // namespace berth::program_sim
