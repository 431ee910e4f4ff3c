// Validation of the kinds of resource.k8s.io: device classes, claims and slices. CEL expressions are not compiled: one
// that is wrong is refused by the scheduler, in the words that it has for stored ones.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/apiserver/resources_internal.h"

namespace berth::apiserver::internal {
namespace {

constexpr std::size_t kRequestsMax = 32;
constexpr std::size_t kAlternativesMax = 8;
constexpr std::size_t kSelectorsMax = 32;
constexpr std::size_t kConstraintsMax = 32;
constexpr std::size_t kConfigsMax = 32;
constexpr std::size_t kResultsMax = 32;
constexpr std::size_t kReservedMax = 256;
constexpr std::size_t kConditionsMax = 4;
constexpr std::size_t kTaintsMax = 16;
constexpr std::size_t kDevicesMax = 128;
constexpr std::size_t kAdvancedDevicesMax = 64;  // with taints, counters or list attributes
constexpr std::size_t kCounterSetsMax = 8;
constexpr std::size_t kCountersMax = 32;
constexpr std::size_t kConsumptionsMax = 2;
constexpr std::size_t kAttributesAndCapacitiesMax = 32;
constexpr std::size_t kDriverBytesMax = 63;
constexpr std::size_t kIdBytesMax = 32;
constexpr std::size_t kAttributeBytesMax = 64;
constexpr std::size_t kPoolBytesMax = 253;
constexpr std::size_t kExpressionBytesMax = 10 * 1024;

const json::object kEmpty;

const json::object& Part(const json::object& object, std::string_view member) {
  const json::object* part = ObjectMember(object, member);
  return part == nullptr ? kEmpty : *part;
}

std::string Indexed(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

FieldError TooMany(std::string field, std::size_t count, std::size_t most) {
  return {std::move(field), "FieldValueTooMany",
          "Too many: " + std::to_string(count) + ": must have at most " + std::to_string(most) + " items"};
}

FieldError TooLong(std::string field, std::size_t most) {
  return {std::move(field), "FieldValueTooLong", "Too long: may not be more than " + std::to_string(most) + " bytes"};
}

std::vector<std::string_view> StringsOf(const json::object& object, std::string_view list) {
  std::vector<std::string_view> strings;
  if (const json::array* array = ArrayMember(object, list)) {
    for (const json::value& element : *array) {
      if (element.is_string()) strings.push_back(View(element.get_string()));
    }
  }
  return strings;
}

// --- Lists -----------------------------------------------------------------------------------------------------------

// Asks `check` about each object of the list, unless there are too many. `key` (may be null) must differ among them.
template <typename Check, typename Key>
void ValidateList(const json::object& owner, std::string_view list, const std::string& owner_field, std::size_t most,
                  const Check& check, const Key& key, Errors& errors) {
  const std::string field = owner_field + "." + std::string(list);
  const std::vector<const json::object*> elements = ObjectsOf(owner, list);
  if (elements.size() > most) {
    errors.push_back(TooMany(field, elements.size(), most));
    return;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) check(*elements[i], Indexed(field, i));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::string own(key(*elements[i]));
    if (!own.empty() && !seen.insert(own).second) errors.push_back(Duplicate(Indexed(field, i), json::value(own)));
  }
}

std::string_view NoKey(const json::object&) { return {}; }
std::string_view NameOf(const json::object& object) { return StringMember(object, "name"); }

// The same for a list of strings, which must all differ.
template <typename Check>
void ValidateStrings(const json::object& owner, std::string_view list, const std::string& owner_field, std::size_t most,
                     const Check& check, Errors& errors) {
  const std::string field = owner_field + "." + std::string(list);
  const std::vector<std::string_view> strings = StringsOf(owner, list);
  if (strings.size() > most) {
    errors.push_back(TooMany(field, strings.size(), most));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    check(strings[i], Indexed(field, i));
    if (!seen.insert(strings[i]).second) errors.push_back(Duplicate(Indexed(field, i), json::value(strings[i])));
  }
}

// --- Names -----------------------------------------------------------------------------------------------------------

void ValidateDriver(std::string_view name, const std::string& field, Errors& errors) {
  if (name.empty()) {
    errors.push_back(Required(field));
    return;
  }
  if (name.size() > kDriverBytesMax) errors.push_back(TooLong(field, kDriverBytesMax));
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  AddInvalid(errors, field, name, api::NotDnsSubdomain(lower));
}

void ValidatePoolName(std::string_view name, const std::string& field, Errors& errors) {
  if (name.empty()) {
    errors.push_back(Required(field));
    return;
  }
  if (name.size() > kPoolBytesMax) errors.push_back(TooLong(field, kPoolBytesMax));
  while (true) {
    const std::size_t slash = name.find('/');
    AddInvalid(errors, field, name.substr(0, slash), api::NotDnsSubdomain(name.substr(0, slash)));
    if (slash == std::string_view::npos) return;
    name.remove_prefix(slash + 1);
  }
}

void ValidateIdentifier(std::string_view id, const std::string& field, Errors& errors) {
  if (id.size() > kIdBytesMax) errors.push_back(TooLong(field, kIdBytesMax));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool is_good = !id.empty() && is_letter(id.front());
  for (const char c : id) is_good = is_good && (is_letter(c) || (c >= '0' && c <= '9'));
  if (is_good) return;
  errors.push_back(Invalid(field, json::value(id),
                           "a valid C identifier must start with alphabetic character or '_', followed by a string of "
                           "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used "
                           "for validation is '[A-Za-z_][A-Za-z0-9_]*')"));
}

// "model", "gpu.example.com/model". Upstream takes names with more than one slash without looking at them.
void ValidateAttributeName(std::string_view name, const std::string& field, Errors& errors) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return ValidateIdentifier(name, field, errors);
  const std::string_view domain = name.substr(0, slash);
  const std::string_view id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return;
  if (domain.empty()) {
    errors.push_back(Invalid(field, "", "the domain must not be empty"));
  } else {
    ValidateDriver(domain, field, errors);
  }
  if (id.empty()) {
    errors.push_back(Invalid(field, "", "the name must not be empty"));
  } else {
    ValidateIdentifier(id, field, errors);
  }
}

void ValidateFullAttributeName(std::string_view name, const std::string& field, Errors& errors) {
  ValidateAttributeName(name, field, errors);
  if (name.find('/') == std::string_view::npos) {
    errors.push_back(
        Invalid(field, json::value(name), "a fully qualified name must be a domain and a name separated by a slash"));
  }
}

// --- Requests --------------------------------------------------------------------------------------------------------

void ValidateSelectors(const json::object& owner, const std::string& field, Errors& errors) {
  const auto check = [&](const json::object& selector, const std::string& path) {
    const json::object* cel = ObjectMember(selector, "cel");
    if (cel == nullptr) {
      errors.push_back(Required(path + ".cel"));
    } else if (StringMember(*cel, "expression").size() > kExpressionBytesMax) {
      errors.push_back(TooLong(path + ".cel.expression", kExpressionBytesMax));
    }
  };
  ValidateList(owner, "selectors", field, kSelectorsMax, check, NoKey, errors);
}

void ValidateToleration(const json::object& toleration, const std::string& path, Errors& errors) {
  const std::string_view key = StringMember(toleration, "key");
  const std::string_view op = StringMember(toleration, "operator");
  const std::string_view value = StringMember(toleration, "value");
  if (!key.empty()) AddInvalid(errors, path + ".key", key, api::NotQualifiedName(key));
  if (op == "Exists") {
    if (!value.empty()) {
      errors.push_back(Invalid(path + ".value", json::value(value), "must be empty for operator `Exists`"));
    }
  } else if (op == "Equal") {
    AddInvalid(errors, path + ".value", value, api::NotLabelValue(value));
  } else if (op.empty()) {
    errors.push_back(Required(path + ".operator"));
  } else {
    errors.push_back(NotSupported(path + ".operator", json::value(op), {"Equal", "Exists"}));
  }
  ValidateOneOf(toleration, "effect", path, {"NoExecute", "NoSchedule", "None"}, errors);
}

// What an exact request and each alternative of a prioritised list have in common.
void ValidateDemand(const json::object& demand, const std::string& path, Errors& errors) {
  const std::string_view device_class = StringMember(demand, "deviceClassName");
  if (device_class.empty()) {
    errors.push_back(Required(path + ".deviceClassName"));
  } else {
    AddInvalid(errors, path + ".deviceClassName", device_class, api::NotDnsSubdomain(device_class));
  }
  ValidateSelectors(demand, path, errors);
  const std::string_view mode = StringMember(demand, "allocationMode");
  const std::int64_t count = IntMember(demand, "count");
  if (mode == "All") {
    if (count != 0) {
      errors.push_back(Invalid(path + ".count", count, "must not be specified when allocationMode is 'All'"));
    }
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.push_back(Invalid(path + ".count", count, "must be greater than zero"));
  } else {
    errors.push_back(NotSupported(path + ".allocationMode", json::value(mode), {"All", "ExactCount"}));
  }
  std::size_t index = 0;
  for (const json::object* toleration : ObjectsOf(demand, "tolerations")) {
    ValidateToleration(*toleration, Indexed(path + ".tolerations", index++), errors);
  }
}

void ValidateRequestName(const json::object& request, const std::string& path, Errors& errors) {
  const std::string_view name = NameOf(request);
  AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
}

void ValidateRequest(const json::object& request, const std::string& path, Errors& errors) {
  ValidateRequestName(request, path, errors);
  const json::object* exactly = ObjectMember(request, "exactly");
  const bool has_alternatives = !ObjectsOf(request, "firstAvailable").empty();
  constexpr std::string_view kOneOf = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly == nullptr && !has_alternatives) {
    errors.push_back(Required(path, kOneOf));
  } else if (exactly != nullptr && has_alternatives) {
    errors.push_back(Invalid(path, nullptr, std::string(kOneOf) + ", but multiple fields are set"));
  } else if (exactly != nullptr) {
    ValidateDemand(*exactly, path + ".exactly", errors);
  } else {
    const auto check = [&](const json::object& alternative, const std::string& alternative_path) {
      ValidateRequestName(alternative, alternative_path, errors);
      ValidateDemand(alternative, alternative_path, errors);
    };
    ValidateList(request, "firstAvailable", path, kAlternativesMax, check, NameOf, errors);
  }
}

