// SPDX-License-Identifier: Apache-2.0
// ProvisioningRequests and PodTemplates for tests. Tests only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/provisioning/provisioning_request.h"

namespace berth::provisioning {

// A request of two pods of the template "main", made at `creation`, for the processor "berth".
inline ProvisioningRequest MakeRequest(const std::string& name, Time creation) {
  ProvisioningRequest request;
  request.namespace_name = "jobs";
  request.name = name;
  request.uid = "uid-of-" + name;
  request.resource_version = "1";
  request.generation = 1;
  request.creation_time = creation;
  request.class_name = kCheckCapacityClass;
  request.parameters = {{std::string(kProcessorInstance), "berth"}};
  request.pod_sets = {{"main", 2}};
  return request;
}

inline codec::json::object MakeTemplate(const std::string& spec) {
  const auto parsed = codec::ParseJson(R"({"metadata":{"namespace":"jobs"},"template":{"spec":)" + spec + "}}");
  BERTH_CHECK(parsed.ok(), parsed.error().message);
  return parsed->get_object();
}

inline codec::json::object MainTemplate() {
  return MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})");
}

// The request as the API server would have it after the patch.
inline RequestPtr Patched(const ProvisioningRequest& request, const std::string& patch) {
  codec::JsonReader reader;
  const auto parsed = reader.Parse(patch);
  BERTH_CHECK(parsed.ok(), patch);
  auto patched = std::make_shared<ProvisioningRequest>(request);
  patched->resource_version = std::to_string(std::stoi(request.resource_version) + 1);
  const auto status = codec::FindMember(*parsed, "status");
  patched->conditions.clear();
  const auto conditions = codec::FindArray(*status, "conditions");
  for (const simdjson::dom::element each : *conditions) {
    const auto text = [&](const char* key) { return std::string(codec::StringOrEmpty(each, key)); };
    patched->conditions.push_back({text("type"), text("status"), text("reason"), text("message"),
                                   codec::FindInt(each, "observedGeneration").value_or(0),
                                   *ParseRfc3339(text("lastTransitionTime"))});
  }
  if (const auto details = codec::FindObject(*status, "provisioningClassDetails")) {
    for (const auto& [key, value] : *details) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) {
        patched->details[std::string(key)] = text;
      } else {
        patched->details.erase(std::string(key));
      }
    }
  }
  return patched;
}

}  // namespace berth::provisioning
