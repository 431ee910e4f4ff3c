// SPDX-License-Identifier: Apache-2.0
// Validation of device classes, resource claims and their templates. CEL expressions are not compiled: one that is
// wrong is refused by the scheduler, in the words that it has for stored ones.
#include "berth/devcluster/objects/validate/claim.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/device.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/devcluster/objects/validate/scheduling.h"

namespace berth::objects::internal {
namespace {

constexpr std::size_t kRequestsMax = 32;
constexpr std::size_t kAlternativesMax = 8;
constexpr std::size_t kSelectorsMax = 32;
constexpr std::size_t kConstraintsMax = 32;
constexpr std::size_t kConfigsMax = 32;
constexpr std::size_t kResultsMax = 32;
constexpr std::size_t kReservedMax = 256;
constexpr std::size_t kExpressionBytesMax = 10 * 1024;

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
  ForEachIn(demand, "tolerations", path,
            [&](const json::object& toleration, const std::string& at) { ValidateToleration(toleration, at, errors); });
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

void ValidateFullAttributeName(std::string_view name, const std::string& field, Errors& errors) {
  ValidateAttributeName(name, field, errors);
  if (name.find('/') == std::string_view::npos) {
    errors.push_back(
        Invalid(field, json::value(name), "a fully qualified name must be a domain and a name separated by a slash"));
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

// --- Status ----------------------------------------------------------------------------------------------------------

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

}  // namespace berth::objects::internal