// The names by which constraints, configuration and results may refer to a claim's requests: "r", "r/alternative".
std::set<std::string> RequestNames(const json::object& devices) {
  std::set<std::string> names;
  for (const json::object* request : ObjectsOf(devices, "requests")) {
    const std::string name(NameOf(*request));
    names.insert(name);
    for (const json::object* alternative : ObjectsOf(*request, "firstAvailable")) {
      names.insert(name + "/" + std::string(NameOf(*alternative)));
    }
  }
  return names;
}

void ValidateReference(std::string_view name, const std::set<std::string>& known, const std::string& field,
                       Errors& errors) {
  if (known.contains(std::string(name))) return;
  errors.push_back(Invalid(field, json::value(name),
                           "must be the name of a request in the claim or the name of a request and a subrequest "
                           "separated by '/'"));
}

void ValidateReferences(const json::object& owner, const std::string& path, const std::set<std::string>& known,
                        Errors& errors) {
  const auto check = [&](std::string_view name, const std::string& field) {
    ValidateReference(name, known, field, errors);
  };
  ValidateStrings(owner, "requests", path, kRequestsMax, check, errors);
}

void ValidateConfiguration(const json::object& config, const std::string& path, Errors& errors) {
  const json::object* opaque = ObjectMember(config, "opaque");
  if (opaque == nullptr) {
    errors.push_back(Required(path + ".opaque"));
    return;
  }
  ValidateDriver(StringMember(*opaque, "driver"), path + ".opaque.driver", errors);
  const json::value* parameters = FindMember(*opaque, "parameters");
  if (parameters == nullptr) {
    errors.push_back(Required(path + ".opaque.parameters"));
  } else if (!parameters->is_object()) {
    errors.push_back(Invalid(path + ".opaque.parameters", "<value omitted>", "must be a valid JSON object"));
  }
}

