// SPDX-License-Identifier: Apache-2.0
// Plays a case: schedules what waits, then makes one change after the other, and sees after each whether the queue has
// woken what fits now. A pure function of the seed.
#pragma once

#include <cstdint>
#include <string>

#include "berth/proof/wake_ups/case.h"

namespace berth::wake_ups {

// How many changes ended so. Of a pod by itself the first after which it is placed is the last one.
struct Played {
  Family family = Family::kRoom;
  int placed = 0;         // something fitted, and was placed
  int tried_in_vain = 0;  // what had waited for events was tried again, and fits nowhere
  int left_alone = 0;     // it was not tried, and fits nowhere
  int timed = 0;          // some group waited for its back-off alone, was tried again, and fits nowhere
  std::string missed;     // what happened when it fitted and was not tried; empty: that did not happen

  int cases() const { return placed + tried_in_vain + left_alone + timed + (missed.empty() ? 0 : 1); }
};

Played Play(std::uint64_t seed, int release_minor);

}  // namespace berth::wake_ups
