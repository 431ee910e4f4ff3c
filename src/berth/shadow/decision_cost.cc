// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/decision_cost.h"

#include <algorithm>
#include <bit>

namespace berth::shadow {

// Below 8 us each bucket is 1 us wide; from there on an octave has 8 buckets.
std::size_t DecisionCost::BucketOf(std::int64_t us) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
  if (value < kStepsPerOctave) return value;
  const int octave = std::bit_width(value) - 4;
  const std::uint64_t step = (value >> octave) - kStepsPerOctave;
  return std::min<std::size_t>(kStepsPerOctave * (octave + 1U) + step, kBuckets - 1);
}

// The largest value in the bucket.
std::int64_t DecisionCost::BoundOf(std::size_t bucket) {
  if (bucket < kStepsPerOctave) return static_cast<std::int64_t>(bucket);
  const std::size_t octave = bucket / kStepsPerOctave - 1;
  const std::uint64_t begin = (kStepsPerOctave + bucket % kStepsPerOctave) << octave;
  return static_cast<std::int64_t>(begin + (std::uint64_t{1} << octave) - 1);
}

void DecisionCost::Add(Duration time, Duration cpu) {
  ++buckets_[BucketOf(time.count())];
  ++count_;
  total_ += time;
  cpu_ += cpu;
  max_ = std::max(max_, time);
}

Duration DecisionCost::Quantile(int per_mille) const {
  const std::uint64_t wanted = (count_ * static_cast<std::uint64_t>(per_mille) + 999) / 1000;
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && seen > 0) return std::min(max_, Duration(BoundOf(bucket)));
  }
  return max_;
}

}  // namespace berth::shadow
