// SPDX-License-Identifier: Apache-2.0
// Builders of devices, slices, classes and claims for tests, and a scheduler with one DynamicResources. Objects come
// from JSON, in which a case shows only what matters to it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/decode.h"
#include "berth/base/check.h"
#include "berth/core/config/args.h"
#include "berth/plugins/dynamic_resources/dynamic_resources.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {

// Single quotes stand for double ones.
inline std::string Json(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

template <typename T>
std::shared_ptr<const T> DecodeOrDie(Expected<std::shared_ptr<const T>> (*decode)(simdjson::dom::element),
                                     const std::string& text) {
  const auto element = api::ParseObject("object", Json(text));
  BERTH_CHECK(element.ok(), text);
  auto object = decode(*element);
  BERTH_CHECK(object.ok(), object.ok() ? "" : object.error().message, text);
  return *object;
}

inline std::shared_ptr<const api::DeviceClass> MakeClass(const std::string& name, const std::string& spec = "") {
  return DecodeOrDie(&api::DecodeDeviceClass, "{'metadata': {'name': '" + name + "'}, 'spec': {" + spec + "}}");
}

// A slice of pool `pool` (driver "d") that is the whole pool, unless `more` says otherwise: members of the spec that
// come first. `where`: "'nodeName': 'n1'", "'allNodes': true" ...
inline std::shared_ptr<const api::ResourceSlice> MakeSlice(const std::string& name, const std::string& where,
                                                           const std::string& devices, const std::string& more = "",
                                                           const std::string& pool = "") {
  const std::string pool_json =
      more.find("'pool'") != std::string::npos
          ? ""
          : "'pool': {'name': '" + (pool.empty() ? name : pool) + "', 'generation': 1, 'resourceSliceCount': 1},";
  return DecodeOrDie(&api::DecodeResourceSlice, "{'metadata': {'name': '" + name + "'}, 'spec': {'driver': 'd'," +
                                                    pool_json + (more.empty() ? "" : more + ",") + where +
                                                    ", 'devices': [" + devices + "]}}");
}

// `selector`: members of spec.deviceSelector. The taint is "k:NoSchedule", unless another key is given.
inline std::shared_ptr<const api::DeviceTaintRule> MakeTaintRule(const std::string& name, const std::string& selector,
                                                                 const std::string& key = "k") {
  return DecodeOrDie(&api::DecodeDeviceTaintRule, "{'metadata': {'name': '" + name +
                                                      "'}, 'spec': {'deviceSelector': {" + selector +
                                                      "}, 'taint': {'key': '" + key + "', 'effect': 'NoSchedule'}}}");
}

// A claim of namespace "default" with uid "uid-NAME" and version "1". `spec` is the content of spec.devices.
inline std::shared_ptr<const api::ResourceClaim> MakeClaim(const std::string& name, const std::string& spec,
                                                           const std::string& status = "",
                                                           const std::string& metadata = "") {
  return DecodeOrDie(&api::DecodeResourceClaim,
                     "{'metadata': {'name': '" + name + "', 'namespace': 'default', 'uid': 'uid-" + name +
                         "', 'resourceVersion': '1'" + (metadata.empty() ? "" : ", " + metadata) +
                         "}, 'spec': {'devices': {" + spec + "}}, 'status': {" + status + "}}");
}

// A request of class "c", called "r" unless `name` says otherwise.
inline std::string Exactly(int count = 1, const std::string& more = "", const std::string& name = "r") {
  return "{'name': '" + name +
         "', 'exactly': {'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': " + std::to_string(count) +
         (more.empty() ? "" : ", " + more) + "}}";
}
inline std::string All(const std::string& more = "", const std::string& name = "r") {
  return "{'name': '" + name + "', 'exactly': {'deviceClassName': 'c', 'allocationMode': 'All'" +
         (more.empty() ? "" : ", " + more) + "}}";
}
inline std::string Requests(const std::string& requests) { return "'requests': [" + requests + "]"; }
inline std::string Cel(const std::string& expression) {
  return "'selectors': [{'cel': {'expression': '" + expression + "'}}]";
}

// The status of a claim that has these devices of a pool of driver "d".
inline std::string Allocated(const std::string& pool, const std::vector<std::string>& devices,
                             const std::string& more = "") {
  std::string results;
  for (const std::string& device : devices) {
    results += (results.empty() ? "" : ", ") +
               ("{'request': 'r', 'driver': 'd', 'pool': '" + pool + "', 'device': '" + device + "'" + more + "}");
  }
  return "'allocation': {'devices': {'results': [" + results + "]}}";
}
inline std::string ReservedFor(const std::string& uid) {
  return "'reservedFor': [{'resource': 'pods', 'name': 'p', 'uid': '" + uid + "'}]";
}

// "r:pool/device", with "*" for a share and "!" for admin access, joined by a space.
inline std::string Describe(const api::AllocationResult& allocation) {
  std::string text;
  for (const api::DeviceAllocationResult& result : allocation.results) {
    text += (text.empty() ? "" : " ") + result.request + ":" + result.pool + "/" + result.device;
    if (result.share_id) text += "*";
    if (result.admin_access) text += "!";
  }
  return text;
}

// A scheduler with class "c", which takes every device, and nodes n1 and n2.
class DeviceCluster {
 public:
  explicit DeviceCluster(const framework::Release& release = {})
      : plugin(CreateDynamicResources(args, (handle.SetRelease(release), handle))) {
    Set(MakeClass("c"));
    nodes.Add(testing::MakeNode("n1").Label("zone", "a"));
    nodes.Add(testing::MakeNode("n2").Label("zone", "b"));
  }

  template <typename T>
  void Set(std::shared_ptr<const T> object) {
    handle.store.Set(framework::AnyObject(std::move(object)));
  }
  void RemoveClaim(std::string_view name) {
    (void)handle.store.Remove(framework::ObjectKind::kResourceClaim, "default/" + std::string(name));
  }
  const api::ResourceClaim* Claim(std::string_view name) const {
    return handle.store.Of<api::ResourceClaim>().Find("default", name);
  }

  framework::Cycle Cycle(std::uint64_t seed = 1) { return {nodes.table(), nodes.state(), seed, now}; }
  // PreFilter's answer, in a new cycle.
  std::string PreFilter(const framework::PodInfo& pod) {
    nodes.Forget();
    return TestCluster::Describe(plugin.PreFilter(Cycle(), pod).status);
  }
  // PreFilter's answer where it refuses, else Filter's.
  std::string Filter(const framework::PodInfo& pod, std::string_view node = "n1") {
    const std::string before = PreFilter(pod);
    return before == "ok" ? FilterAgain(pod, node) : before;
  }
  std::string FilterAgain(const framework::PodInfo& pod, std::string_view node) {
    return TestCluster::Describe(plugin.Filter(Cycle(), pod, nodes.Node(node)));
  }
  // The pod on its node, reserved; ends the test when it does not go there.
  framework::PodInfoPtr Reserve(const testing::PodBuilder& pod, const std::string& node = "n1") {
    const std::string filtered = Filter(*pod.Info(), node);
    BERTH_CHECK(filtered == "ok", filtered);
    auto assumed = std::make_shared<framework::PodInfo>(*pod.Info());
    assumed->node_name = node;
    const framework::Status status = plugin.Reserve(Cycle(), *assumed, node);
    BERTH_CHECK(status.IsSuccess(), status.Message());
    return assumed;
  }

  testing::FakeHandle handle;
  TestCluster nodes;
  config::DynamicResourcesArgs args;
  Time now = Time(std::chrono::hours(24 * 365 * 60));  // early in 2029
  TestedPlugin plugin;
};

inline testing::PodBuilder PodWith(std::string name, const std::vector<std::string>& claims) {
  auto pod = testing::MakePod(std::move(name));
  for (const std::string& claim : claims) pod.ResourceClaim({"c-" + claim, claim, std::nullopt});
  return pod;
}

}  // namespace berth::plugins
