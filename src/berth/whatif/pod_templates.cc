// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_templates.h"

#include <algorithm>

#include "berth/api/decode.h"
#include "berth/base/random.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_quotas.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;

// FNV-1a.
std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

const json::value* Find(const json::value* value, std::string_view key) {
  if (value == nullptr || !value->is_object()) return nullptr;
  return value->get_object().if_contains(key);
}

api::OwnerReference OwnerOf(const api::Pod& pod) { return {"v1", "Pod", pod.metadata.name, pod.metadata.uid}; }

}  // namespace

Expected<framework::AnyObject> DecodeAny(framework::ObjectKind kind, const json::object& document) {
  const std::string text = codec::WriteJson(document);
  BERTH_ASSIGN_OR_RETURN(const auto element, api::ParseObject(framework::InfoOf(kind).name, text));
  return framework::DecodeObject(kind, element);
}

std::string NameSuffix(std::string_view of, std::uint64_t number) {
  return controllers::NameSuffix(Random(HashOf(of) + number).Next());
}

std::string SimulatedUid(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  // No namespace has a dot in it.
  return "simulated-" + std::string(kind) + '.' + std::string(namespace_name) + '.' + std::string(name);
}

Expected<PodTemplate> PodTemplate::Make(json::object document, std::string_view path_prefix,
                                        const AdmissionRules& rules) {
  BERTH_RETURN_IF_ERROR(PreparePod(document, path_prefix, rules));
  BERTH_ASSIGN_OR_RETURN(const auto decoded, api::DecodePod(codec::WriteJson(document)));
  PodTemplate made;
  made.pod_ = *decoded;
  BERTH_RETURN_IF_ERROR(made.ReadEphemeralVolumes(document));
  BERTH_RETURN_IF_ERROR(made.ReadClaimTemplates(rules));
  if (rules.HasQuotas(decoded->metadata.namespace_name)) {
    BERTH_ASSIGN_OR_RETURN(QuotaDemand demand, QuotaDemandOf(document, *decoded));
    made.quota_demand_ = std::make_shared<const QuotaDemand>(std::move(demand));
  }
  return made;
}

Expected<void> PodTemplate::ReadEphemeralVolumes(const json::object& document) {
  const json::value* volumes = Find(document.if_contains("spec"), "volumes");
  if (volumes == nullptr || !volumes->is_array()) return {};
  for (const json::value& volume : volumes->get_array()) {
    const json::value* name = Find(&volume, "name");
    const json::value* claim = Find(Find(&volume, "ephemeral"), "volumeClaimTemplate");
    if (name == nullptr || !name->is_string() || claim == nullptr || !claim->is_object()) continue;
    json::object of_claim = claim->get_object();
    json::value& metadata = of_claim["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    metadata.get_object()["name"] = "template";
    BERTH_ASSIGN_OR_RETURN(auto decoded, DecodeAs<api::PersistentVolumeClaim>(of_claim));
    volume_claims_.emplace_back(name->get_string(), std::move(decoded));
  }
  return {};
}

Expected<void> PodTemplate::ReadClaimTemplates(const AdmissionRules& rules) {
  for (const api::PodResourceClaim& entry : pod_.spec.resource_claims) {
    if (!entry.template_name) continue;
    const json::object* spec = rules.ClaimTemplate(pod_.metadata.namespace_name, *entry.template_name);
    if (spec == nullptr) {
      unknown_templates_.push_back(*entry.template_name);
      continue;
    }
    const json::object document{{"metadata", json::object{{"name", "template"}}}, {"spec", *spec}};
    BERTH_ASSIGN_OR_RETURN(auto decoded, DecodeAs<api::ResourceClaim>(document));
    resource_claims_.emplace_back(entry.name, std::move(decoded));
  }
  return {};
}

api::Pod PodTemplate::MakePod(const std::string& name, std::vector<framework::AnyObject>& objects) const {
  api::Pod pod = pod_;
  api::ObjectMeta& meta = pod.metadata;
  meta.name = name;
  meta.uid = SimulatedUid("pod", meta.namespace_name, name);
  const auto metadata_of = [&](api::ObjectMeta& to, const std::string& claim, std::string_view kind) {
    to.name = claim;
    to.namespace_name = meta.namespace_name;
    to.uid = SimulatedUid(kind, meta.namespace_name, claim);
    to.controller = OwnerOf(pod);
    to.creation_time = meta.creation_time;
  };
  for (const auto& [volume, of_template] : volume_claims_) {
    auto claim = std::make_shared<api::PersistentVolumeClaim>(*of_template);
    metadata_of(claim->metadata, name + '-' + volume, "pvc");
    objects.emplace_back(std::shared_ptr<const api::PersistentVolumeClaim>(std::move(claim)));
  }
  for (const auto& [entry, of_template] : resource_claims_) {
    auto claim = std::make_shared<api::ResourceClaim>(*of_template);
    const std::string base = name + '-' + entry + '-';
    const std::string claim_name = base + NameSuffix(base, 0);
    metadata_of(claim->metadata, claim_name, "claim");
    claim->owners = {OwnerOf(pod)};
    objects.emplace_back(std::shared_ptr<const api::ResourceClaim>(std::move(claim)));
    pod.status.resource_claim_statuses.push_back({entry, claim_name});
  }
  return pod;
}

}  // namespace berth::whatif
