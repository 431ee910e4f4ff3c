// SPDX-License-Identifier: Apache-2.0
// Delays before retries: exponential back-off, with jitter where many retries may begin at once. Pure functions of
// their arguments and the generator's state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "berth/base/random.h"
#include "berth/base/time.h"

namespace berth {

// `least` after the first failure (`failures` 0: no failure before it), doubled with each further one, at most `most`.
inline Duration Doubled(Duration least, Duration most, int failures) {
  constexpr int kDoublingsMax = 20;  // a million times `least`
  return std::min(most, least * (std::int64_t{1} << std::clamp(failures, 0, kDoublingsMax)));
}

// Uniform between half of `delay` and `delay`.
inline Duration WithJitter(Duration delay, Random& random) {
  return delay / 2 + Duration(random.Below(static_cast<std::uint64_t>(delay.count() / 2 + 1)));
}

// Uniform between `delay` and a quarter more: for delays that must not be shortened, such as a server's Retry-After.
inline Duration WithJitterAbove(Duration delay, Random& random) {
  return delay + Duration(random.Below(static_cast<std::uint64_t>(delay.count() / 4 + 1)));
}

}  // namespace berth
