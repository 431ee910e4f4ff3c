// SPDX-License-Identifier: Apache-2.0
// Any text is either a quantity within its limits or an error.
#include <cstdint>
#include <string_view>

#include "berth/api/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::api::Quantity;
  const auto quantity = Quantity::Parse({reinterpret_cast<const char*>(data), size});
  if (!quantity.ok()) return 0;
  constexpr auto kCap = static_cast<Quantity::Nanos>(INT64_MAX) * 1'000'000'000;
  BERTH_CHECK(quantity->nanos() <= kCap && quantity->nanos() >= -kCap);
  // Rounding is away from zero, so that the whole value is not smaller in magnitude.
  const Quantity whole = Quantity::FromValue(quantity->Value());
  BERTH_CHECK(quantity->IsNegative() ? whole <= *quantity : whole >= *quantity);
  BERTH_CHECK(quantity->IsZero() == (quantity->Value() == 0));
  return 0;
}
