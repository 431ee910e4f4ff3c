// SPDX-License-Identifier: Apache-2.0
// CEL expressions are not compiled: one that is wrong is refused by the scheduler, in the words that it has for stored
// ones.
#include "berth/devcluster/objects/validate/device.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/names.h"
#include "berth/base/text.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kDeviceRules = R"(
@resource
AllocatedDeviceStatus driver@Driver pool@PoolName device:label @AllocatedDevice
AllocationResult devices/ nodeSelector*/
CELDeviceSelector expression(..10240)
CounterSet name!:label counters@Counters
Device name:label @Attributes taints#16/ consumesCounters#2/&counterSet @DevicePlace @BindingConditions
DeviceAllocationConfiguration source!=FromClaim|FromClass requests@RequestReferences opaque!/
DeviceAllocationResult results#32/ config#64/
DeviceClaim requests#32/&name constraints#32/ config#32/
DeviceClaimConfiguration requests@RequestReferences opaque!/
DeviceClass spec/
DeviceClassConfiguration opaque!/
DeviceClassSpec selectors#32/ config#32/ extendedResourceName*@ExtendedResource
DeviceConstraint requests@RequestReferences @OneAttribute
DeviceCounterConsumption counterSet!:label counters@Counters
DeviceRequest name:label @OneDemand
DeviceRequest.alternatives firstAvailable#8/&name
DeviceRequestAllocationResult request@RequestReference driver@Driver pool@PoolName device:label @BindingConditions
DeviceSelector cel!/
DeviceSubRequest name:label deviceClassName!:subdomain selectors#32/ @AllocationMode tolerations/
DeviceTaint key:qualified value:labelvalue effect!=NoExecute|NoSchedule|None
DeviceTaintRule spec/
DeviceTaintRuleSpec deviceSelector*/ taint/
DeviceTaintSelector driver*@Driver pool*@PoolName device*:label
DeviceToleration key?:qualified operator!@DeviceTolerationOperator effect=NoExecute|NoSchedule|None
ExactDeviceRequest deviceClassName!:subdomain selectors#32/ @AllocationMode tolerations/
OpaqueDeviceConfiguration driver@Driver parameters!@Parameters
ResourceClaim spec+/ spec^ @ClaimStatus
ResourceClaim.status status.reservedFor#256/&uid status.devices#32/@UniqueDevices @Reservations @Allocation
ResourceClaimConsumerReference resource! name! uid!
ResourceClaimSpec devices/
ResourceClaimTemplate spec.spec+/ spec^
ResourcePool name@PoolName resourceSliceCount>0{must be greater than zero}
  generation>=0{must be greater than or equal to zero}
ResourceSlice spec/
ResourceSliceSpec driver@Driver pool/ @SliceKept @SlicePlace @OneContent @Devices sharedCounters#8/&name
ResourceSliceSpec.devices devices#128/&name
ResourceSliceSpec.advanced devices#64/&name
)";

constexpr std::size_t kRequestsMax = 32;
constexpr std::size_t kCountersMax = 32;
constexpr std::size_t kAttributesAndCapacitiesMax = 32;
constexpr std::size_t kAttributeBytesMax = 64;
constexpr std::size_t kConditionsMax = 4;
constexpr std::size_t kDriverBytesMax = 63;
constexpr std::size_t kIdBytesMax = 32;
constexpr std::size_t kPoolBytesMax = 253;

// --- Names -----------------------------------------------------------------------------------------------------------

void CheckIdentifier(const Place& place, std::string_view id) {
  if (id.size() > kIdBytesMax) place.TooLong(kIdBytesMax);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool is_good = !id.empty() && is_letter(id.front());
  for (const char c : id) is_good = is_good && (is_letter(c) || (c >= '0' && c <= '9'));
  if (is_good) return;
  place.Invalid(json::value(id),
                "a valid C identifier must start with alphabetic character or '_', followed by a string of "
                "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used "
                "for validation is '[A-Za-z_][A-Za-z0-9_]*')");
}

void CheckDriverName(const Place& place, std::string_view name) {
  if (name.empty()) return place.Required();
  if (name.size() > kDriverBytesMax) place.TooLong(kDriverBytesMax);
  place.AddInvalid(name, api::NotDnsSubdomain(LowerCase(name)));
}

// "gpu.example.com".
void CheckDriver(const Place& driver) { CheckDriverName(driver, driver.text()); }

