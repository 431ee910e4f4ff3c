// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/resource_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "berth/framework/node_table.h"
#include "berth/framework/resource.h"

// Plain loops that compilers turn into vector code: no branches and no calls in them.
namespace berth::plugins {
namespace {

// Converts an integer from 0 to below 2^52. AVX2 has no instruction for that: the bits become the fraction of 2^52.
template <CpuLevel kLevel>
BERTH_ALWAYS_INLINE double ToDouble(std::int64_t value) {
  if constexpr (kLevel == CpuLevel::kAvx2) {
    constexpr std::uint64_t kBitsOf2To52 = 0x4330000000000000;
    constexpr double k2To52 = 0x1.0p52;
    return std::bit_cast<double>(static_cast<std::uint64_t>(value) | kBitsOf2To52) - k2To52;
  } else {
    return static_cast<double>(value);
  }
}

// a / b rounded to nearest, given the reciprocal of b rounded to nearest, for whole a and b: a below 2^53, b from 1 to
// 2^46 (kUsualAmountMax). With fused multiply-add one correction of a * reciprocal is enough: the remainder is exact,
// as it takes no more than 53 bits, what is left of the error is below 2^-52 of the last place, and no quotient of such
// numbers comes nearer than 2^-47 of it to the middle between two doubles (Markstein's division).
template <CpuLevel kLevel>
BERTH_ALWAYS_INLINE double Quotient(double a, double b, double reciprocal) {
  if constexpr (kLevel == CpuLevel::kBaseline) {
    return a / b;
  } else {
    const double estimate = a * reciprocal;
    return __builtin_fma(__builtin_fma(-estimate, b, a), reciprocal, estimate);
  }
}

BERTH_ALWAYS_INLINE bool AnyIsShortLoop(const std::int64_t* allocatable_pods, const std::int64_t* pod_count,
                                        const std::array<ResourceRows, 2>& resources, std::size_t count) {
  // What is not requested is less than anything.
  const auto threshold = [](std::int64_t request) {
    return request > 0 ? request : std::numeric_limits<std::int64_t>::min();
  };
  const std::int64_t request0 = threshold(resources[0].pod_request);
  const std::int64_t request1 = threshold(resources[1].pod_request);
  const std::int64_t* const allocatable0 = resources[0].allocatable;
  const std::int64_t* const allocatable1 = resources[1].allocatable;
  const std::int64_t* const allocated0 = resources[0].allocated;
  const std::int64_t* const allocated1 = resources[1].allocated;
  std::int64_t any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t free0 = framework::WrappingSub(allocatable0[i], allocated0[i]);
    const std::int64_t free1 = framework::WrappingSub(allocatable1[i], allocated1[i]);
    any |= std::int64_t{pod_count[i] >= allocatable_pods[i]} | std::int64_t{request0 > free0} |
           std::int64_t{request1 > free1};
  }
  return any != 0;
}

template <CpuLevel kLevel, ShareOf kShare>
BERTH_ALWAYS_INLINE double PercentOf(std::int64_t allocatable, std::int64_t allocated, std::int64_t pod_request,
                                     double reciprocal) {
  const std::int64_t used = framework::WrappingAdd(allocated, pod_request);
  std::int64_t part = 0;
  if constexpr (kShare == ShareOf::kFree) {
    const std::int64_t free = framework::WrappingSub(allocatable, used);
    part = free & ~(free >> 63);  // at least 0
  } else {
    part = used < allocatable ? used : allocatable;
  }
  const double quotient = Quotient<kLevel>(ToDouble<kLevel>(part) * 100, ToDouble<kLevel>(allocatable), reciprocal);
  // An integer division: the rounded quotient reaches the next whole number only where the exact one does, which below
  // it is short of it by more than half a last place.
  return static_cast<double>(static_cast<std::int32_t>(quotient));
}

template <CpuLevel kLevel, ShareOf kShare>
BERTH_ALWAYS_INLINE void WeightedShareLoop(const std::array<ResourceRows, 2>& resources,
                                           const std::array<std::int64_t, 2>& weights, std::size_t count,
                                           std::int64_t* scores) {
  const std::int64_t* const allocatable0 = resources[0].allocatable;
  const std::int64_t* const allocatable1 = resources[1].allocatable;
  const std::int64_t* const allocated0 = resources[0].allocated;
  const std::int64_t* const allocated1 = resources[1].allocated;
  const double* const reciprocal0 = resources[0].reciprocal;
  const double* const reciprocal1 = resources[1].reciprocal;
  const std::int64_t request0 = resources[0].pod_request;
  const std::int64_t request1 = resources[1].pod_request;
  const auto weight0 = static_cast<double>(weights[0]);
  const auto weight1 = static_cast<double>(weights[1]);
  const double weight_sum = weight0 + weight1;
  const double weight_reciprocal = 1 / weight_sum;
  for (std::size_t i = 0; i < count; ++i) {
    const double percent0 = PercentOf<kLevel, kShare>(allocatable0[i], allocated0[i], request0, reciprocal0[i]);
    const double percent1 = PercentOf<kLevel, kShare>(allocatable1[i], allocated1[i], request1, reciprocal1[i]);
    const double sum = percent0 * weight0 + percent1 * weight1;
    scores[i] = static_cast<std::int32_t>(Quotient<kLevel>(sum, weight_sum, weight_reciprocal));
  }
}

template <CpuLevel kLevel>
BERTH_ALWAYS_INLINE double FractionOf(double used, double capacity, double reciprocal) {
  const double fraction = Quotient<kLevel>(used, capacity, reciprocal);
  return fraction < 1 ? fraction : 1;
}

// 100 × (1 - standard deviation), in upstream's order of operations: the last bit decides which integer comes out.
BERTH_ALWAYS_INLINE std::int32_t BalanceOf(double fraction0, double fraction1) {
  return static_cast<std::int32_t>((1 - std::abs((fraction0 - fraction1) / 2)) * 100);
}

template <CpuLevel kLevel, BalanceScore kScore>
BERTH_ALWAYS_INLINE void BalanceOfTwoLoop(const std::array<ResourceRows, 2>& resources, std::size_t count,
                                          std::int64_t* scores) {
  const std::int64_t* const allocatable0 = resources[0].allocatable;
  const std::int64_t* const allocatable1 = resources[1].allocatable;
  const std::int64_t* const allocated0 = resources[0].allocated;
  const std::int64_t* const allocated1 = resources[1].allocated;
  const double* const reciprocal0 = resources[0].reciprocal;
  const double* const reciprocal1 = resources[1].reciprocal;
  const auto request0 = static_cast<double>(resources[0].pod_request);
  const auto request1 = static_cast<double>(resources[1].pod_request);
  for (std::size_t i = 0; i < count; ++i) {
    const double capacity0 = ToDouble<kLevel>(allocatable0[i]);
    const double capacity1 = ToDouble<kLevel>(allocatable1[i]);
    const double used0 = ToDouble<kLevel>(allocated0[i]);
    const double used1 = ToDouble<kLevel>(allocated1[i]);
    const std::int32_t with_pod = BalanceOf(FractionOf<kLevel>(used0 + request0, capacity0, reciprocal0[i]),
                                            FractionOf<kLevel>(used1 + request1, capacity1, reciprocal1[i]));
    if constexpr (kScore == BalanceScore::kOutcome) {
      scores[i] = with_pod;
      continue;
    }
    const std::int32_t without_pod = BalanceOf(FractionOf<kLevel>(used0, capacity0, reciprocal0[i]),
                                               FractionOf<kLevel>(used1, capacity1, reciprocal1[i]));
    // A balance is 50 to 100, so that nothing here is negative and the shift divides.
    scores[i] = 50 + ((50 + with_pod - without_pod) >> 1);
  }
}

// A resource's fraction over some rows, without the pod and with it, and what the pod adds to it.
struct FractionBounds {
  double low, high, low_with, high_with, added_low, added_high;
};

// Division, addition and the like round, but never past the rounded result of larger operands: bounds of the operands
// give bounds of what BalanceOfTwo computes.
BERTH_ALWAYS_INLINE FractionBounds BoundsOfFraction(const ResourceRows& emptiest, const ResourceRows& fullest,
                                                    std::size_t i) {
  const auto least = static_cast<double>(emptiest.allocated[i]);
  const auto most = static_cast<double>(fullest.allocated[i]);
  const auto large = static_cast<double>(emptiest.allocatable[i]);
  const auto small = static_cast<double>(fullest.allocatable[i]);
  const auto request = static_cast<double>(emptiest.pod_request);
  const auto at_most_1 = [](double fraction) { return fraction < 1 ? fraction : 1; };
  return {at_most_1(least / large),
          at_most_1(most / small),
          at_most_1((least + request) / large),
          at_most_1((most + request) / small),
          (most + request) / small <= 1 ? request / large : 0,
          request / small};
}

BERTH_ALWAYS_INLINE std::int64_t BoundOfBalance(BalanceScore score, const FractionBounds& a, const FractionBounds& b) {
  const double gap_with = std::max(0.0, std::max(a.low_with - b.high_with, b.low_with - a.high_with));
  if (score == BalanceScore::kOutcome) return BalanceOf(gap_with, 0);
  const double gap_without = std::max(a.high - b.low, b.high - a.low);
  const std::int32_t by_range = BalanceOf(gap_with, 0) - BalanceOf(gap_without, 0);
  // The fractions come no nearer to each other than by what the pod adds to one more than to the other, half of which
  // counts. What is cut off may make it 1 more, and rounding a little.
  constexpr double kRounding = 1e-9;
  const double nearer = std::max(a.added_high - b.added_low, b.added_high - a.added_low);
  const std::int32_t by_request = static_cast<std::int32_t>(std::min(nearer, 2.0) * 50 + kRounding) + 1;
  return 50 + ((50 + std::min(by_range, by_request)) >> 1);
}

template <CpuLevel kLevel>
BERTH_ALWAYS_INLINE void WeightedShareOf(ShareOf share, const std::array<ResourceRows, 2>& resources,
                                         const std::array<std::int64_t, 2>& weights, std::size_t count,
                                         std::int64_t* scores) {
  return share == ShareOf::kFree ? WeightedShareLoop<kLevel, ShareOf::kFree>(resources, weights, count, scores)
                                 : WeightedShareLoop<kLevel, ShareOf::kUsed>(resources, weights, count, scores);
}

template <CpuLevel kLevel>
BERTH_ALWAYS_INLINE void BalanceOfTwoOf(BalanceScore score, const std::array<ResourceRows, 2>& resources,
                                        std::size_t count, std::int64_t* scores) {
  return score == BalanceScore::kChange ? BalanceOfTwoLoop<kLevel, BalanceScore::kChange>(resources, count, scores)
                                        : BalanceOfTwoLoop<kLevel, BalanceScore::kOutcome>(resources, count, scores);
}

#if BERTH_CPU_DISPATCH

BERTH_TARGET_AVX2 bool AnyIsShortAvx2(const std::int64_t* allocatable_pods, const std::int64_t* pod_count,
                                      const std::array<ResourceRows, 2>& resources, std::size_t count) {
  return AnyIsShortLoop(allocatable_pods, pod_count, resources, count);
}
BERTH_TARGET_AVX512 bool AnyIsShortAvx512(const std::int64_t* allocatable_pods, const std::int64_t* pod_count,
                                          const std::array<ResourceRows, 2>& resources, std::size_t count) {
  return AnyIsShortLoop(allocatable_pods, pod_count, resources, count);
}
BERTH_TARGET_AVX2 void WeightedShareAvx2(ShareOf share, const std::array<ResourceRows, 2>& resources,
                                         const std::array<std::int64_t, 2>& weights, std::size_t count,
                                         std::int64_t* scores) {
  return WeightedShareOf<CpuLevel::kAvx2>(share, resources, weights, count, scores);
}
BERTH_TARGET_AVX512 void WeightedShareAvx512(ShareOf share, const std::array<ResourceRows, 2>& resources,
                                             const std::array<std::int64_t, 2>& weights, std::size_t count,
                                             std::int64_t* scores) {
  return WeightedShareOf<CpuLevel::kAvx512>(share, resources, weights, count, scores);
}
BERTH_TARGET_AVX2 void BalanceOfTwoAvx2(BalanceScore score, const std::array<ResourceRows, 2>& resources,
                                        std::size_t count, std::int64_t* scores) {
  return BalanceOfTwoOf<CpuLevel::kAvx2>(score, resources, count, scores);
}
BERTH_TARGET_AVX512 void BalanceOfTwoAvx512(BalanceScore score, const std::array<ResourceRows, 2>& resources,
                                            std::size_t count, std::int64_t* scores) {
  return BalanceOfTwoOf<CpuLevel::kAvx512>(score, resources, count, scores);
}

#endif

}  // namespace

