// SPDX-License-Identifier: Apache-2.0
// PodTemplate: a pod's manifest, checked once, from which pods are made by the thousand, each with the claims that the
// controllers of ephemeral volumes and ResourceClaimTemplates would create for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/framework/objects.h"

namespace berth::whatif {

class AdmissionRules;
struct QuotaDemand;

// Reads any object that plugins read.
template <typename T>
Expected<std::shared_ptr<const T>> DecodeAs(const codec::json::object& document);

// Five letters as the API server appends them to a generateName, the same for the same text and number.
std::string NameSuffix(std::string_view of, std::uint64_t number);
// The uid of an object that does not exist.
std::string SimulatedUid(std::string_view kind, std::string_view namespace_name, std::string_view name);

class PodTemplate {
 public:
  // `document` is a Pod with a namespace and any valid name. `path_prefix` is where its fields stand in the manifest:
  // "spec.template.".
  static Expected<PodTemplate> Make(codec::json::object document, std::string_view path_prefix,
                                    const AdmissionRules& rules);

  const api::Pod& pod() const { return pod_; }
  api::Pod& mutable_pod() { return pod_; }
  // ResourceClaimTemplates that nobody knows: pods wait for their claims.
  const std::vector<std::string>& unknown_templates() const { return unknown_templates_; }
  // Whether each pod has claims of its own.
  bool makes_claims() const { return !volume_claims_.empty() || !resource_claims_.empty(); }

  // Where the cluster has quotas in the namespace: what each pod takes of them. Else null.
  const QuotaDemand* quota_demand() const { return quota_demand_.get(); }

  // Makes a pod of that name, and appends its claims to `objects`.
  api::Pod MakePod(const std::string& name, std::vector<framework::AnyObject>& objects) const;

 private:
  Expected<void> ReadEphemeralVolumes(const codec::json::object& document);
  Expected<void> ReadClaimTemplates(const AdmissionRules& rules);

  api::Pod pod_;
  // Claim templates by the name of the volume, and of the pod's entry.
  std::vector<std::pair<std::string, std::shared_ptr<const api::PersistentVolumeClaim>>> volume_claims_;
  std::vector<std::pair<std::string, std::shared_ptr<const api::ResourceClaim>>> resource_claims_;
  std::vector<std::string> unknown_templates_;
  std::shared_ptr<const QuotaDemand> quota_demand_;
};

// --- Implementation of the template ---

Expected<framework::AnyObject> DecodeAny(framework::ObjectKind kind, const codec::json::object& document);

template <typename T>
Expected<std::shared_ptr<const T>> DecodeAs(const codec::json::object& document) {
  constexpr std::size_t kIndex = []<typename... Ptr>(std::variant<Ptr...>*) {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<Ptr, std::shared_ptr<const T>> ? true : (++index, false)) || ...));
    return index;
  }(static_cast<framework::AnyObject*>(nullptr));
  BERTH_ASSIGN_OR_RETURN(framework::AnyObject object, DecodeAny(static_cast<framework::ObjectKind>(kIndex), document));
  return std::get<kIndex>(std::move(object));
}

}  // namespace berth::whatif
