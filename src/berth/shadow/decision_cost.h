// SPDX-License-Identifier: Apache-2.0
// DecisionCost: how long decisions took, in a few numbers. A value of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "berth/base/time.h"

namespace berth::shadow {

class DecisionCost {
 public:
  // `cpu`: of the thread that decided.
  void Add(Duration time, Duration cpu);

  std::uint64_t count() const { return count_; }
  Duration total() const { return total_; }
  Duration cpu() const { return cpu_; }
  Duration max() const { return max_; }
  // The time within which `per_mille` of the decisions were made, rounded up by an eighth at most.
  Duration Quantile(int per_mille) const;

 private:
  // Buckets a microsecond wide, and from 8 us on eight in each octave, up to hours.
  static constexpr int kStepsPerOctave = 8;
  static constexpr std::size_t kBuckets = kStepsPerOctave * 36;
  static std::size_t BucketOf(std::int64_t us);
  static std::int64_t BoundOf(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  Duration total_{0};
  Duration cpu_{0};
  Duration max_{0};
};

}  // namespace berth::shadow
