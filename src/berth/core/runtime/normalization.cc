// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/normalization.h"

#include <algorithm>

#include "berth/core/runtime/row_loops.h"

namespace berth::runtime {

using framework::kNodeScoreMax;
using framework::kNoRawScore;
using framework::Normalization;

RawRange RawRangeOf(Normalization normalization, std::span<const std::int64_t> raw) {
  if (normalization == Normalization::kNone || raw.empty()) return {};
  if (normalization != Normalization::kLowestFirst) return {0, std::max(std::int64_t{0}, MinMaxOf(raw).max)};
  RawRange range{kNoRawScore, 0};
  for (const std::int64_t value : raw) {
    range.min = std::min(range.min, value);
    if (value < kNoRawScore) range.max = std::max(range.max, value);
  }
  return range;
}

std::int64_t Normalized(Normalization normalization, std::int64_t raw, const RawRange& range) {
  switch (normalization) {
    case Normalization::kLowestFirst:
      if (raw <= range.min) return kNodeScoreMax;
      if (raw >= kNoRawScore) return 0;
      // Maps to 1 for the highest up to 99.
      return 1 + (range.max - raw) * (kNodeScoreMax - 2) / (range.max - range.min);
    case Normalization::kMax:
    case Normalization::kMaxReverse: break;
    case Normalization::kNone:
    case Normalization::kCustom: return raw;
  }
  const std::int64_t share =
      range.max == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) * kNodeScoreMax) / range.max;
  return normalization == Normalization::kMax ? share : framework::WrappingSub(kNodeScoreMax, share);
}

void NormalizeAll(Normalization normalization, std::span<std::int64_t> scores) {
  if (normalization == Normalization::kNone) return;
  const RawRange range = RawRangeOf(normalization, scores);
  // The last result is reused: most nodes have the same raw score as their neighbour, and the division dominates the
  // cost.
  std::int64_t last_raw = 0;
  std::int64_t last = Normalized(normalization, 0, range);
  for (std::int64_t& value : scores) {
    if (value != last_raw) {
      last_raw = value;
      last = Normalized(normalization, value, range);
    }
    value = last;
  }
}

}  // namespace berth::runtime
