// SPDX-License-Identifier: Apache-2.0
// Values of Kubernetes' own types in CEL: quantities and semantic versions, parsed like upstream's libraries. Plain
// values: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/quantity.h"
#include "berth/base/expected.h"

namespace berth::cel {

// A quantity together with upstream's internal representation, on which the results of isInteger and asInteger depend.
struct QuantityValue {
  api::Quantity amount;
  // Upstream's representation as mantissa * 10^exponent; nullopt if upstream uses a big decimal.
  struct Scaled {
    std::int64_t mantissa = 0;
    std::int32_t exponent = 0;
  };
  std::optional<Scaled> scaled;
  // Result of add or sub: upstream then has a pointer, which its equality does not recognise on the right-hand side.
  bool is_computed = false;
};

// A semantic version, parsed and compared like github.com/blang/semver/v4.
struct Semver {
  struct Identifier {
    std::string text;
    std::uint64_t number = 0;
    bool is_number = false;
  };
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<Identifier> prerelease;
  std::vector<std::string> build;

  static Expected<Semver> Parse(std::string_view text);
  // Also accepts "v1.2", "1" and leading zeros: the two-argument form of semver().
  static Expected<Semver> ParseNormalized(std::string_view text);
  int Compare(const Semver& other) const;  // -1, 0, 1
  std::string ToString() const;
};

// Parses a text or number as a quantity, with upstream's errors.
Expected<QuantityValue> ParseQuantity(std::string_view text);
QuantityValue QuantityFromAmount(const api::Quantity& amount);

}  // namespace berth::cel
