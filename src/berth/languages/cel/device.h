// SPDX-License-Identifier: Apache-2.0
// CEL selectors of dynamic resource allocation: whether a device matches a selector of a DeviceClass or a
// ResourceClaim. Same behaviour as k8s.io/dynamic-resource-allocation/cel of Kubernetes 1.36.
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

// The API's cost limit of a selector for one device (CELSelectorExpressionMaxCost).
inline constexpr std::uint64_t kSelectorCostMax = 1'000'000;

struct DeviceFeatures {
  bool list_attributes = false;  // the feature gate DRAListTypeAttributes
  bool shared_devices = true;    // without, device.allowMultipleAllocations is false of every device
  bool names_container = true;   // errors about unknown names say "(in container '')"
};

// A semantic version, as text.
struct DeviceVersion {
  std::string text;
};

// The value of an attribute; monostate: of an unknown type.
using DeviceAttribute =
    std::variant<std::monostate, std::int64_t, bool, std::string, DeviceVersion, std::vector<std::int64_t>,
                 std::vector<bool>, std::vector<std::string>, std::vector<DeviceVersion>>;

// A device as selectors see it. Names are "domain/id", or "id" for the driver's domain.
struct Device {
  std::string driver;
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, DeviceAttribute>> attributes;
  std::vector<std::pair<std::string, api::Quantity>> capacity;
};

// A device prepared for any number of selectors. Immutable, cheap to copy.
class DeviceInput {
 public:
  // The error is upstream's for an unusable attribute ("attribute x: unsupported attribute value"); it is then the
  // result of every selector.
  static Expected<DeviceInput> Make(const Device& device, const DeviceFeatures& features = {});

  const Activation& activation() const { return activation_; }

 private:
  Activation activation_;
};

struct DeviceMatch {
  Expected<bool> matches;  // errors have upstream's text
  std::uint64_t cost = 0;
};

// A compiled selector. Immutable: copies share it, and any thread may use it.
class DeviceSelector {
 public:
  // The error is that of the API server and the scheduler for this expression.
  static Expected<DeviceSelector> Compile(std::string_view expression, const DeviceFeatures& features = {});

  DeviceMatch Matches(const DeviceInput& device, std::uint64_t cost_limit = kSelectorCostMax) const;

 private:
  explicit DeviceSelector(Program program) : program_(std::move(program)) {}

  Program program_;
};

}  // namespace berth::cel