void ValidateClaimSpec(const json::object& spec, const std::string& field, Errors& errors) {
  const json::object& devices = Part(spec, "devices");
  const std::string path = field + ".devices";
  const std::set<std::string> names = RequestNames(devices);
  const auto check_request = [&](const json::object& request, const std::string& at) {
    ValidateRequest(request, at, errors);
  };
  ValidateList(devices, "requests", path, kRequestsMax, check_request, NameOf, errors);
  const auto check_constraint = [&](const json::object& constraint, const std::string& at) {
    ValidateReferences(constraint, at, names, errors);
    if (FindMember(constraint, "matchAttribute") != nullptr) {
      ValidateFullAttributeName(StringMember(constraint, "matchAttribute"), at + ".matchAttribute", errors);
    } else if (FindMember(constraint, "distinctAttribute") != nullptr) {
      ValidateFullAttributeName(StringMember(constraint, "distinctAttribute"), at + ".distinctAttribute", errors);
    } else {
      // Upstream's words, although no field is set.
      errors.push_back(Required(at,
                                "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple "
                                "fields are set"));
    }
  };
  ValidateList(devices, "constraints", path, kConstraintsMax, check_constraint, NoKey, errors);
  const auto check_config = [&](const json::object& config, const std::string& at) {
    ValidateReferences(config, at, names, errors);
    ValidateConfiguration(config, at, errors);
  };
  ValidateList(devices, "config", path, kConfigsMax, check_config, NoKey, errors);
}

