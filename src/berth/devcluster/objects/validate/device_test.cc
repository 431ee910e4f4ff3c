// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }

std::string ErrorText(const std::vector<FieldError>& errors) {
  std::string text;
  for (const FieldError& error : errors) text += (text.empty() ? "" : "\n") + error.field + ": " + error.message;
  return text;
}

struct Case {
  const char* name;
  const char* plural;
  const char* spec;
  const char* want;
};

const Case kCases[] = {
    {"claim", "resourceclaims",
     R"({"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c"}},
        {"name":"b","firstAvailable":[{"name":"x","deviceClassName":"c"},{"name":"y","deviceClassName":"c","allocationMode":"All"}]}],
        "constraints":[{"requests":["a","b/x","b"],"matchAttribute":"d.example/model"}],
        "config":[{"requests":["a"],"opaque":{"driver":"d.example","parameters":{}}}]}})",
     ""},
    {"requests", "resourceclaims",
     R"({"devices":{"requests":[{"name":"a"},{"name":"a","exactly":{}},
        {"name":"c","exactly":{"deviceClassName":"x","allocationMode":"All","count":2}},
        {"name":"d","exactly":{"deviceClassName":"x","allocationMode":"Some"}},
        {"name":"e","exactly":{"deviceClassName":"x","count":-1,"selectors":[{}],"tolerations":[{"value":"v"}]}}]}})",
     "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required\n"
     "spec.devices.requests[1].exactly.deviceClassName: Required value\n"
     "spec.devices.requests[2].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'\n"
     "spec.devices.requests[3].exactly.allocationMode: Unsupported value: \"Some\": supported values: \"All\", "
     "\"ExactCount\"\n"
     "spec.devices.requests[4].exactly.selectors[0].cel: Required value\n"
     "spec.devices.requests[4].exactly.count: Invalid value: -1: must be greater than zero\n"
     "spec.devices.requests[4].exactly.tolerations[0].operator: Required value\n"
     "spec.devices.requests[1]: Duplicate value: \"a\""},
    {"references", "resourceclaims",
     R"({"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c"}}],
        "constraints":[{"requests":["b"]},{"distinctAttribute":"model"}],"config":[{}]}})",
     "spec.devices.constraints[0].requests[0]: Invalid value: \"b\": must be the name of a request in the claim or the "
     "name of a request and a subrequest separated by '/'\n"
     "spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is "
     "required, but multiple fields are set\n"
     "spec.devices.constraints[1].distinctAttribute: Invalid value: \"model\": a fully qualified name must be a domain "
     "and a name separated by a slash\n"
     "spec.devices.config[0].opaque: Required value"},
    {"template", "resourceclaimtemplates", R"({"spec":{"devices":{"requests":[{"name":"a","exactly":{}}]}}})",
     "spec.spec.devices.requests[0].exactly.deviceClassName: Required value"},
    {"class", "deviceclasses", R"({"extendedResourceName":"cpu","selectors":[{}]})",
     "spec.selectors[0].cel: Required value\n"
     "spec.extendedResourceName: Invalid value: \"cpu\": must be a valid extended resource name"},
    {"class for an extended resource", "deviceclasses", R"({"extendedResourceName":"example.com/gpu"})", ""},
    {"slice", "resourceslices",
     R"({"driver":"d.example","nodeName":"n","pool":{"name":"p/q","resourceSliceCount":1},"devices":[
        {"name":"a","attributes":{"model":{"string":"x"}},"capacity":{"memory":{"value":"1Gi"}},
         "taints":[{"key":"k","effect":"NoSchedule"}],"consumesCounters":[{"counterSet":"s","counters":{"c":{"value":"1"}}}]}]})",
     ""},
    {"slice in two places", "resourceslices",
     R"({"driver":"d","nodeName":"n","allNodes":true,"pool":{"name":"p","resourceSliceCount":1}})",
     "spec: Invalid value: null: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
     "required, but multiple fields are set"},
    {"devices", "resourceslices",
     R"({"driver":"d","nodeName":"n","pool":{"name":"p","resourceSliceCount":1},"devices":[
        {"name":"a","attributes":{"x":{},"d/y":{"int":1,"bool":true}}},{"name":"a","nodeName":"n"},
        {"name":"b","taints":[{"key":"k","effect":"X"}]},{"name":"c","capacity":{"m":{"value":"1","requestPolicy":{}}}},
        {"name":"d","consumesCounters":[{}]},{"name":"e","bindingConditions":["x"]}]})",
     "spec.devices[0].attributes[x]: Invalid value: \"\": exactly one value must be specified\n"
     "spec.devices[0].attributes[d/y]: Invalid value: {\"int\":1,\"bool\":true}: exactly one value must be specified\n"
     "spec.devices[1]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
     "`perDeviceNodeSelection` is set to true in the ResourceSlice spec\n"
     "spec.devices[2].taints[0].effect: Unsupported value: \"X\": supported values: \"NoExecute\", \"NoSchedule\", "
     "\"None\"\n"
     "spec.devices[3].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true\n"
     "spec.devices[4].consumesCounters[0].counterSet: Required value\n"
     "spec.devices[4].consumesCounters[0].counters: Required value\n"
     "spec.devices[5].bindingFailureConditions: Invalid value: []: bindingFailureConditions are required to use "
     "bindingConditions\n"
     "spec.devices[1]: Duplicate value: \"a\""},
    {"devices with places of their own", "resourceslices",
     R"({"driver":"d","perDeviceNodeSelection":true,"pool":{"name":"p","resourceSliceCount":1},"devices":[
        {"name":"a","allNodes":true},{"name":"b"}]})",
     "spec.devices[1]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
     "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
    {"counters", "resourceslices",
     R"({"driver":"d","nodeName":"n","pool":{"name":"p","resourceSliceCount":1},"sharedCounters":[
        {"name":"a","counters":{"c":{"value":"1"}}},{"name":"a"}]})",
     "spec.sharedCounters[1].counters: Required value\nspec.sharedCounters[1]: Duplicate value: \"a\""},
};

