// SPDX-License-Identifier: Apache-2.0
// Plays a case with groups of pods. A refused group waits for nothing but its back-off, so a missed wake-up shows in
// another way than with a single pod: a group is held back at PreEnqueue though it may go, a group is refused again and
// again though it fits, or nothing wakes a single pod when the room of a group becomes free.
#pragma once

#include "berth/base/random.h"
#include "berth/proof/wake_ups/play.h"

namespace berth::wake_ups {

inline constexpr int kChangesMax = 12;

Played PlayGroups(Case&& test, Random& random);

}  // namespace berth::wake_ups