// --- Allocations -----------------------------------------------------------------------------------------------------

void ValidateBindingConditions(const json::object& owner, const std::string& path, Errors& errors) {
  const std::vector<std::string_view> conditions = StringsOf(owner, "bindingConditions");
  const std::vector<std::string_view> failures = StringsOf(owner, "bindingFailureConditions");
  const auto check = [&](std::string_view name, const std::string& field) {
    AddInvalid(errors, field, name, api::NotQualifiedName(name));
  };
  ValidateStrings(owner, "bindingConditions", path, kConditionsMax, check, errors);
  ValidateStrings(owner, "bindingFailureConditions", path, kConditionsMax, check, errors);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (std::find(conditions.begin(), conditions.end(), failures[i]) == conditions.end()) continue;
    errors.push_back(Invalid(Indexed(path + ".bindingFailureConditions", i), json::value(failures[i]),
                             "bindingFailureConditions must not overlap with bindingConditions"));
  }
  if (conditions.empty() && !failures.empty()) {
    errors.push_back(Invalid(path + ".bindingConditions", json::array(),
                             "bindingConditions are required to use bindingFailureConditions"));
  }
  if (failures.empty() && !conditions.empty()) {
    errors.push_back(Invalid(path + ".bindingFailureConditions", json::array(),
                             "bindingFailureConditions are required to use bindingConditions"));
  }
}

