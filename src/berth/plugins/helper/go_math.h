// SPDX-License-Identifier: Apache-2.0
// Go's floating-point functions where the last bit can decide a score. Compile without contraction into fused
// operations (the default on x86-64): Go does not fuse there.
#pragma once

#include <cmath>
#include <cstdint>

namespace berth::plugins {

// math.Log of a finite x > 0: fdlibm's __ieee754_log as Go has it, which differs from the C library's in the last bit.
inline double GoLog(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kL1 = 6.666666666666735130e-01;
  constexpr double kL2 = 3.999999999940941908e-01;
  constexpr double kL3 = 2.857142874366239149e-01;
  constexpr double kL4 = 2.222219843214978396e-01;
  constexpr double kL5 = 1.818357216161805012e-01;
  constexpr double kL6 = 1.531383769920937332e-01;
  constexpr double kL7 = 1.479819860511658591e-01;
  constexpr double kHalfSqrt2 = 7.07106781186547524401e-01;

  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < kHalfSqrt2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const auto k = static_cast<double>(exponent);
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double t1 = s2 * (kL1 + s4 * (kL3 + s4 * (kL5 + s4 * kL7)));
  const double t2 = s4 * (kL2 + s4 * (kL4 + s4 * kL6));
  const double r = t1 + t2;
  const double half_f2 = 0.5 * f * f;
  return k * kLn2High - ((half_f2 - (s * (half_f2 + r) + k * kLn2Low)) - f);
}

}  // namespace berth::plugins
