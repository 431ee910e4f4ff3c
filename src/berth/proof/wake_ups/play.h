// SPDX-License-Identifier: Apache-2.0
// Plays a case: schedules the waiting pods, then makes one change after the other, and checks after each that the queue
// has woken what fits now. A pure function of the seed.
#pragma once

#include <cstdint>
#include <string>

#include "berth/proof/wake_ups/case.h"

namespace berth::wake_ups {

// Counts of changes by their outcome. With a single waiting pod, the play ends with the change after which it is
// placed.
struct Played {
  Family family = Family::kRoom;
  int placed = 0;         // something fitted, and was placed
  int tried_in_vain = 0;  // what had waited for events was tried again, and fits nowhere
  int left_alone = 0;     // what waits was not tried, and fits nowhere
  int timed = 0;          // some group waited for its back-off alone, was tried again, and fits nowhere
  std::string missed;     // describes a pod or group that fitted and was not tried; empty: there was none

  int cases() const { return placed + tried_in_vain + left_alone + timed + (missed.empty() ? 0 : 1); }
};

Played Play(std::uint64_t seed, int release_minor);

}  // namespace berth::wake_ups
