// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/manifest_parts.h"

#include <utility>

namespace berth::wake_ups {

using codec::json::array;
using codec::json::object;

void Put(object& into, std::string_view key, const char* text) {
  if (text != nullptr) into[key] = text;
}

object Metadata(const std::string& name, const char* namespace_name) {
  object metadata{{"uid", "u-" + name}, {"name", name}};
  Put(metadata, "namespace", namespace_name);
  return metadata;
}

object Requirement(const char* key, const char* op, array values) {
  object requirement{{"key", key}, {"operator", op}};
  if (!values.empty()) requirement["values"] = std::move(values);
  return requirement;
}

object Matching(object requirement) { return {{"matchExpressions", array{std::move(requirement)}}}; }

object Required(array terms) { return {{"requiredDuringSchedulingIgnoredDuringExecution", std::move(terms)}}; }

object Container(const char* cpu, const char* gpu) {
  object requests{{"cpu", cpu}};
  Put(requests, "example.com/gpu", gpu);
  object container{{"name", "c"}, {"image", "i"}};
  container["resources"] = object{{"requests", requests}};
  return container;
}

void AddPort(object& container) {
  container["ports"] = array{object{{"containerPort", 80}, {"hostPort", 8080}, {"protocol", "TCP"}}};
}

void AddResourceClaim(object& spec, const std::string& claim) {
  spec["resourceClaims"] = array{object{{"name", "r"}, {"resourceClaimName", claim}}};
}

object Labels(const char* app, const char* role) {
  object labels;
  Put(labels, "app", app);
  Put(labels, "role", role);
  return labels;
}

void AddDeletion(object& metadata) {
  metadata["deletionTimestamp"] = "2029-12-31T23:59:50Z";
  metadata["deletionGracePeriodSeconds"] = 3600;
}

}  // namespace berth::wake_ups
