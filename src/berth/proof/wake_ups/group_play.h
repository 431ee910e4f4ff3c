// SPDX-License-Identifier: Apache-2.0
// Plays a case with groups of pods. A refused group waits for nothing but its back-off, so that what can be missed is
// another thing than of a single pod: a group that is held back at the gate though it might go, one that is refused
// again and again though it fits, and a single pod beside it that nobody woke when the group's room became free.
#pragma once

#include "berth/base/random.h"
#include "berth/proof/wake_ups/play.h"

namespace berth::wake_ups {

inline constexpr int kChangesMax = 12;

Played PlayGroups(Case&& test, Random& random);

}  // namespace berth::wake_ups
