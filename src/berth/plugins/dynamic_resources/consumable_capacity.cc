// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/consumable_capacity.h"

#include <algorithm>
#include <limits>

#include "berth/framework/resource.h"
#include "berth/plugins/dynamic_resources/claim_json.h"

namespace berth::plugins {
namespace {

using api::CapacityRequestPolicy;
using api::CapacityRequestRange;
using api::Quantity;

const Quantity* Requested(const CapacityRequests& requests, const std::string& name) {
  if (!requests) return nullptr;
  const auto it = std::find_if(requests->begin(), requests->end(), [&](const auto& r) { return r.first == name; });
  return it == requests->end() ? nullptr : &it->second;
}

// Upstream divides by steps in whole units. The API server refuses steps that are not positive; nothing fits one.
bool HasUsableStep(const CapacityRequestRange& range) { return range.step->Value() > 0; }

std::int64_t MinOf(const CapacityRequestRange& range) { return range.min ? range.min->Value() : 0; }

// How many steps above the range's minimum the amount is, rounded up.
Quantity::Nanos StepsAbove(std::int64_t amount, const CapacityRequestRange& range) {
  const std::int64_t step = range.step->Value();
  const std::int64_t added = framework::WrappingSub(amount, MinOf(range));
  return added / step + (added % step != 0 ? 1 : 0);
}

Quantity RoundUpRange(const Quantity& requested, const CapacityRequestRange& range) {
  if (requested < *range.min) return *range.min;
  if (!range.step || !HasUsableStep(range)) return requested;
  return Quantity::FromValue(
      static_cast<std::int64_t>(MinOf(range) + StepsAbove(requested.Value(), range) * range.step->Value()));
}

Quantity RoundUpValues(const Quantity& requested, const std::vector<Quantity>& values) {
  const auto it = std::find_if(values.begin(), values.end(), [&](const Quantity& value) { return requested <= value; });
  return it == values.end() ? requested : *it;
}

bool ViolatesRange(const Quantity& amount, const CapacityRequestRange& range) {
  if (range.max && amount > *range.max) return true;
  if (!range.step) return false;
  return !HasUsableStep(range) || framework::WrappingSub(amount.Value(), MinOf(range)) % range.step->Value() != 0;
}

bool ViolatesPolicy(const Quantity& amount, const std::optional<CapacityRequestPolicy>& policy) {
  if (!policy || (policy->default_value && amount == *policy->default_value)) return false;
  if (policy->valid_range) return ViolatesRange(amount, *policy->valid_range);
  const auto& values = policy->valid_values;
  return !values.empty() && std::find(values.begin(), values.end(), amount) == values.end();
}

// A capacity's amount that cannot be, in upstream's words; nothing when it can.
std::string OddAmount(const Quantity* requested, const api::DeviceCapacity& capacity, const Quantity& consumed) {
  constexpr Quantity::Nanos kMax = std::numeric_limits<std::int64_t>::max();
  const auto& policy = capacity.request_policy;
  if (requested != nullptr && policy && policy->valid_range && policy->valid_range->min && policy->valid_range->step) {
    const CapacityRequestRange& range = *policy->valid_range;
    const std::int64_t min = range.min->Value();
    if (*requested >= *range.min && HasUsableStep(range) && min >= 0 &&
        StepsAbove(requested->Value(), range) > (kMax - min) / range.step->Value()) {
      return "capacity request cannot be represented in the device's range arithmetic: rounding request " +
             QuantityText(*requested) + " up to the next step passes MaxInt64";
    }
  }
  return consumed.nanos() < 0 ? "capacity value is negative" : "";
}

Quantity ConsumedCapacity(const Quantity* requested, const api::DeviceCapacity& capacity) {
  const auto& policy = capacity.request_policy;
  if (requested == nullptr) return policy && policy->default_value ? *policy->default_value : capacity.value;
  if (!policy) return *requested;
  if (policy->valid_range && policy->valid_range->min) return RoundUpRange(*requested, *policy->valid_range);
  return RoundUpValues(*requested, policy->valid_values);
}

}  // namespace

std::vector<std::pair<std::string, Quantity>> ConsumedCapacities(const CapacityRequests& requests,
                                                                 const api::Device& device) {
  std::vector<std::pair<std::string, Quantity>> consumed;
  consumed.reserve(device.capacity.size());
  for (const auto& [name, capacity] : device.capacity) {
    consumed.emplace_back(name, ConsumedCapacity(Requested(requests, name), capacity));
  }
  return consumed;
}

Expected<bool> FitsCapacity(const CapacityRequests& requests, const api::Device& device, const DeviceAmounts* consumed,
                            const DeviceAmounts* allocating, bool refuses_odd) {
  const auto has = [&](const std::string& name) {
    return std::any_of(device.capacity.begin(), device.capacity.end(), [&](const auto& c) { return c.first == name; });
  };
  if (requests && !std::all_of(requests->begin(), requests->end(), [&](const auto& r) { return has(r.first); })) {
    return false;
  }
  for (const auto& [name, capacity] : device.capacity) {
    if (!refuses_odd) break;
    const Quantity* requested = Requested(requests, name);
    if (const std::string odd = OddAmount(requested, capacity, ConsumedCapacity(requested, capacity)); !odd.empty())
      return InvalidError("capacity \"" + name + "\": " + odd);
  }
  const auto taken = [](const DeviceAmounts* amounts, const std::string& name) -> Quantity::Nanos {
    if (amounts == nullptr) return 0;
    const auto it = amounts->find(name);
    return it == amounts->end() ? 0 : it->second;
  };
  for (const auto& [name, capacity] : device.capacity) {
    const Quantity amount = ConsumedCapacity(Requested(requests, name), capacity);
    if (ViolatesPolicy(amount, capacity.request_policy)) return false;
    if (amount.nanos() + taken(consumed, name) + taken(allocating, name) > capacity.value.nanos()) return false;
  }
  return true;
}

}  // namespace berth::plugins
