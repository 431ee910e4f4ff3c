// SPDX-License-Identifier: Apache-2.0
// Whether the order of decisions explains that two schedulers differ. When exactly the other scheduler decided a pod is
// not known, only that it was before its binding was seen, and about when. A few changes before and after that place
// are tried.
#pragma once

#include <cstddef>

#include "berth/core/scheduler/overlay.h"
#include "berth/shadow/comparison.h"
#include "berth/shadow/held_inputs.h"
#include "berth/shadow/recent_changes.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

// Placements after the decision's place that are tried; those before it are bounded by RecentChanges::kChangesMax.
inline constexpr std::size_t kLaterMax = 32;

// True when both schedulers agree about the pod if it is decided up to that many changes earlier, or later. The overlay
// has no changes, and has none afterwards.
bool IsExplainedByOrder(scheduler::Overlay& overlay, const Sighting& theirs, const RecentChanges& recent,
                        const HeldInputs& later, std::uint64_t seed);

}  // namespace berth::shadow
