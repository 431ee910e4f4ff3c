// SPDX-License-Identifier: Apache-2.0
// AttributeConstraint: what a claim asks of its devices together: equal or distinct values of an attribute. Once a
// device does not satisfy it, more devices never change that. Upstream: matchAttributeConstraint,
// distinctAttributeConstraint.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/resource_claim.h"

namespace berth::plugins {

// The attribute under its own name, or, when its domain is the driver's, under the name without the domain; null when
// the device has none. `name` is fully qualified.
const api::DeviceAttribute* FindDeviceAttribute(const api::Device& device, std::string_view driver,
                                                std::string_view name);

class AttributeConstraint {
 public:
  // The request that a device is taken for: its name, and "request/subrequest" for one of a prioritised list.
  struct Request {
    std::string_view name;
    std::string_view full_name;
  };

  // `constraint` must outlive it, and name an attribute. `are_distinct_in_request`, `distinct_is_always_met`:
  // DeviceRules.
  explicit AttributeConstraint(const api::DeviceConstraint& constraint, bool are_distinct_in_request = false,
                               bool distinct_is_always_met = false);

  // Counts the device in if it satisfies the constraint or is not concerned.
  bool Add(const Request& request, std::string_view driver, const api::Device& device);
  // Takes back an Add that succeeded. The last Add is taken back first.
  void Remove(const Request& request);

 private:
  bool Concerns(const Request& request) const;
  bool IsDistinct(const api::DeviceAttribute& attribute) const;

  const api::DeviceConstraint* constraint_;
  bool is_distinct_;
  std::string_view attribute_name_;
  std::size_t device_count_ = 0;
  const api::DeviceAttribute* value_ = nullptr;  // to be matched: the first device's
  bool are_distinct_in_request_;
  bool distinct_is_always_met_;
  // To be distinct from, with the request that has it: all values, or the last one of each request.
  std::vector<std::pair<std::string_view, const api::DeviceAttribute*>> values_;
};

}  // namespace berth::plugins
