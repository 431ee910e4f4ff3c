// SPDX-License-Identifier: Apache-2.0
// Validation of resource slices and the devices in them.
#include "berth/devcluster/objects/validate/slice.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/device.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/devcluster/objects/validate/scheduling.h"

namespace berth::objects::internal {
namespace {

constexpr std::size_t kTaintsMax = 16;
constexpr std::size_t kDevicesMax = 128;
constexpr std::size_t kAdvancedDevicesMax = 64;  // with taints, counters or list attributes
constexpr std::size_t kCounterSetsMax = 8;
constexpr std::size_t kCountersMax = 32;
constexpr std::size_t kConsumptionsMax = 2;
constexpr std::size_t kAttributesAndCapacitiesMax = 32;
constexpr std::size_t kAttributeBytesMax = 64;

void ValidateAttribute(const json::object& attribute, const std::string& path, Errors& errors) {
  if (attribute.size() != 1) {
    errors.push_back(Invalid(path, attribute.empty() ? json::value("") : json::value(attribute),
                             "exactly one value must be specified"));
  }
  for (const auto& [kind, value] : attribute) {
    const std::string field = path + "." + std::string(kind);
    if (value.is_string() && value.get_string().size() > kAttributeBytesMax) {
      errors.push_back(TooLong(field, kAttributeBytesMax));
    }
    if (value.is_array() && value.get_array().empty()) {
      errors.push_back(Invalid(field, value, "must not be empty if specified"));
    }
  }
}

void ValidateTaint(const json::object& taint, const std::string& path, Errors& errors) {
  const std::string_view key = StringMember(taint, "key");
  const std::string_view value = StringMember(taint, "value");
  AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
  AddInvalid(errors, path + ".value", value, api::NotLabelValue(value));
  if (StringMember(taint, "effect").empty()) errors.push_back(Required(path + ".effect"));
  ValidateOneOf(taint, "effect", path, {"NoExecute", "NoSchedule", "None"}, errors);
}

void ValidateCounters(const json::object& owner, std::string_view name_member, const std::string& path,
                      Errors& errors) {
  const std::string name(StringMember(owner, name_member));
  const std::string name_field = path + "." + std::string(name_member);
  if (name.empty()) {
    errors.push_back(Required(name_field));
  } else {
    AddInvalid(errors, name_field, name, api::NotDnsLabel(name));
  }
  const json::object& counters = Part(owner, "counters");
  if (counters.empty()) errors.push_back(Required(path + ".counters"));
  if (counters.size() > kCountersMax) errors.push_back(TooMany(path + ".counters", counters.size(), kCountersMax));
  for (const auto& pair : counters) AddInvalid(errors, path + ".counters", pair.key(), api::NotDnsLabel(pair.key()));
}

// Which of the places are given, and that each one says something.
int ValidatePlaces(const json::object& owner, std::initializer_list<std::string_view> flags,
                   std::string_view empty_name, const std::string& path, Errors& errors) {
  int places = 0;
  if (FindMember(owner, "nodeName") != nullptr) {
    const std::string_view name = StringMember(owner, "nodeName");
    if (name.empty()) {
      errors.push_back(Invalid(path + ".nodeName", "", empty_name));
    } else {
      ++places;
      AddInvalid(errors, path + ".nodeName", name, api::NotDnsSubdomain(name));
    }
  }
  if (const json::object* selector = ObjectMember(owner, "nodeSelector")) {
    ++places;
    ValidateNodeSelector(*selector, path + ".nodeSelector", errors);
  }
  for (const std::string_view flag : flags) {
    if (FindMember(owner, flag) == nullptr) continue;
    if (BoolMember(owner, flag)) {
      ++places;
    } else {
      errors.push_back(Invalid(path + "." + std::string(flag), false, "must be either unset or set to true"));
    }
  }
  return places;
}

void ValidateDevicePlace(const json::object& device, bool is_wanted, const std::string& path, Errors& errors) {
  if (!is_wanted) {
    const bool is_given = FindMember(device, "nodeName") != nullptr || FindMember(device, "nodeSelector") != nullptr ||
                          FindMember(device, "allNodes") != nullptr;
    if (is_given) {
      errors.push_back(Invalid(path, nullptr,
                               "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
                               "is set to true in the ResourceSlice spec"));
    }
    return;
  }
  const int places = ValidatePlaces(device, {"allNodes"}, "must not be empty", path, errors);
  constexpr std::string_view kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
      "true in the ResourceSlice spec";
  if (places == 0) errors.push_back(Required(path, kOneOf));
  if (places > 1) errors.push_back(Invalid(path, nullptr, kOneOf));
}

void ValidateDevice(const json::object& device, bool has_own_place, const std::string& path, Errors& errors) {
  AddInvalid(errors, path + ".name", NameOf(device), api::NotDnsLabel(NameOf(device)));
  const json::object& attributes = Part(device, "attributes");
  const json::object& capacity = Part(device, "capacity");
  const std::size_t count = attributes.size() + capacity.size();
  if (count > kAttributesAndCapacitiesMax) {
    errors.push_back(Invalid(path, static_cast<std::int64_t>(count),
                             "the total number of attributes and capacities must not exceed " +
                                 std::to_string(kAttributesAndCapacitiesMax)));
  }
  for (const auto& [name, value] : attributes) {
    ValidateAttributeName(name, path + ".attributes", errors);
    if (value.is_object()) {
      ValidateAttribute(value.get_object(), path + ".attributes[" + std::string(name) + "]", errors);
    }
  }
  for (const auto& [name, value] : capacity) {
    ValidateAttributeName(name, path + ".capacity", errors);
    if (value.is_object() && ObjectMember(value.get_object(), "requestPolicy") != nullptr &&
        !BoolMember(device, "allowMultipleAllocations")) {
      errors.push_back(Forbidden(path + ".capacity[" + std::string(name) + "].requestPolicy",
                                 "allowMultipleAllocations must be true"));
    }
  }
  const auto check_taint = [&](const json::object& taint, const std::string& at) { ValidateTaint(taint, at, errors); };
  ValidateList(device, "taints", path, kTaintsMax, check_taint, NoKey, errors);
  const auto check_consumption = [&](const json::object& consumption, const std::string& at) {
    ValidateCounters(consumption, "counterSet", at, errors);
  };
  const auto counter_set = [](const json::object& consumption) { return StringMember(consumption, "counterSet"); };
  ValidateList(device, "consumesCounters", path, kConsumptionsMax, check_consumption, counter_set, errors);
  ValidateDevicePlace(device, has_own_place, path, errors);
  ValidateBindingConditions(device, path, errors);
}

bool IsAdvanced(const json::object& device) {
  if (!ObjectsOf(device, "taints").empty() || !ObjectsOf(device, "consumesCounters").empty()) return true;
  for (const auto& pair : Part(device, "attributes")) {
    if (!pair.value().is_object()) continue;
    for (const auto& value : pair.value().get_object()) {
      if (value.value().is_array()) return true;
    }
  }
  return false;
}

void ValidatePool(const json::object& pool, Errors& errors) {
  ValidatePoolName(NameOf(pool), "spec.pool.name", errors);
  const std::int64_t count = IntMember(pool, "resourceSliceCount");
  if (count <= 0) errors.push_back(Invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"));
  if (const std::int64_t generation = IntMember(pool, "generation"); generation < 0) {
    errors.push_back(Invalid("spec.pool.generation", generation, "must be greater than or equal to zero"));
  }
}

// What an update may not change: another node or driver is another slice.
void ValidateSliceKept(const json::object& spec, const json::object& old_spec, Errors& errors) {
  const auto keep = [&](const json::object& now, const json::object& before, const char* member, const char* field) {
    const std::string_view value = StringMember(now, member);
    if (value != StringMember(before, member))
      errors.push_back(Invalid(field, json::value(value), "field is immutable"));
  };
  keep(Part(spec, "pool"), Part(old_spec, "pool"), "name", "spec.pool.name");
  keep(spec, old_spec, "driver", "spec.driver");
  keep(spec, old_spec, "nodeName", "spec.nodeName");
}

void ValidateSlicePlace(const json::object& spec, Errors& errors) {
  const int places = ValidatePlaces(spec, {"allNodes", "perDeviceNodeSelection"},
                                    "must be either unset or set to a non-empty string", "spec", errors);
  const std::string kinds =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (places == 0) errors.push_back(Required("spec", kinds));
  if (places > 1) errors.push_back(Invalid("spec", nullptr, kinds + ", but multiple fields are set"));
}

}  // namespace

void ValidateDeviceTaintRule(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  if (const json::object* selector = ObjectMember(spec, "deviceSelector")) {
    const std::string field = "spec.deviceSelector";
    if (FindMember(*selector, "driver") != nullptr)
      ValidateDriver(StringMember(*selector, "driver"), field + ".driver", errors);
    if (FindMember(*selector, "pool") != nullptr)
      ValidatePoolName(StringMember(*selector, "pool"), field + ".pool", errors);
    if (FindMember(*selector, "device") != nullptr) {
      const std::string_view device = StringMember(*selector, "device");
      AddInvalid(errors, field + ".device", device, api::NotDnsLabel(device));
    }
  }
  ValidateTaint(Part(spec, "taint"), "spec.taint", errors);
}

void ValidateResourceSlice(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateDriver(StringMember(spec, "driver"), "spec.driver", errors);
  ValidatePool(Part(spec, "pool"), errors);
  if (old != nullptr) ValidateSliceKept(spec, Part(*old, "spec"), errors);
  ValidateSlicePlace(spec, errors);
  if (FindMember(spec, "sharedCounters") != nullptr && FindMember(spec, "devices") != nullptr) {
    errors.push_back(Invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
  }

  const std::vector<const json::object*> devices = ObjectsOf(spec, "devices");
  const bool is_advanced =
      std::any_of(devices.begin(), devices.end(), [](const json::object* device) { return IsAdvanced(*device); });
  const bool has_own_places = BoolMember(spec, "perDeviceNodeSelection");
  const auto check_device = [&](const json::object& device, const std::string& path) {
    ValidateDevice(device, has_own_places, path, errors);
  };
  ValidateList(spec, "devices", "spec", is_advanced ? kAdvancedDevicesMax : kDevicesMax, check_device, NameOf, errors);
  const auto check_counters = [&](const json::object& counter_set, const std::string& path) {
    ValidateCounters(counter_set, "name", path, errors);
  };
  ValidateList(spec, "sharedCounters", "spec", kCounterSetsMax, check_counters, NameOf, errors);
}

}  // namespace berth::objects::internal
