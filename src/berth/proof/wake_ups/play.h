// SPDX-License-Identifier: Apache-2.0
// Plays a case: schedules the pod, then makes one change after the other until it is placed, and sees after each
// whether the queue has woken the pod where it fits now. A pure function of the seed.
#pragma once

#include <cstdint>
#include <string>

#include "berth/proof/wake_ups/case.h"

namespace berth::wake_ups {

struct Played {
  int placed = 0;         // changes after which it fitted, and was placed: one at most
  int tried_in_vain = 0;  // changes after which it was tried again, and fits nowhere
  int left_alone = 0;     // changes after which it was not tried, and fits nowhere
  std::string missed;     // what happened when it fitted and was not tried; empty: that did not happen
};

Played Play(std::uint64_t seed, int release_minor);

}  // namespace berth::wake_ups