TEST(DeviceValidation, OfCreates) {
  for (const Case& c : kCases) {
    const ResourceType* type = FindResource("resource.k8s.io", "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    json::object object;
    object["metadata"] = {{"name", "a"}, {"namespace", "default"}};
    object["spec"] = json::parse(c.spec);
    type->set_defaults(object);
    type->prepare_create(object);
    EXPECT_EQ(ErrorText(type->validate(object, nullptr)), c.want) << c.name;
  }
}

TEST(DeviceValidation, HasLimits) {
  const ResourceType& slices = *FindResource("resource.k8s.io", "v1", "resourceslices");
  json::object object = Parse(R"({"spec":{"driver":"d","nodeName":"n","pool":{"name":"p","resourceSliceCount":1}}})");
  json::array devices;
  for (int i = 0; i < 129; ++i) devices.push_back(json::object{{"name", "d" + std::to_string(i)}});
  object["spec"].as_object()["devices"] = devices;
  EXPECT_EQ(ErrorText(slices.validate(object, nullptr)), "spec.devices: Too many: 129: must have at most 128 items");
  devices.resize(65);
  devices[0].as_object()["taints"] = json::parse(R"([{"key":"k","effect":"NoSchedule"}])");
  object["spec"].as_object()["devices"] = devices;
  EXPECT_EQ(ErrorText(slices.validate(object, nullptr)), "spec.devices: Too many: 65: must have at most 64 items");
}

constexpr std::string_view kClaim =
    R"({"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c"}}]}},
  "status":{"allocation":{"devices":{"results":[{"request":"a","driver":"d","pool":"p","device":"x"}]}}}})";

struct StatusCase {
  const char* name;
  const char* before;  // status
  const char* after;
  const char* want;
};

