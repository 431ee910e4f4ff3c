// SPDX-License-Identifier: Apache-2.0
// How long to wait before something is tried again: doubling delays, with jitter where many may begin at once. Pure
// functions of their arguments and the generator's state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "berth/base/random.h"
#include "berth/base/time.h"

namespace berth {

// `least` after the first failure (`failures` before it: 0), twice that after the second, at most `most`.
inline Duration Doubled(Duration least, Duration most, int failures) {
  constexpr int kDoublingsMax = 20;  // a million times `least`
  return std::min(most, least * (std::int64_t{1} << std::clamp(failures, 0, kDoublingsMax)));
}

// From half of `delay` to all of it.
inline Duration WithJitter(Duration delay, Random& random) {
  return delay / 2 + Duration(random.Below(static_cast<std::uint64_t>(delay.count() / 2 + 1)));
}

// From `delay` to a quarter more: for what must not come sooner, such as what a server asked for.
inline Duration WithJitterAbove(Duration delay, Random& random) {
  return delay + Duration(random.Below(static_cast<std::uint64_t>(delay.count() / 4 + 1)));
}

}  // namespace berth