void ValidateAllocation(const json::object& allocation, const std::string& field, const std::set<std::string>& names,
                        Errors& errors) {
  const json::object& devices = Part(allocation, "devices");
  const auto check_result = [&](const json::object& result, const std::string& path) {
    ValidateReference(StringMember(result, "request"), names, path + ".request", errors);
    ValidateDriver(StringMember(result, "driver"), path + ".driver", errors);
    ValidatePoolName(StringMember(result, "pool"), path + ".pool", errors);
    const std::string_view device = StringMember(result, "device");
    AddInvalid(errors, path + ".device", device, api::NotDnsLabel(device));
    ValidateBindingConditions(result, path, errors);
  };
  ValidateList(devices, "results", field + ".devices", kResultsMax, check_result, NoKey, errors);
  const auto check_config = [&](const json::object& config, const std::string& path) {
    const std::string_view source = StringMember(config, "source");
    if (source.empty()) errors.push_back(Required(path + ".source"));
    ValidateOneOf(config, "source", path, {"FromClaim", "FromClass"}, errors);
    ValidateReferences(config, path, names, errors);
    ValidateConfiguration(config, path, errors);
  };
  ValidateList(devices, "config", field + ".devices", 2 * kConfigsMax, check_config, NoKey, errors);
  if (const json::object* selector = ObjectMember(allocation, "nodeSelector")) {
    ValidateNodeSelector(*selector, field + ".nodeSelector", errors);
  }
}

std::string DeviceId(const json::object& device) {
  std::string id;
  for (const char* part : {"driver", "pool", "device", "shareID"}) {
    const std::string_view text = StringMember(device, part);
    if (!text.empty()) id += (id.empty() ? "" : "/") + std::string(text);
  }
  return id;
}

void ValidateDeviceStatuses(const json::object& status, Errors& errors) {
  std::set<std::string> allocated;
  for (const json::object* result : ObjectsOf(Part(Part(status, "allocation"), "devices"), "results")) {
    allocated.insert(DeviceId(*result));
  }
  const auto check = [&](const json::object& device, const std::string& path) {
    ValidateDriver(StringMember(device, "driver"), path + ".driver", errors);
    ValidatePoolName(StringMember(device, "pool"), path + ".pool", errors);
    const std::string_view name = StringMember(device, "device");
    AddInvalid(errors, path + ".device", name, api::NotDnsLabel(name));
    const std::string id = DeviceId(device);
    if (!allocated.contains(id)) {
      errors.push_back(Invalid(path, json::value(id), "must be an allocated device in the claim"));
    }
  };
  ValidateList(status, "devices", "status", kResultsMax, check, DeviceId, errors);
}

void ValidateClaimStatus(const json::object& object, const json::object& old, Errors& errors) {
  const json::object& status = Part(object, "status");
  const json::object& old_status = Part(old, "status");
  const auto check_consumer = [&](const json::object& consumer, const std::string& path) {
    for (const char* member : {"resource", "name", "uid"}) {
      if (StringMember(consumer, member).empty()) errors.push_back(Required(path + "." + member));
    }
  };
  const auto uid = [](const json::object& consumer) { return StringMember(consumer, "uid"); };
  ValidateList(status, "reservedFor", "status", kReservedMax, check_consumer, uid, errors);
  ValidateDeviceStatuses(status, errors);

  const json::object* allocation = ObjectMember(status, "allocation");
  const json::object* old_allocation = ObjectMember(old_status, "allocation");
  const std::vector<const json::object*> consumers = ObjectsOf(status, "reservedFor");
  if (!consumers.empty() && allocation == nullptr) {
    errors.push_back(Forbidden("status.reservedFor", "may not be specified when `allocated` is not set"));
  } else if (!StringAt(object, {"metadata", "deletionTimestamp"}).empty()) {
    const std::vector<const json::object*> before = ObjectsOf(old_status, "reservedFor");
    const bool is_new = std::any_of(consumers.begin(), consumers.end(), [&](const json::object* consumer) {
      return std::none_of(before.begin(), before.end(), [&](const json::object* each) { return *each == *consumer; });
    });
    if (is_new) {
      errors.push_back(Forbidden("status.reservedFor",
                                 "new entries may not be added while `deallocationRequested` or `deletionTimestamp` "
                                 "are set"));
    }
  }
  if (allocation == nullptr) return;
  if (old_allocation == nullptr) {
    ValidateAllocation(*allocation, "status.allocation", RequestNames(Part(Part(object, "spec"), "devices")), errors);
  } else if (*allocation != *old_allocation) {
    errors.push_back(Invalid("status.allocation", *allocation, "field is immutable"));
  }
}