TEST(DeviceValidation, OfClaimStatuses) {
  const ResourceType& claims = *FindResource("resource.k8s.io", "v1", "resourceclaims");
  const std::string allocation(json::serialize(Parse(kClaim).at("status").at("allocation")));
  const StatusCase cases[] = {
      {"allocated and reserved", "{}", R"({"allocation":A,"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]})",
       ""},
      {"reserved only", "{}", R"({"reservedFor":[{"resource":"pods","name":"p"}]})",
       "status.reservedFor[0].uid: Required value\n"
       "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
      {"reserved twice", R"({"allocation":A})",
       R"({"allocation":A,"reservedFor":[{"resource":"pods","name":"p","uid":"u"},{"resource":"pods","name":"q","uid":"u"}]})",
       "status.reservedFor[1]: Duplicate value: \"u\""},
      {"deallocated", R"({"allocation":A})", "{}", ""},
      {"allocated for nobody's request", "{}",
       R"({"allocation":{"devices":{"results":[{"request":"b","driver":"d","pool":"p","device":"X"}]}}})",
       "status.allocation.devices.results[0].request: Invalid value: \"b\": must be the name of a request in the claim "
       "or the name of a request and a subrequest separated by '/'\n"
       "status.allocation.devices.results[0].device: Invalid value: \"X\": a lowercase RFC 1123 label must consist of "
       "lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
       "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
      {"status of a device of another", R"({"allocation":A})",
       R"({"allocation":A,"devices":[{"driver":"d","pool":"p","device":"x"},{"driver":"d","pool":"p","device":"y"}]})",
       "status.devices[1]: Invalid value: \"d/p/y\": must be an allocated device in the claim"},
  };
  for (const StatusCase& c : cases) {
    const auto with = [&](std::string status) {
      if (const std::size_t at = status.find(":A"); at != std::string::npos) status.replace(at + 1, 1, allocation);
      json::object claim = Parse(kClaim);
      claim["status"] = json::parse(status);
      return claim;
    };
    const json::object before = with(c.before);
    EXPECT_EQ(ErrorText(claims.validate(with(c.after), &before)), c.want) << c.name;
  }
}

TEST(DeviceValidation, AllocationsAndSpecsDoNotChange) {
  const ResourceType& claims = *FindResource("resource.k8s.io", "v1", "resourceclaims");
  const json::object before = Parse(kClaim);
  json::object after = before;
  after["status"].at("allocation").at("devices").at("results").at(0).as_object()["device"] = "y";
  EXPECT_TRUE(ErrorText(claims.validate(after, &before)).starts_with("status.allocation: Invalid value: "));
  after = before;
  after["spec"] = json::object();
  EXPECT_EQ(ErrorText(claims.validate(after, &before)), "spec: Invalid value: {}: field is immutable");
  after = before;
  after["metadata"] = {{"deletionTimestamp", "2026-01-01T00:00:00Z"}};
  after["status"].as_object()["reservedFor"] = json::parse(R"([{"resource":"pods","name":"p","uid":"u"}])");
  EXPECT_EQ(ErrorText(claims.validate(after, &before)),
            "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
            "`deletionTimestamp` are set");
}

TEST(DeviceValidation, OfPodStatuses) {
  const ResourceType& pods = *FindResource("", "v1", "pods");
  const json::object before =
      Parse(R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"a.b/c":"1"}}}],
                        "resourceClaims":[{"name":"r","resourceClaimTemplateName":"t"}]}})");
  struct PodCase {
    const char* name;
    const char* status;
    const char* want;
  };
  const PodCase cases[] = {
      {"fine", R"({"resourceClaimStatuses":[{"name":"r","resourceClaimName":"p-r-x"}],
                   "extendedResourceClaimStatus":{"resourceClaimName":"x",
                     "requestMappings":[{"containerName":"c","resourceName":"a.b/c","requestName":"container-0-request-0"}]}})",
       ""},
      {"claim of another", R"({"resourceClaimStatuses":[{"name":"r"},{"name":"r"},{"name":"s"}]})",
       "status.resourceClaimStatuses[1].name: Duplicate value: \"r\"\n"
       "status.resourceClaimStatuses[2].name: Invalid value: \"s\": must match the name of an entry in "
       "`spec.resourceClaims`"},
      {"mappings", R"({"extendedResourceClaimStatus":{"requestMappings":[
                       {"containerName":"x","resourceName":"a.b/c","requestName":"r"},
                       {"containerName":"c","resourceName":"a.b/d","requestName":"r"}]}})",
       "status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: \"x\": must match the name "
       "of an entry in spec.initContainers.name or spec.containers.name\n"
       "status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: \"a.b/d\": must match the "
       "extended resource name of an entry in spec.initContainers.resources.requests or "
       "spec.containers.resources.requests\n"
       "status.extendedResourceClaimStatus.resourceClaimName: Required value"},
  };
  for (const PodCase& c : cases) {
    json::object after = before;
    after["status"] = json::parse(c.status);
    EXPECT_EQ(ErrorText(pods.validate(after, &before)), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::objects
