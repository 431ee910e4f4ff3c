// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/shadow_report.h"

#include <algorithm>
#include <bit>
#include <utility>

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

void ShadowReport::Add(Comparison comparison) {
  const auto index = static_cast<std::size_t>(comparison.match);
  ++counts[index].total;
  comparison.number = Decisions();
  if (comparison.is_explained_by_order) ++counts[index].by_order;
  if (comparison.is_order_untried) ++order_untried;
  if (comparison.match == Match::kWorseNode) {
    points_total += static_cast<std::uint64_t>(comparison.points);
    points_max = std::max(points_max, comparison.points);
  }
  if (Agrees(comparison.match)) return;
  if (kept[index].size() == kKeptMax) kept[index].pop_front();
  kept[index].push_back(std::move(comparison));
}

std::uint64_t ShadowReport::Decisions() const {
  std::uint64_t sum = 0;
  for (const MatchCount& count : counts) sum += count.total;
  return sum;
}

std::uint64_t ShadowReport::Agreements() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kMatchCount; ++i) sum += Agrees(static_cast<Match>(i)) ? counts[i].total : 0;
  return sum;
}

std::uint64_t ShadowReport::Unexplained() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kMatchCount; ++i)
    sum += Agrees(static_cast<Match>(i)) ? 0 : counts[i].total - counts[i].by_order;
  return sum;
}

std::vector<Comparison> ShadowReport::Differences() const {
  std::vector<Comparison> all;
  for (const auto& some : kept) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end(), [](const Comparison& a, const Comparison& b) { return a.number < b.number; });
  return all;
}

}  // namespace berth::shadow
