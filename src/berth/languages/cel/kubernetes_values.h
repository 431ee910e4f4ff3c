// SPDX-License-Identifier: Apache-2.0
// The values of Kubernetes' own types in CEL: quantities and semantic versions, as upstream's libraries read them.
// Plain values: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/quantity.h"
#include "berth/base/expected.h"

namespace berth::cel {

// A quantity with what upstream's resource.Quantity remembers of how it was written: isInteger and asInteger answer by
// that, and not by the amount.
struct QuantityValue {
  api::Quantity amount;
  // The amount as mantissa * 10^exponent when upstream holds it so, and not as a big decimal.
  struct Scaled {
    std::int64_t mantissa = 0;
    std::int32_t exponent = 0;
  };
  std::optional<Scaled> scaled;
  // Made by add or sub: upstream makes a pointer then, which its equality does not recognise on the right-hand side.
  bool is_computed = false;
};

// A semantic version, as github.com/blang/semver/v4 reads and compares it.
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
  // Also takes "v1.2", "1" and leading zeros: the second form of semver().
  static Expected<Semver> ParseNormalized(std::string_view text);
  int Compare(const Semver& other) const;  // -1, 0, 1
  std::string ToString() const;
};

// A text or number as a quantity; the error is upstream's.
Expected<QuantityValue> ParseQuantity(std::string_view text);
QuantityValue QuantityFromAmount(const api::Quantity& amount);

}  // namespace berth::cel