// "rack-1/node-7".
void CheckPoolName(const Place& pool) {
  std::string_view name = pool.text();
  if (name.empty()) return pool.Required();
  if (name.size() > kPoolBytesMax) pool.TooLong(kPoolBytesMax);
  while (true) {
    const std::size_t slash = name.find('/');
    pool.AddInvalid(name.substr(0, slash), api::NotDnsSubdomain(name.substr(0, slash)));
    if (slash == std::string_view::npos) return;
    name.remove_prefix(slash + 1);
  }
}

// "model", "gpu.example.com/model". Upstream takes names with more than one slash without looking at them.
void CheckAttributeName(const Place& place, std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return CheckIdentifier(place, name);
  const std::string_view domain = name.substr(0, slash);
  const std::string_view id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return;
  if (domain.empty()) {
    place.Invalid("", "the domain must not be empty");
  } else {
    CheckDriverName(place, domain);
  }
  if (id.empty()) {
    place.Invalid("", "the name must not be empty");
  } else {
    CheckIdentifier(place, id);
  }
}

// --- Requests --------------------------------------------------------------------------------------------------------

void CheckDeviceTolerationOperator(const Place& op) {
  const Place value = op.up()["value"];
  if (op.text() == "Equal") {
    value.AddInvalid(value.text(), api::NotLabelValue(value.text()));
  } else if (op.text() != "Exists") {
    op.NotSupported(op.value(), {"Equal", "Exists"});
  } else if (!value.text().empty()) {
    value.Invalid("must be empty for operator `Exists`");
  }
}

void CheckAllocationMode(const Place& demand) {
  const Place mode = demand["allocationMode"];
  const Place count = demand["count"];
  if (mode.text() != "All" && mode.text() != "ExactCount") {
    mode.NotSupported(json::value(mode.text()), {"All", "ExactCount"});
  } else if (mode.text() == "All" && count.number() != 0) {
    count.Invalid("must not be specified when allocationMode is 'All'");
  } else if (mode.text() == "ExactCount" && count.number() <= 0) {
    count.Invalid(count.number(), "must be greater than zero");
  }
}

void CheckOneDemand(const Place& request) {
  constexpr std::string_view kOneOf = "exactly one of `exactly` or `firstAvailable` is required";
  const bool is_exact = request.Has("exactly");
  const bool has_alternatives = !request["firstAvailable"].array().empty();
  if (!is_exact && !has_alternatives) {
    request.Required(kOneOf);
  } else if (is_exact && has_alternatives) {
    request.Invalid(nullptr, std::string(kOneOf) + ", but multiple fields are set");
  } else if (is_exact) {
    request["exactly"].Walk();
  } else {
    request.Walk("DeviceRequest.alternatives");
  }
}

// The names by which constraints, configuration and results may refer to a claim's requests: "r", "r/alternative".
std::set<std::string> RequestNames(const Place& part) {
  const Place* claim = part.Above("DeviceClaim");
  const json::object& devices =
      claim != nullptr ? claim->object() : Part(Part(part.root().object(), "spec"), "devices");
  std::set<std::string> names;
  for (const json::object* request : ObjectsOf(devices, "requests")) {
    const std::string name(StringMember(*request, "name"));
    names.insert(name);
    for (const json::object* alternative : ObjectsOf(*request, "firstAvailable")) {
      names.insert(name + "/" + std::string(StringMember(*alternative, "name")));
    }
  }
  return names;
}

void CheckRequestReference(const Place& name) {
  if (RequestNames(name).contains(std::string(name.text()))) return;
  name.Invalid(json::value(name.text()),
               "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'");
}

void CheckRequestReferences(const Place& names) { names.ForEachUnique(kRequestsMax, CheckRequestReference); }

void CheckParameters(const Place& parameters) {
  if (!parameters.value().is_object()) parameters.Invalid("<value omitted>", "must be a valid JSON object");
}

void CheckOneAttribute(const Place& constraint) {
  for (const char* member : {"matchAttribute", "distinctAttribute"}) {
    if (!constraint.Has(member)) continue;
    const Place attribute = constraint[member];
    CheckAttributeName(attribute, attribute.text());
    if (attribute.text().find('/') == std::string_view::npos) {
      attribute.Invalid("a fully qualified name must be a domain and a name separated by a slash");
    }
    return;
  }
  // Upstream's words, although no field is set.
  constraint.Required(
      "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set");
}

void CheckExtendedResource(const Place& place) {
  const std::string_view name = place.text();
  const bool is_extended = name.find('/') != std::string_view::npos &&
                           name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.") &&
                           api::NotQualifiedName("requests." + std::string(name)).empty();
  if (!is_extended) place.Invalid("must be a valid extended resource name");
}

