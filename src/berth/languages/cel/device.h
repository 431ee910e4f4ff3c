// SPDX-License-Identifier: Apache-2.0
// CEL selectors of dynamic resource allocation: does a device match what a DeviceClass or a ResourceClaim asks for.
// Behaves as k8s.io/dynamic-resource-allocation/cel of Kubernetes 1.36.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/quantity.h"
#include "berth/base/expected.h"
#include "berth/languages/cel/program.h"

namespace berth::cel {

// What the API allows one selector to cost for one device (CELSelectorExpressionMaxCost).
inline constexpr std::uint64_t kSelectorCostMax = 1'000'000;

struct DeviceFeatures {
  bool list_attributes = false;  // the feature gate DRAListTypeAttributes
};

// A semantic version, as text.
struct DeviceVersion {
  std::string text;
};

// The value of an attribute: one of the kinds of resource.k8s.io, or none of them.
using DeviceAttribute =
    std::variant<std::monostate, std::int64_t, bool, std::string, DeviceVersion, std::vector<std::int64_t>,
                 std::vector<bool>, std::vector<std::string>, std::vector<DeviceVersion>>;

// What a selector sees of a device. Names are "domain/id", or "id" in the driver's domain.
struct Device {
  std::string driver;
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, DeviceAttribute>> attributes;
  std::vector<std::pair<std::string, api::Quantity>> capacity;
};

// A device made ready for any number of selectors. Immutable, cheap to copy.
class DeviceInput {
 public:
  // The error is upstream's for an attribute that it cannot use ("attribute x: unsupported attribute value"): it stands
  // for the answer of every selector.
  static Expected<DeviceInput> Make(const Device& device, const DeviceFeatures& features = {});

  const Activation& activation() const { return activation_; }

 private:
  Activation activation_;
};

struct DeviceMatch {
  Expected<bool> matches;  // the error has upstream's text
  std::uint64_t cost = 0;
};

// A compiled selector. Immutable: copies share it, and any thread may use it.
class DeviceSelector {
 public:
  // The error is what the API server and the scheduler say of such an expression.
  static Expected<DeviceSelector> Compile(std::string_view expression, const DeviceFeatures& features = {});

  DeviceMatch Matches(const DeviceInput& device, std::uint64_t cost_limit = kSelectorCostMax) const;

 private:
  explicit DeviceSelector(Program program) : program_(std::move(program)) {}

  Program program_;
};

}  // namespace berth::cel
