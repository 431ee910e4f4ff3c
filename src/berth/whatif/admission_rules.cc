// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/admission_rules.h"

#include <optional>

#include "berth/devcluster/objects/priority.h"
#include "berth/devcluster/objects/runtime_class.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;

const json::object* PartOf(const json::object* object, std::string_view key) {
  const json::value* const value = object == nullptr ? nullptr : object->if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

bool HasClass(const json::object& pod, std::string_view field) {
  const json::object* const spec = PartOf(&pod, "spec");
  const json::value* const name = spec == nullptr ? nullptr : spec->if_contains(field);
  return name != nullptr && name->is_string() && !name->get_string().empty();
}

}  // namespace

AdmissionRules::AdmissionRules(const Manifests& manifests, const ClusterState& state)
    : knows_priority_classes_(!IsLeftOut(state, "priorityclasses")),
      knows_runtime_classes_(!IsLeftOut(state, "runtimeclasses")),
      knows_claim_templates_(!IsLeftOut(state, "resourceclaimtemplates")) {
  for (const AdmissionObject& of_cluster : state.admission) {
    Add(of_cluster.kind, of_cluster.namespace_name, of_cluster.name, of_cluster.object);
    if (of_cluster.kind == "ResourceQuota") quota_namespaces_.insert(of_cluster.namespace_name);
  }
  for (const Manifest& manifest : manifests.documents)
    Add(manifest.kind, manifest.namespace_name, manifest.name, manifest.object);
}

void AdmissionRules::Add(std::string_view kind, const std::string& namespace_name, const std::string& name,
                         const json::object& object) {
  if (kind == "PriorityClass") priority_classes_.push_back(&object);
  if (kind == "RuntimeClass") runtime_classes_.push_back(&object);
  if (kind == "ResourceClaimTemplate") {
    if (const json::object* const spec = PartOf(PartOf(&object, "spec"), "spec"))
      claim_templates_[{namespace_name, name}] = spec;
  }
}

Expected<void> AdmissionRules::Admit(json::object& pod, std::string_view path_prefix) const {
  if (HasClass(pod, "runtimeClassName")) {
    const auto why = objects::ApplyRuntimeClass(pod, runtime_classes_);
    // Of a class that may exist the caller has a note.
    if (why && (knows_runtime_classes_ || !why->ends_with("not found")))
      return InvalidError(std::string(path_prefix) + "spec.runtimeClassName: " + *why);
  }
  if (const auto why = objects::ResolvePodPriority(pod, priority_classes_)) return BadPriority(path_prefix, *why);
  return {};
}

Expected<void> AdmissionRules::AdmitPodGroup(json::object& group, std::string_view what) const {
  if (const auto why = objects::ResolvePodGroupPriority(group, what, priority_classes_)) return BadPriority("", *why);
  return {};
}

Error AdmissionRules::BadPriority(std::string_view path_prefix, const std::string& why) const {
  std::string text = std::string(path_prefix) + "spec.priorityClassName: " + why;
  if (!knows_priority_classes_) text += "; the cluster's could not be read: add it with -f";
  return InvalidError(std::move(text));
}

const json::object* AdmissionRules::ClaimTemplate(const std::string& namespace_name, const std::string& name) const {
  const auto at = claim_templates_.find({namespace_name, name});
  return at == claim_templates_.end() ? nullptr : at->second;
}

}  // namespace berth::whatif
