// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/row_loops.h"

#include <algorithm>

#include "berth/base/cpu.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::VerdictId;

namespace {

BERTH_ALWAYS_INLINE MinMax MinMaxLoop(const std::int64_t* values, std::size_t count) {
  std::int64_t min = values[0];
  std::int64_t max = values[0];
  for (std::size_t i = 1; i < count; ++i) {
    min = values[i] < min ? values[i] : min;
    max = values[i] > max ? values[i] : max;
  }
  return {min, max};
}

BERTH_ALWAYS_INLINE void AddWeightedLoop(std::int64_t* sums, const std::int64_t* values, std::int64_t weight,
                                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * values[i];
}

BERTH_ALWAYS_INLINE BestRows BestLoop(const VerdictId* verdicts, const std::int64_t* totals, std::size_t count) {
  BestRows best;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t total = verdicts[i] == kVerdictOk ? totals[i] : INT64_MIN;
    best.total = total > best.total ? total : best.total;
  }
  if (best.total == INT64_MIN) return best;
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t total = verdicts[i] == kVerdictOk ? totals[i] : INT64_MIN;
    equal += total == best.total ? 1 : 0;
  }
  best.count = static_cast<std::size_t>(equal);
  return best;
}

BERTH_ALWAYS_INLINE std::size_t CountLoop(const VerdictId* verdicts, VerdictId verdict, std::size_t count) {
  std::uint32_t equal = 0;
  for (std::size_t i = 0; i < count; ++i) equal += verdicts[i] == verdict ? 1U : 0U;
  return equal;
}

#if BERTH_CPU_DISPATCH
BERTH_TARGET_AVX2 MinMax MinMaxAvx2(const std::int64_t* values, std::size_t count) { return MinMaxLoop(values, count); }
BERTH_TARGET_AVX512 MinMax MinMaxAvx512(const std::int64_t* values, std::size_t count) {
  return MinMaxLoop(values, count);
}
BERTH_TARGET_AVX2 void AddWeightedAvx2(std::int64_t* sums, const std::int64_t* values, std::int64_t weight,
                                       std::size_t count) {
  AddWeightedLoop(sums, values, weight, count);
}
BERTH_TARGET_AVX512 void AddWeightedAvx512(std::int64_t* sums, const std::int64_t* values, std::int64_t weight,
                                           std::size_t count) {
  AddWeightedLoop(sums, values, weight, count);
}
BERTH_TARGET_AVX2 BestRows BestAvx2(const VerdictId* verdicts, const std::int64_t* totals, std::size_t count) {
  return BestLoop(verdicts, totals, count);
}
BERTH_TARGET_AVX512 BestRows BestAvx512(const VerdictId* verdicts, const std::int64_t* totals, std::size_t count) {
  return BestLoop(verdicts, totals, count);
}
#endif

}  // namespace

MinMax MinMaxOf(std::span<const std::int64_t> values) {
#if BERTH_CPU_DISPATCH
  const CpuLevel level = BestCpuLevel();
  if (level == CpuLevel::kAvx512) return MinMaxAvx512(values.data(), values.size());
  if (level == CpuLevel::kAvx2) return MinMaxAvx2(values.data(), values.size());
#endif
  return MinMaxLoop(values.data(), values.size());
}

void AddWeighted(std::span<std::int64_t> sums, std::span<const std::int64_t> values, std::int64_t weight) {
#if BERTH_CPU_DISPATCH
  const CpuLevel level = BestCpuLevel();
  if (level == CpuLevel::kAvx512) return AddWeightedAvx512(sums.data(), values.data(), weight, sums.size());
  if (level == CpuLevel::kAvx2) return AddWeightedAvx2(sums.data(), values.data(), weight, sums.size());
#endif
  AddWeightedLoop(sums.data(), values.data(), weight, sums.size());
}

BestRows BestOf(std::span<const VerdictId> verdicts, std::span<const std::int64_t> totals) {
#if BERTH_CPU_DISPATCH
  const CpuLevel level = BestCpuLevel();
  if (level == CpuLevel::kAvx512) return BestAvx512(verdicts.data(), totals.data(), verdicts.size());
  if (level == CpuLevel::kAvx2) return BestAvx2(verdicts.data(), totals.data(), verdicts.size());
#endif
  return BestLoop(verdicts.data(), totals.data(), verdicts.size());
}

std::size_t CountOf(std::span<const VerdictId> verdicts, VerdictId verdict) {
  return CountLoop(verdicts.data(), verdict, verdicts.size());
}

}  // namespace berth::runtime
