// SPDX-License-Identifier: Apache-2.0
// Chance: what a simulation leaves to its seed. One thread.
#pragma once

#include <cstdint>
#include <iterator>

#include "berth/base/random.h"
#include "berth/base/time.h"

namespace berth::core_sim {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  bool OneIn(int n) { return Below(n) == 0; }
  Duration Upto(Duration max) {
    return Duration(1 + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(max.count()))));
  }
  template <typename Map>
  typename Map::const_iterator Any(const Map& map) {
    return map.empty() ? map.end() : std::next(map.begin(), Below(static_cast<int>(map.size())));
  }

 private:
  Random random_;
};

}  // namespace berth::core_sim
