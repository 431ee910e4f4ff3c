// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/workload_pods.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::whatif {
namespace {

namespace json = codec::json;

constexpr std::array<std::string_view, 6> kWorkloads = {"Deployment",  "ReplicaSet", "ReplicationController",
                                                        "StatefulSet", "DaemonSet",  "Job"};
constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSuffix = 6;  // a dash and five letters

// The ReplicaSet that the Deployment's controller would make.
controllers::WorkloadView ReplicaSetOf(const controllers::WorkloadView& deployment, const std::string& hash) {
  controllers::WorkloadView set = deployment;
  set.name = deployment.name.substr(0, kLabelMax - 2 * kSuffix + 1) + '-' + hash;
  set.uid = OwnerUid("ReplicaSet", set.namespace_name, set.name);
  set.spec["template"] = controllers::ReplicaSetTemplate(deployment, hash);
  return set;
}

}  // namespace

std::string OwnerUid(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  std::string uid = SimulatedUid(kind, namespace_name, name);
  if (uid.size() <= kLabelMax) return uid;
  const std::string end = NameSuffix(uid, 0) + NameSuffix(uid, 1);
  return uid.substr(0, kLabelMax - end.size()) + end;
}

bool WorkloadPods::MakesPods(std::string_view kind) {
  return kind == "Pod" || std::ranges::find(kWorkloads, kind) != kWorkloads.end();
}

Expected<std::unique_ptr<const WorkloadPods>> WorkloadPods::Make(const Manifest& manifest, const std::string& name,
                                                                 const AdmissionRules& rules, Time now) {
  std::unique_ptr<WorkloadPods> made(new WorkloadPods(manifest, rules, now));
  json::object document;
  if (manifest.kind == "Pod") {
    document = manifest.object;
    controllers::ObjectIn(document, "metadata")["name"] = name;
  } else {
    controllers::WorkloadView& view = made->view_;
    view.namespace_name = manifest.namespace_name;
    view.name = name;
    view.uid = OwnerUid(manifest.kind, manifest.namespace_name, name);
    view.generation = 1;
    if (const json::object* spec = controllers::ObjectOf(manifest.object, "spec")) view.spec = *spec;
    std::string kind = manifest.kind;
    if (kind == "Deployment") {
      kind = "ReplicaSet";
      made->template_hash_ = controllers::TemplateHash(view.Template(), 0);
      view = ReplicaSetOf(view, made->template_hash_);
    }
    made->are_numbered_ =
        kind == "StatefulSet" || (kind == "Job" && controllers::StringOf(view.spec, "completionMode") == "Indexed");
    made->maker_.emplace(kind, view);
    document = made->are_numbered_ ? made->maker_->Make(view.name + "-0", 0) : made->maker_->Make(view.name);
  }
  BERTH_ASSIGN_OR_RETURN(made->template_, made->Template(std::move(document)));
  return std::unique_ptr<const WorkloadPods>(std::move(made));
}

Expected<PodTemplate> WorkloadPods::Template(json::object document) const {
  BERTH_ASSIGN_OR_RETURN(PodTemplate made,
                         PodTemplate::Make(std::move(document), maker_ ? "spec.template." : "", rules_));
  api::ObjectMeta& meta = made.mutable_pod().metadata;
  meta.creation_time = now_;
  meta.resource_version.clear();
  meta.deletion_time.reset();
  return made;
}

bool WorkloadPods::HaveClaims() const {
  const json::value* claims = controllers::Member(view_.spec, "volumeClaimTemplates");
  return template_.makes_claims() || (claims != nullptr && claims->is_array() && !claims->get_array().empty());
}

Expected<api::Pod> WorkloadPods::MakePod(const std::string& name, std::int64_t number,
                                         std::vector<framework::AnyObject>& objects) const {
  if (!are_numbered_) return template_.MakePod(name, objects);
  BERTH_ASSIGN_OR_RETURN(const PodTemplate of_pod, Template(maker_->Make(name, number)));
  return of_pod.MakePod(name, objects);
}

Expected<std::vector<WorkloadPods::ClaimPtr>> WorkloadPods::StatefulClaims(std::int64_t ordinal) const {
  std::vector<ClaimPtr> claims;
  for (const controllers::PodDecision::New& each : maker_->Claims(ordinal)) {
    BERTH_ASSIGN_OR_RETURN(const auto decoded, DecodeAs<api::PersistentVolumeClaim>(each.document));
    auto claim = std::make_shared<api::PersistentVolumeClaim>(*decoded);
    claim->metadata.uid = SimulatedUid("pvc", namespace_name_, each.name);
    claim->metadata.creation_time = now_;
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace berth::whatif