bool AnyIsShort(const std::int64_t* allocatable_pods, const std::int64_t* pod_count,
                const std::array<ResourceRows, 2>& resources, std::size_t count, CpuLevel level) {
#if BERTH_CPU_DISPATCH
  if (level == CpuLevel::kAvx512) return AnyIsShortAvx512(allocatable_pods, pod_count, resources, count);
  if (level == CpuLevel::kAvx2) return AnyIsShortAvx2(allocatable_pods, pod_count, resources, count);
#endif
  (void)level;
  return AnyIsShortLoop(allocatable_pods, pod_count, resources, count);
}

bool AreExact(const std::array<ResourceRows, 2>& resources, std::size_t count) {
  std::uint64_t bits = 0;
  for (const ResourceRows& resource : resources) {
    // A capacity of 0 becomes all ones.
    for (std::size_t i = 0; i < count; ++i) {
      bits |=
          (static_cast<std::uint64_t>(resource.allocatable[i]) - 1) | static_cast<std::uint64_t>(resource.allocated[i]);
    }
  }
  return bits < static_cast<std::uint64_t>(framework::kUsualAmountMax);
}

void WeightedShare(ShareOf share, const std::array<ResourceRows, 2>& resources,
                   const std::array<std::int64_t, 2>& weights, std::size_t count, std::int64_t* scores,
                   CpuLevel level) {
#if BERTH_CPU_DISPATCH
  if (level == CpuLevel::kAvx512) return WeightedShareAvx512(share, resources, weights, count, scores);
  if (level == CpuLevel::kAvx2) return WeightedShareAvx2(share, resources, weights, count, scores);
#endif
  (void)level;
  return WeightedShareOf<CpuLevel::kBaseline>(share, resources, weights, count, scores);
}

void BalanceOfTwo(BalanceScore score, const std::array<ResourceRows, 2>& resources, std::size_t count,
                  std::int64_t* scores, CpuLevel level) {
#if BERTH_CPU_DISPATCH
  if (level == CpuLevel::kAvx512) return BalanceOfTwoAvx512(score, resources, count, scores);
  if (level == CpuLevel::kAvx2) return BalanceOfTwoAvx2(score, resources, count, scores);
#endif
  (void)level;
  return BalanceOfTwoOf<CpuLevel::kBaseline>(score, resources, count, scores);
}

void BoundsOfBalance(BalanceScore score, const std::array<ResourceRows, 2>& emptiest,
                     const std::array<ResourceRows, 2>& fullest, std::size_t count, std::int64_t* bounds) {
  for (std::size_t i = 0; i < count; ++i) {
    bounds[i] = BoundOfBalance(score, BoundsOfFraction(emptiest[0], fullest[0], i),
                               BoundsOfFraction(emptiest[1], fullest[1], i));
  }
}

}  // namespace berth::plugins
