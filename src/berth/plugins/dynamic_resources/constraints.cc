// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/constraints.h"

#include <algorithm>

namespace berth::plugins {
namespace {

const api::DeviceAttribute* Find(const api::Device& device, std::string_view name) {
  const auto it = std::find_if(device.attributes.begin(), device.attributes.end(),
                               [name](const auto& attribute) { return attribute.first == name; });
  return it == device.attributes.end() ? nullptr : &it->second;
}

// Lists, and values of kinds that we do not know, cannot be compared.
bool IsComparable(const api::DeviceAttribute& attribute) {
  return std::holds_alternative<std::int64_t>(attribute) || std::holds_alternative<bool>(attribute) ||
         std::holds_alternative<std::string>(attribute) || std::holds_alternative<api::VersionValue>(attribute);
}

}  // namespace

const api::DeviceAttribute* FindDeviceAttribute(const api::Device& device, std::string_view driver,
                                                std::string_view name) {
  if (const api::DeviceAttribute* found = Find(device, name)) return found;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  return Find(device, name.substr(slash + 1));
}

AttributeConstraint::AttributeConstraint(const api::DeviceConstraint& constraint, bool are_distinct_in_request,
                                         bool distinct_is_always_met)
    : constraint_(&constraint),
      is_distinct_(!constraint.match_attribute),
      attribute_name_(is_distinct_ ? *constraint.distinct_attribute : *constraint.match_attribute),
      are_distinct_in_request_(are_distinct_in_request),
      distinct_is_always_met_(distinct_is_always_met) {}

bool AttributeConstraint::Concerns(const Request& request) const {
  const auto& names = constraint_->requests;
  return names.empty() || std::find(names.begin(), names.end(), request.name) != names.end() ||
         std::find(names.begin(), names.end(), request.full_name) != names.end();
}

bool AttributeConstraint::Add(const Request& request, std::string_view driver, const api::Device& device) {
  if (!Concerns(request)) return true;
  const api::DeviceAttribute* attribute = FindDeviceAttribute(device, driver, attribute_name_);
  if (attribute == nullptr) return false;
  if (device_count_ > 0) {
    if (is_distinct_ ? !IsDistinct(*attribute) : !(IsComparable(*attribute) && *attribute == *value_)) return false;
  } else {
    value_ = attribute;
  }
  if (is_distinct_) {
    if (!are_distinct_in_request_)
      std::erase_if(values_, [&](const auto& value) { return value.first == request.name; });
    values_.emplace_back(request.name, attribute);
  }
  ++device_count_;
  return true;
}

void AttributeConstraint::Remove(const Request& request) {
  if (!Concerns(request)) return;
  if (is_distinct_ && are_distinct_in_request_) {
    values_.pop_back();
  } else if (is_distinct_) {
    std::erase_if(values_, [&](const auto& value) { return value.first == request.name; });
  }
  --device_count_;
}

bool AttributeConstraint::IsDistinct(const api::DeviceAttribute& attribute) const {
  return std::all_of(values_.begin(), values_.end(), [&](const auto& other) {
    return IsComparable(attribute) && (distinct_is_always_met_ || attribute != *other.second);
  });
}

}  // namespace berth::plugins
