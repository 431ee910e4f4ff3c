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

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr Quantity::Nanos kNanosPerMilli = 1'000'000;

// "driver/id" of "id"; a name with a domain stays.
std::string FullName(std::string_view driver, const std::string& name) {
  return name.find('/') == std::string::npos ? std::string(driver) + "/" + name : name;
}

// What a request asks of the capacities of one device.
class RequestedCapacities {
 public:
  RequestedCapacities(const CapacityRequests& requests, std::string_view driver, const framework::DeviceRules& rules)
      : requests_(requests), driver_(driver), completes_names_(rules.completes_capacity_names) {}

  // Null: nothing is asked of it.
  const Quantity* Find(const std::string& capacity) const {
    if (!requests_) return nullptr;
    const auto it =
        std::find_if(requests_->begin(), requests_->end(), [&](const auto& r) { return IsSame(r.first, capacity); });
    return it == requests_->end() ? nullptr : &it->second;
  }

  // Whether the device has all that is asked for. The error: two names that are one.
  Expected<bool> AreIn(const api::Device& device) const {
    if (!requests_) return true;
    for (auto wanted = requests_->begin(); wanted != requests_->end(); ++wanted) {
      const bool is_there = std::any_of(device.capacity.begin(), device.capacity.end(),
                                        [&](const auto& c) { return IsSame(c.first, wanted->first); });
      if (!is_there) return false;
      const auto twin =
          std::find_if(requests_->begin(), wanted, [&](const auto& r) { return IsSame(r.first, wanted->first); });
      if (twin == wanted) continue;
      const std::string full = FullName(driver_, wanted->first);
      return InvalidError("capacity \"" + full.substr(full.find('/') + 1) + "\" requested both as \"" + wanted->first +
                          "\" and as \"" + twin->first + "\"");
    }
    return true;
  }

  // Whether two names mean the same capacity.
  bool IsSame(const std::string& a, const std::string& b) const {
    return a == b || (completes_names_ && FullName(driver_, a) == FullName(driver_, b));
  }

  // The capacity's name as errors have it.
  std::string Shown(const std::string& capacity) const {
    return completes_names_ ? FullName(driver_, capacity) : capacity;
  }

 private:
  const CapacityRequests& requests_;
  const std::string_view driver_;
  const bool completes_names_;
};

// A range is counted in whole units, or in thousandths: of the latter all its amounts have to be multiples. Upstream
// divides by steps. The API server refuses steps that are not positive; nothing fits one.
class RangeSteps {
 public:
  RangeSteps(const CapacityRequestRange& range, const framework::DeviceRules& rules) {
    const auto is_milli = [](const std::optional<Quantity>& amount) { return !amount || IsMilli(*amount); };
    counts_milli_ = rules.has_fractional_capacities && is_milli(range.min) && is_milli(range.max) &&
                    is_milli(range.step) && range.step && range.step->nanos() >= kNanosPerMilli;
    step_ = range.step ? Count(*range.step) : 0;
    min_ = range.min ? Count(*range.min) : 0;
  }

  bool AreUsable() const { return step_ > 0; }
  bool CanCount(const Quantity& amount) const { return !counts_milli_ || IsMilli(amount); }

  // Whether the amount is the minimum and some steps.
  bool Reach(const Quantity& amount) const {
    return CanCount(amount) && framework::WrappingSub(Count(amount), min_) % step_ == 0;
  }

  Quantity RoundUp(const Quantity& amount) const {
    const Quantity::Nanos rounded = min_ + StepsTo(amount) * step_;
    if (counts_milli_) return Quantity::FromNanos(rounded * kNanosPerMilli);
    return Quantity::FromValue(static_cast<std::int64_t>(rounded));
  }

  // Why the amount cannot be rounded up, in upstream's words; nothing when it can.
  std::string WhyNotRounded(const Quantity& amount) const {
    constexpr std::string_view kPrefix = "capacity request cannot be represented in the device's range arithmetic: ";
    if (!CanCount(amount))
      return std::string(kPrefix) + "request " + QuantityText(amount) + " is not a representable milli value";
    if ((!counts_milli_ && min_ < 0) || StepsTo(amount) <= (Quantity::Nanos{kInt64Max} - min_) / step_) return {};
    return std::string(kPrefix) + "rounding request " + QuantityText(amount) + " up to the next step passes " +
           (counts_milli_ ? "the milli-value range" : "MaxInt64");
  }

 private:
  static bool IsMilli(const Quantity& amount) {
    return amount.nanos() % kNanosPerMilli == 0 && amount.nanos() / kNanosPerMilli <= kInt64Max &&
           amount.nanos() / kNanosPerMilli >= -kInt64Max - 1;
  }

  std::int64_t Count(const Quantity& amount) const { return counts_milli_ ? amount.MilliValue() : amount.Value(); }

  // How many steps above the range's minimum the amount is, rounded up.
  Quantity::Nanos StepsTo(const Quantity& amount) const {
    const std::int64_t added = framework::WrappingSub(Count(amount), min_);
    return added / step_ + (added % step_ != 0 ? 1 : 0);
  }