void ValidateSpecImmutable(const json::object& object, const json::object& old, Errors& errors) {
  if (Part(object, "spec") != Part(old, "spec")) {
    errors.push_back(Invalid("spec", Part(object, "spec"), "field is immutable"));
  }
}

// --- Devices ---------------------------------------------------------------------------------------------------------

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

}  // namespace

void ValidateDeviceClass(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateSelectors(spec, "spec", errors);
  const auto check_config = [&](const json::object& config, const std::string& path) {
    ValidateConfiguration(config, path, errors);
  };
  ValidateList(spec, "config", "spec", kConfigsMax, check_config, NoKey, errors);
  if (FindMember(spec, "extendedResourceName") == nullptr) return;
  const std::string_view name = StringMember(spec, "extendedResourceName");
  const bool is_extended = name.find('/') != std::string_view::npos &&
                           name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.") &&
                           api::NotQualifiedName("requests." + std::string(name)).empty();
  if (!is_extended) {
    errors.push_back(Invalid("spec.extendedResourceName", json::value(name), "must be a valid extended resource name"));
  }
}

void ValidateResourceClaim(const json::object& object, const json::object* old, Errors& errors) {
  if (old == nullptr) {
    ValidateClaimSpec(Part(object, "spec"), "spec", errors);
    return;
  }
  ValidateSpecImmutable(object, *old, errors);
  // What is stored already is not judged again.
  if (Part(object, "status") != Part(*old, "status")) ValidateClaimStatus(object, *old, errors);
}

void ValidateResourceClaimTemplate(const json::object& object, const json::object* old, Errors& errors) {
  if (old == nullptr) {
    ValidateClaimSpec(Part(Part(object, "spec"), "spec"), "spec.spec", errors);
  } else {
    ValidateSpecImmutable(object, *old, errors);
  }
}

void ValidateResourceSlice(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateDriver(StringMember(spec, "driver"), "spec.driver", errors);
  const json::object& pool = Part(spec, "pool");
  ValidatePoolName(NameOf(pool), "spec.pool.name", errors);
  const std::int64_t count = IntMember(pool, "resourceSliceCount");
  if (count <= 0) errors.push_back(Invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"));
  if (const std::int64_t generation = IntMember(pool, "generation"); generation < 0) {
    errors.push_back(Invalid("spec.pool.generation", generation, "must be greater than or equal to zero"));
  }
  if (old != nullptr) {
    const json::object& old_spec = Part(*old, "spec");
    const auto keep = [&](const json::object& now, const json::object& before, const char* member, const char* field) {
      const std::string_view value = StringMember(now, member);
      if (value != StringMember(before, member)) {
        errors.push_back(Invalid(field, json::value(value), "field is immutable"));
      }
    };
    keep(pool, Part(old_spec, "pool"), "name", "spec.pool.name");
    keep(spec, old_spec, "driver", "spec.driver");
    keep(spec, old_spec, "nodeName", "spec.nodeName");
  }
  const int places = ValidatePlaces(spec, {"allNodes", "perDeviceNodeSelection"},
                                    "must be either unset or set to a non-empty string", "spec", errors);
  const std::string kinds =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (places == 0) errors.push_back(Required("spec", kinds));
  if (places > 1) errors.push_back(Invalid("spec", nullptr, kinds + ", but multiple fields are set"));
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

}  // namespace berth::apiserver::internal
