// SPDX-License-Identifier: Apache-2.0
// Normalises the raw scores of one score plugin to 0..100. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "berth/framework/plugin.h"

namespace berth::runtime {

// The range that scores are normalised with. kLowestFirst: the smallest score, and the largest except kNoRawScore.
// Others: the largest score, but at least 0.
struct RawRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
RawRange RawRangeOf(framework::Normalization normalization, std::span<const std::int64_t> raw);

// Normalises one score. kMax and kMaxReverse are upstream's DefaultNormalizeScore; scores that are too large wrap, as
// in Go.
std::int64_t Normalized(framework::Normalization normalization, std::int64_t raw, const RawRange& range);

// Normalises `scores` in place.
void NormalizeAll(framework::Normalization normalization, std::span<std::int64_t> scores);

}  // namespace berth::runtime
