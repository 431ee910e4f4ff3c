// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/claim_requests.h"

#include <utility>

#include "berth/api/decode.h"

namespace berth::plugins {

framework::ObjectRef RefOf(const api::ResourceClaim& claim) {
  return {"resource.k8s.io/v1", "resourceclaims", claim.metadata.namespace_name, claim.metadata.name};
}

codec::json::object Preconditions(const api::ResourceClaim& claim) {
  return {{"uid", claim.metadata.uid}, {"resourceVersion", claim.metadata.resource_version}};
}

framework::ObjectPatch PatchFinalizers(const api::ResourceClaim& claim, const std::vector<std::string>& finalizers) {
  codec::json::object metadata = Preconditions(claim);
  codec::json::array& list = metadata["finalizers"].emplace_array();
  for (const std::string& finalizer : finalizers) list.emplace_back(finalizer);
  codec::json::object body;
  body["metadata"] = std::move(metadata);
  return {RefOf(claim), {}, framework::PatchType::kMerge, codec::WriteJson(body)};
}

framework::ObjectPatch PatchStatus(const api::ResourceClaim& claim, codec::json::object status) {
  codec::json::object body;
  body["metadata"] = Preconditions(claim);
  body["status"] = std::move(status);
  return {RefOf(claim), "status", framework::PatchType::kMerge, codec::WriteJson(body)};
}

DeviceClaims::Ptr DecodeClaim(const std::string& body) {
  const auto element = api::ParseObject("ResourceClaim", body);
  if (!element.ok()) return nullptr;
  auto claim = api::DecodeResourceClaim(*element);
  return claim.ok() ? *claim : nullptr;
}

}  // namespace berth::plugins
