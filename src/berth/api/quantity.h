// SPDX-License-Identifier: Apache-2.0
// Quantity: a resource amount with the exact semantics of Kubernetes' resource.Quantity: a fixed-point number in units
// of 1e-9.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::api {

class Quantity {
 public:
  __extension__ using Nanos = __int128;

  Quantity() = default;
  static Quantity FromValue(std::int64_t units) { return Quantity(static_cast<Nanos>(units) * kNanosPerUnit); }
  static Quantity FromNanos(Nanos nanos) { return Quantity(nanos); }
  static Quantity FromMilli(std::int64_t milli) { return Quantity(static_cast<Nanos>(milli) * kNanosPerMilli); }

  // All suffixes: n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, decimal exponents (1e3, 1E3). Accepts the same texts as
  // upstream's ParseQuantity. Fractions finer than 1e-9 are rounded away from zero, and magnitudes are capped at 2^63-1
  // units: upstream caps binary suffixes only, and its Value() of a larger decimal amount is 0 or wraps. The error is
  // `"1x" is no quantity: ...`.
  static Expected<Quantity> Parse(std::string_view text);

  // Whole units and thousandths, rounded away from zero; saturates at the limits of int64.
  std::int64_t Value() const;
  std::int64_t MilliValue() const;

  bool IsZero() const { return nanos_ == 0; }
  bool IsNegative() const { return nanos_ < 0; }
  auto operator<=>(const Quantity&) const = default;
  Nanos nanos() const { return nanos_; }

 private:
  static constexpr Nanos kNanosPerUnit = 1'000'000'000;
  static constexpr Nanos kNanosPerMilli = 1'000'000;
  explicit Quantity(Nanos nanos) : nanos_(nanos) {}

  Nanos nanos_ = 0;
};

}  // namespace berth::api