// --- The status of a claim -------------------------------------------------------------------------------------------

// The binding conditions of a device, or of the result that allocates it.
void CheckBindingConditions(const Place& owner) {
  const Place conditions = owner["bindingConditions"];
  const Place failures = owner["bindingFailureConditions"];
  for (const Place* list : {&conditions, &failures}) {
    list->ForEachUnique(kConditionsMax,
                        [](const Place& each) { each.AddInvalid(each.text(), api::NotQualifiedName(each.text())); });
  }
  failures.ForEach([&](const Place& each) {
    const json::array& others = conditions.array();
    if (std::find(others.begin(), others.end(), each.value()) == others.end()) return;
    each.Invalid("bindingFailureConditions must not overlap with bindingConditions");
  });
  if (conditions.array().empty() && !failures.array().empty()) {
    conditions.Invalid(json::array(), "bindingConditions are required to use bindingFailureConditions");
  }
  if (failures.array().empty() && !conditions.array().empty()) {
    failures.Invalid(json::array(), "bindingFailureConditions are required to use bindingConditions");
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

void CheckAllocatedDevice(const Place& device) {
  const json::object& allocation = Part(Part(device.root().object(), "status"), "allocation");
  const std::string id = DeviceId(device.object());
  for (const json::object* result : ObjectsOf(Part(allocation, "devices"), "results")) {
    if (DeviceId(*result) == id) return;
  }
  device.Invalid(json::value(id), "must be an allocated device in the claim");
}

void CheckUniqueDevices(const Place& devices) {
  std::set<std::string> seen;
  devices.ForEach([&](const Place& each) {
    const std::string id = DeviceId(each.object());
    if (!id.empty() && !seen.insert(id).second) each.Duplicate(json::value(id));
  });
}

void CheckReservations(const Place& claim) {
  const Place consumers = claim["status.reservedFor"];
  if (!consumers.array().empty() && !ObjectAt(claim.object(), {"status", "allocation"})) {
    consumers.Forbidden("may not be specified when `allocated` is not set");
  } else if (!claim["metadata.deletionTimestamp"].text().empty()) {
    const json::value& before = consumers.old();
    const bool is_new = std::any_of(consumers.array().begin(), consumers.array().end(), [&](const json::value& each) {
      return !before.is_array() ||
             std::find(before.get_array().begin(), before.get_array().end(), each) == before.get_array().end();
    });
    if (is_new) {
      consumers.Forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
    }
  }
}

void CheckAllocation(const Place& claim) {
  const Place allocation = claim["status.allocation"];
  if (!allocation.is_set()) return;
  if (!allocation.old().is_object()) {
    allocation.Walk();
  } else if (!allocation.IsSame()) {
    allocation.Invalid("field is immutable");
  }
}

void CheckClaimStatus(const Place& claim) {
  // A status that is stored already is not judged again.
  if (claim.is_update() && !claim["status"].IsSame()) claim.Walk("ResourceClaim.status");
}

// --- Slices ----------------------------------------------------------------------------------------------------------

void CheckAttribute(const Place& attribute) {
  if (attribute.object().size() != 1) {
    attribute.Invalid(attribute.object().empty() ? json::value("") : attribute.value(),
                      "exactly one value must be specified");
  }
  for (const auto& pair : attribute.object()) {
    const Place value = attribute[pair.key()];
    if (value.text().size() > kAttributeBytesMax) value.TooLong(kAttributeBytesMax);
    if (pair.value() == json::value(json::array())) value.Invalid("must not be empty if specified");
  }
}

void CheckAttributes(const Place& device) {
  const Place attributes = device["attributes"];
  const Place capacity = device["capacity"];
  const std::size_t count = attributes.object().size() + capacity.object().size();
  if (count > kAttributesAndCapacitiesMax) {
    device.Invalid(static_cast<std::int64_t>(count), "the total number of attributes and capacities must not exceed " +
                                                         std::to_string(kAttributesAndCapacitiesMax));
  }
  for (const auto& pair : attributes.object()) {
    CheckAttributeName(attributes, pair.key());
    CheckAttribute(attributes.Entry(pair.key()));
  }
  for (const auto& pair : capacity.object()) {
    const Place amount = capacity.Entry(pair.key());
    CheckAttributeName(capacity, pair.key());
    if (amount["requestPolicy"].is_set() && !device["allowMultipleAllocations"].flag()) {
      amount["requestPolicy"].Forbidden("allowMultipleAllocations must be true");
    }
  }
}

void CheckCounters(const Place& counters) {
  const std::size_t count = counters.object().size();
  if (count == 0) counters.Required();
  if (count > kCountersMax) counters.TooMany(count, kCountersMax);
  for (const auto& pair : counters.object()) counters.AddInvalid(pair.key(), api::NotDnsLabel(pair.key()));
}

// How many of the places are given. Each that is there must say something.
int CountPlaces(const Place& owner, std::initializer_list<std::string_view> flags, std::string_view empty_name) {
  int places = 0;
  const Place node = owner["nodeName"];
  if (node.is_set() && node.text().empty()) {
    node.Invalid("", empty_name);
  } else if (node.is_set()) {
    ++places;
    node.AddInvalid(node.text(), api::NotDnsSubdomain(node.text()));
  }
  if (owner.Has("nodeSelector")) {
    ++places;
    owner["nodeSelector"].Walk();
  }
  for (const std::string_view member : flags) {
    const Place flag = owner[member];
    if (flag.flag()) {
      ++places;
    } else if (flag.is_set()) {
      flag.Invalid("must be either unset or set to true");
    }
  }
  return places;
}

void CheckDevicePlace(const Place& device) {
  if (!(*device.Above("ResourceSliceSpec"))["perDeviceNodeSelection"].flag()) {
    if (device.Has("nodeName") || device.Has("nodeSelector") || device.Has("allNodes")) {
      device.Invalid(nullptr,
                     "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
                     "is set to true in the ResourceSlice spec");
    }
    return;
  }
  constexpr std::string_view kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
      "true in the ResourceSlice spec";
  const int places = CountPlaces(device, {"allNodes"}, "must not be empty");
  if (places == 0) device.Required(kOneOf);
  if (places > 1) device.Invalid(nullptr, kOneOf);
}

// Has taints, counters or list attributes, and counts more for it.
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

// Refuses a slice for another node or of another driver: that is another slice.
void CheckSliceKept(const Place& spec) {
  for (const char* member : {"pool.name", "driver", "nodeName"}) {
    const Place name = spec[member];
    const json::value& old = name.old();
    if (spec.is_update() && name.text() != (old.is_string() ? View(old.get_string()) : std::string_view()))
      name.Invalid(json::value(name.text()), "field is immutable");
  }
}

void CheckSlicePlace(const Place& spec) {
  constexpr const char* kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  const int places =
      CountPlaces(spec, {"allNodes", "perDeviceNodeSelection"}, "must be either unset or set to a non-empty string");
  if (places == 0) spec.Required(kOneOf);
  if (places > 1) spec.Invalid(nullptr, std::string(kOneOf) + ", but multiple fields are set");
}

void CheckOneContent(const Place& spec) {
  if (spec.Has("sharedCounters") && spec.Has("devices")) {
    spec.Invalid("", "only one of `sharedCounters` or `devices` is allowed");
  }
}

void CheckDevices(const Place& spec) {
  const std::vector<const json::object*> devices = ObjectsOf(spec.object(), "devices");
  const bool is_advanced =
      std::any_of(devices.begin(), devices.end(), [](const json::object* device) { return IsAdvanced(*device); });
  spec.Walk(is_advanced ? "ResourceSliceSpec.advanced" : "ResourceSliceSpec.devices");
}

}  // namespace

RuleSet DeviceRules() {
  return {kDeviceRules,
          {{"Allocation", CheckAllocation},
           {"AllocatedDevice", CheckAllocatedDevice},
           {"AllocationMode", CheckAllocationMode},
           {"Attributes", CheckAttributes},
           {"BindingConditions", CheckBindingConditions},
           {"ClaimStatus", CheckClaimStatus},
           {"Counters", CheckCounters},
           {"DevicePlace", CheckDevicePlace},
           {"Devices", CheckDevices},
           {"DeviceTolerationOperator", CheckDeviceTolerationOperator},
           {"Driver", CheckDriver},
           {"ExtendedResource", CheckExtendedResource},
           {"OneAttribute", CheckOneAttribute},
           {"OneContent", CheckOneContent},
           {"OneDemand", CheckOneDemand},
           {"Parameters", CheckParameters},
           {"PoolName", CheckPoolName},
           {"RequestReference", CheckRequestReference},
           {"RequestReferences", CheckRequestReferences},
           {"Reservations", CheckReservations},
           {"SliceKept", CheckSliceKept},
           {"SlicePlace", CheckSlicePlace},
           {"UniqueDevices", CheckUniqueDevices}}};
}

}  // namespace berth::objects::internal
