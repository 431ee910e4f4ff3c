// SPDX-License-Identifier: Apache-2.0
// CPU dispatch: code in several versions, one of which is chosen at run time, because releases are built for any
// x86-64. A kernel is an inline template over CpuLevel and is instantiated in one function for each level, which has
// the level's BERTH_TARGET_*. Without BERTH_CPU_DISPATCH there is only kBaseline.
#pragma once

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define BERTH_CPU_DISPATCH 1
#define BERTH_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define BERTH_TARGET_AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")))
#else
#define BERTH_CPU_DISPATCH 0
#endif

#define BERTH_ALWAYS_INLINE inline __attribute__((always_inline))

namespace berth {

enum class CpuLevel : std::uint8_t {
  kBaseline,  // features that the build requires of every CPU
  kAvx2,      // and FMA
  kAvx512,    // F, DQ, VL and BW
};

// The highest level of this machine; cached.
inline CpuLevel BestCpuLevel() {
#if BERTH_CPU_DISPATCH
  static const CpuLevel kBest = [] {
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                            __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                            __builtin_cpu_supports("avx512bw") != 0;
    return has_avx512 ? CpuLevel::kAvx512 : has_avx2 ? CpuLevel::kAvx2 : CpuLevel::kBaseline;
  }();
  return kBest;
#else
  return CpuLevel::kBaseline;
#endif
}

}  // namespace berth
