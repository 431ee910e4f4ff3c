// SPDX-License-Identifier: Apache-2.0
// Turns the raw scores of one score plugin into 0..100. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "berth/framework/plugin.h"

namespace berth::runtime {

// What scores are normalised with: of kLowestFirst the smallest, and the largest other than kNoRawScore; of the others
// the largest, and at least 0.
struct RawRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
RawRange RawRangeOf(framework::Normalization normalization, std::span<const std::int64_t> raw);

// One score normalised. kMax and kMaxReverse: upstream's DefaultNormalizeScore; scores that are too large wrap around,
// as Go's do.
std::int64_t Normalized(framework::Normalization normalization, std::int64_t raw, const RawRange& range);

// Normalises all of `scores`, which are raw before.
void NormalizeAll(framework::Normalization normalization, std::span<std::int64_t> scores);

}  // namespace berth::runtime