  bool counts_milli_ = false;
  std::int64_t step_ = 0;
  std::int64_t min_ = 0;
};

Quantity RoundUpRange(const Quantity& requested, const CapacityRequestRange& range,
                      const framework::DeviceRules& rules) {
  if (requested < *range.min) return *range.min;
  if (!range.step) return requested;
  const RangeSteps steps(range, rules);
  return steps.AreUsable() && steps.CanCount(requested) ? steps.RoundUp(requested) : requested;
}

Quantity RoundUpValues(const Quantity& requested, const std::vector<Quantity>& values) {
  const auto it = std::find_if(values.begin(), values.end(), [&](const Quantity& value) { return requested <= value; });
  return it == values.end() ? requested : *it;
}

bool ViolatesRange(const Quantity& amount, const CapacityRequestRange& range, const framework::DeviceRules& rules) {
  if (range.max && amount > *range.max) return true;
  if (!range.step) return false;
  const RangeSteps steps(range, rules);
  return !steps.AreUsable() || !steps.Reach(amount);
}

bool ViolatesPolicy(const Quantity& amount, const std::optional<CapacityRequestPolicy>& policy,
                    const framework::DeviceRules& rules) {
  if (!policy || (policy->default_value && amount == *policy->default_value)) return false;
  if (policy->valid_range) return ViolatesRange(amount, *policy->valid_range, rules);
  const auto& values = policy->valid_values;
  return !values.empty() && std::find(values.begin(), values.end(), amount) == values.end();
}

Quantity ConsumedCapacity(const Quantity* requested, const api::DeviceCapacity& capacity,
                          const framework::DeviceRules& rules) {
  const auto& policy = capacity.request_policy;
  if (requested == nullptr) return policy && policy->default_value ? *policy->default_value : capacity.value;
  if (!policy) return *requested;
  if (policy->valid_range && policy->valid_range->min) return RoundUpRange(*requested, *policy->valid_range, rules);
  return RoundUpValues(*requested, policy->valid_values);
}

// A capacity's amount that cannot be, in upstream's words; nothing when it can.
std::string OddAmount(const Quantity* requested, const api::DeviceCapacity& capacity,
                      const framework::DeviceRules& rules) {
  constexpr std::string_view kNegative = "capacity value is negative";
  if (rules.refuses_negative_requests && requested != nullptr && requested->nanos() < 0)
    return std::string(kNegative) + ": request " + QuantityText(*requested);
  const auto& policy = capacity.request_policy;
  if (requested != nullptr && policy && policy->valid_range && policy->valid_range->min && policy->valid_range->step) {
    const RangeSteps steps(*policy->valid_range, rules);
    if (*requested >= *policy->valid_range->min && steps.AreUsable()) {
      if (std::string why = steps.WhyNotRounded(*requested); !why.empty()) return why;
    }
  }
  return ConsumedCapacity(requested, capacity, rules).nanos() < 0 ? std::string(kNegative) : "";
}

}  // namespace

std::vector<std::pair<std::string, Quantity>> ConsumedCapacities(const CapacityRequests& requests,
                                                                 std::string_view driver, const api::Device& device,
                                                                 const framework::DeviceRules& rules) {
  const RequestedCapacities wanted(requests, driver, rules);
  std::vector<std::pair<std::string, Quantity>> consumed;
  consumed.reserve(device.capacity.size());
  for (const auto& [name, capacity] : device.capacity) {
    consumed.emplace_back(name, ConsumedCapacity(wanted.Find(name), capacity, rules));
  }
  return consumed;
}

Expected<bool> FitsCapacity(const CapacityRequests& requests, std::string_view driver, const api::Device& device,
                            const DeviceAmounts* consumed, const DeviceAmounts* allocating,
                            const framework::DeviceRules& rules) {
  const RequestedCapacities wanted(requests, driver, rules);
  BERTH_ASSIGN_OR_RETURN(const bool are_there, wanted.AreIn(device));
  if (!are_there) return false;
  for (const auto& [name, capacity] : device.capacity) {
    if (!rules.refuses_odd_capacities) break;
    if (const std::string odd = OddAmount(wanted.Find(name), capacity, rules); !odd.empty())
      return InvalidError("capacity \"" + wanted.Shown(name) + "\": " + odd);
  }
  // What is taken may be written under the other name.
  const auto taken = [&wanted](const DeviceAmounts* amounts, const std::string& name) -> Quantity::Nanos {
    Quantity::Nanos sum = 0;
    if (amounts == nullptr) return sum;
    for (const auto& [taken_name, amount] : *amounts) {
      if (wanted.IsSame(taken_name, name)) sum += amount;
    }
    return sum;
  };
  for (const auto& [name, capacity] : device.capacity) {
    const Quantity amount = ConsumedCapacity(wanted.Find(name), capacity, rules);
    if (ViolatesPolicy(amount, capacity.request_policy, rules)) return false;
    if (amount.nanos() + taken(consumed, name) + taken(allocating, name) > capacity.value.nanos()) return false;
  }
  return true;
}

}  // namespace berth::plugins
