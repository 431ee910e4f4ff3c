// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/promises.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/random.h"
#include "berth/codec/json.h"
#include "berth/proof/program_sim/outsiders.h"

namespace berth::program_sim {
namespace {

namespace json = codec::json;

constexpr Duration kTick = std::chrono::milliseconds(700);
constexpr std::array<const char*, 2> kNamespaces = {"a", "b"};

}  // namespace

void Promises::Ask(const Item& item) {
  Random random(item.dice);
  Request request;
  request.namespace_name = kNamespaces[random.Below(kNamespaces.size())];
  request.name = "r" + std::to_string(requests_.size());
  request.missing = 1 + static_cast<int>(random.Below(4));
  request.dice = random.Next();
  json::object container{{"name", "c"}, {"image", "i"}};
  container["resources"] =
      json::object{{"requests", json::object{{"cpu", std::to_string(1 + random.Below(3))},
                                             {"memory", std::to_string(1 + random.Below(4)) + "Gi"}}}};
  json::object spec{{"schedulerName", kOurName}, {"containers", json::array{std::move(container)}}};
  if (random.Below(4) == 0) spec["nodeSelector"] = json::object{{"disk", "ssd"}};
  if (random.Below(2) == 0) spec["tolerations"] = json::array{json::object{{"key", "gpu"}, {"operator", "Exists"}}};
  if (random.Below(3) == 0) spec["priorityClassName"] = "high";
  request.spec = codec::WriteJson(spec);
  const std::string in = "/namespaces/" + request.namespace_name + "/";
  const json::object pod_template{{"metadata", json::object{{"name", request.name}}},
                                  {"template", json::object{{"spec", spec}}}};
  auto made = server_.Do("POST", "/api/v1" + in + "podtemplates", codec::WriteJson(pod_template));
  BERTH_CHECK(made.status == 201, made.body);
  const json::object asked{
      {"apiVersion", "autoscaling.x-k8s.io/v1"},
      {"kind", "ProvisioningRequest"},
      {"metadata", json::object{{"name", request.name}}},
      {"spec",
       json::object{{"provisioningClassName", "check-capacity.autoscaling.x-k8s.io"},
                    {"parameters", json::object{{"processorInstance", kOurName}}},
                    {"podSets", json::array{json::object{{"count", request.missing},
                                                         {"podTemplateRef", json::object{{"name", request.name}}}}}}}}};
  made = server_.Do("POST", "/apis/autoscaling.x-k8s.io/v1" + in + "provisioningrequests", codec::WriteJson(asked));
  BERTH_CHECK(made.status == 201, made.body);
  requests_.emplace(request.namespace_name + "/" + request.name, std::move(request));
  if (!std::exchange(is_ticking_, true)) agenda_.After(kTick, this, [this] { Tick(); });
}

bool Promises::Holds(const Request& request) const {
  const auto known = ledger_.requests().find(request.namespace_name + "/" + request.name);
  return known != ledger_.requests().end() && known->second.is_provisioned && !known->second.is_over;
}

// Each time one in eight pods comes.
void Promises::Tick() {
  for (auto& [key, request] : requests_) {
    if (request.missing == 0 || !Holds(request)) continue;
    Random random(request.dice++);
    if (random.Below(8) == 0) Bring(request);
  }
  agenda_.After(kTick, this, [this] { Tick(); });
}

void Promises::Bring(Request& request) {
  const std::string name = request.name + "-" + std::to_string(--request.missing);
  const json::object annotations{{"autoscaling.x-k8s.io/consume-provisioning-request", request.name}};
  json::object pod{{"metadata", json::object{{"name", name}, {"annotations", annotations}}}};
  const auto spec = codec::ParseJson(request.spec);
  BERTH_CHECK(spec.ok());
  pod["spec"] = *spec;
  const auto made = server_.Do("POST", "/api/v1/namespaces/" + request.namespace_name + "/pods", codec::WriteJson(pod));
  BERTH_CHECK(made.status == 201, made.body);
  request.pods.insert(request.namespace_name + "/" + name);
  ++count_;
}

void Promises::BringAll() {
  for (auto& [key, request] : requests_) {
    while (request.missing > 0 && Holds(request)) Bring(request);
  }
}

void Promises::DeleteAll() {
  for (const auto& [key, request] : requests_) {
    server_.Do("DELETE", "/apis/autoscaling.x-k8s.io/v1/namespaces/" + request.namespace_name +
                             "/provisioningrequests/" + request.name);
  }
}

std::string Promises::Broken() const {
  for (const auto& [key, request] : requests_) {
    if (!Holds(request)) continue;
    for (const std::string& pod_key : request.pods) {
      const auto pod = ledger_.pods().find(pod_key);
      if (pod == ledger_.pods().end() || !pod->second.node.empty() || pod->second.is_terminating) continue;
      return pod_key + " waits (" + pod->second.told.message + ") although room was promised to " + key;
    }
  }
  return {};
}

}  // namespace berth::program_sim
