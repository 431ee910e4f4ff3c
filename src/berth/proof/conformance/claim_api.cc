// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/claim_api.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "berth/api/decode.h"
#include "berth/plugins/dynamic_resources/claim_json.h"

namespace berth::conformance {
namespace {

using codec::json::object;
using codec::json::value;
using framework::Operation;

constexpr std::string_view kClaims = "resourceclaims";

Error NotFound(const framework::ObjectRef& ref) {
  return {ErrorCode::kNotFound, "resourceclaims.resource.k8s.io \"" + ref.name + "\" not found"};
}

void MergeInto(object& target, const object& patch) {
  for (const auto& [key, change] : patch) {
    if (change.is_null()) {
      target.erase(key);
    } else if (change.is_object()) {
      value& slot = target[key];
      if (!slot.is_object()) slot.emplace_object();
      MergeInto(slot.as_object(), change.as_object());
    } else {
      target[key] = change;
    }
  }
}

// The one strategic merge patch that is written: it takes consumers away by their uid.
void RemoveConsumers(object& claim, const object& patch) {
  for (const value& entry : patch.at("status").at("reservedFor").as_array()) {
    if (!claim.contains("status") || !claim["status"].as_object().contains("reservedFor")) return;
    auto& consumers = claim["status"].as_object()["reservedFor"].as_array();
    const auto last = std::remove_if(consumers.begin(), consumers.end(),
                                     [&](const value& consumer) { return consumer.at("uid") == entry.at("uid"); });
    consumers.erase(last, consumers.end());
  }
}

// Every device with binding conditions is ready, unless something has been said about it already.
void PrepareDevices(api::ResourceClaim& claim) {
  if (!claim.allocation) return;
  for (const api::DeviceAllocationResult& result : claim.allocation->results) {
    const bool is_known = std::any_of(claim.devices.begin(), claim.devices.end(), [&](const auto& device) {
      return device.driver == result.driver && device.pool == result.pool && device.device == result.device;
    });
    if (result.binding_conditions.empty() || is_known) continue;
    api::AllocatedDeviceStatus& status = claim.devices.emplace_back();
    status.driver = result.driver;
    status.pool = result.pool;
    status.device = result.device;
    for (const std::string& type : result.binding_conditions) status.conditions.push_back({type, "True", {}, {}});
  }
}

}  // namespace

framework::Status ClaimApi::Run(Operation operation, Time now) {
  while (!operation.is_done()) {
    framework::StepResult result;
    result.now = result.wall_now = now;
    for (const framework::ApiWrite& write : operation.writes) {
      auto answer = Do(write);
      if (!answer.ok()) {
        result.error = answer.error();
        break;
      }
      result.body = std::move(*answer);
    }
    if (operation.work) result.status = operation.work();
    if (!operation.next) {
      return result.error ? framework::Status::Error(result.error->message) : std::move(result.status);
    }
    operation = Operation::Next(operation.next)(result);
  }
  return operation.status;
}

Expected<std::string> ClaimApi::Do(const framework::ApiWrite& write) {
  if (const auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
    return patch->object.resource == kClaims ? Patch(*patch) : std::string("{}");
  }
  if (const auto* create = std::get_if<framework::ObjectCreate>(&write)) {
    return create->object.resource == kClaims ? Create(*create) : std::string("{}");
  }
  if (const auto* erased = std::get_if<framework::ObjectDelete>(&write)) {
    return erased->object.resource == kClaims ? Delete(*erased) : std::string("{}");
  }
  if (const auto* read = std::get_if<framework::ObjectRead>(&write); read && read->object.resource == kClaims) {
    const Claim* claim = Find(read->object);
    if (claim == nullptr) return NotFound(read->object);
    return codec::WriteJson(plugins::ToJson(*claim));
  }
  return std::string("{}");
}

const api::ResourceClaim* ClaimApi::Find(const framework::ObjectRef& ref) const {
  return objects_.Of<Claim>().Find(ref.namespace_name, ref.name);
}

Expected<std::string> ClaimApi::Store(object claim) {
  claim["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  const auto element = api::ParseObject("ResourceClaim", codec::WriteJson(claim));
  if (!element.ok()) return element.error();
  const auto decoded = api::DecodeResourceClaim(*element);
  if (!decoded.ok()) return decoded.error();
  auto stored = std::make_shared<Claim>(**decoded);
  PrepareDevices(*stored);
  objects_.Set(std::shared_ptr<const Claim>(stored));
  return codec::WriteJson(plugins::ToJson(*stored));
}

Expected<std::string> ClaimApi::Create(const framework::ObjectCreate& write) {
  auto body = codec::ParseJson(write.body);
  if (!body.ok()) return body.error();
  object& metadata = body->as_object()["metadata"].as_object();
  const std::string name = std::string(metadata.at("generateName").as_string()) + std::to_string(version_ + 1);
  metadata["name"] = name;
  metadata["uid"] = "uid-" + name;
  return Store(std::move(body->as_object()));
}

Expected<std::string> ClaimApi::Patch(const framework::ObjectPatch& write) {
  const Claim* claim = Find(write.object);
  if (claim == nullptr) return NotFound(write.object);
  auto patch = codec::ParseJson(write.body);
  if (!patch.ok()) return patch.error();
  object patched = plugins::ToJson(*claim);
  if (write.type == framework::PatchType::kStrategicMerge) {
    RemoveConsumers(patched, patch->as_object());
    return Store(std::move(patched));
  }
  const object& metadata = patch->at("metadata").as_object();
  const auto meets = [&](std::string_view key, const std::string& current) {
    return !metadata.contains(key) || std::string_view(metadata.at(key).as_string()) == current;
  };
  if (!meets("uid", claim->metadata.uid) || !meets("resourceVersion", claim->metadata.resource_version)) {
    return Error{ErrorCode::kConflict, "the object has been modified"};
  }
  MergeInto(patched, patch->as_object());
  return Store(std::move(patched));
}

Expected<std::string> ClaimApi::Delete(const framework::ObjectDelete& write) {
  const Claim* claim = Find(write.object);
  if (claim == nullptr) return NotFound(write.object);
  objects_.Remove(framework::ObjectKind::kResourceClaim,
                  framework::ObjectStore<Claim>::Key(write.object.namespace_name, write.object.name));
  return std::string("{}");
}

}  // namespace berth::conformance
