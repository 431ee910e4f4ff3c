// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifest_shapes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/framework/object_kinds.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/workload_pods.h"

namespace berth::whatif {
namespace {

// What the shapes of some manifests are made from. Shapes that make pods one by one keep it alive.
struct Sources {
  Sources(const Manifests& of_files, const ClusterState& state) : manifests(of_files), rules(manifests, state) {}
  const Manifests manifests;  // the rules are about its objects
  const AdmissionRules rules;
  std::optional<std::string> default_class;
  std::set<std::string, std::less<>> pods;    // of the cluster, "namespace/name"
  std::set<std::string, std::less<>> claims;  // PersistentVolumeClaims that are there
};

std::shared_ptr<Sources> SourcesOf(const Manifests& manifests, const ClusterState& state, Time now,
                                   const std::vector<framework::AnyObject>& added) {
  auto sources = std::make_shared<Sources>(manifests, state);
  sources->default_class = DefaultStorageClass(state.objects, added, now);
  for (const auto& pod : state.pods) sources->pods.insert(KeyOf(*pod));
  for (const auto* objects : {&state.objects, &added}) {
    for (const framework::AnyObject& object : *objects) {
      if (std::holds_alternative<WorkloadPods::ClaimPtr>(object)) sources->claims.insert(framework::KeyOf(object));
    }
  }
  return sources;
}

// Pods with a number behind their name, as those of a StatefulSet; numbers that a pod of the cluster has are passed
// over.
class NumberedPods {
 public:
  NumberedPods(std::shared_ptr<const Sources> sources, std::shared_ptr<const WorkloadPods> pods,
               const Manifest& manifest, std::string name)
      : sources_(std::move(sources)),
        pods_(std::move(pods)),
        space_(manifest.namespace_name),
        name_(std::move(name)),
        is_stateful_(manifest.kind == "StatefulSet") {
    const std::string before = space_ + '/' + name_ + '-';
    for (auto at = sources_->pods.lower_bound(before); at != sources_->pods.end() && at->starts_with(before); ++at) {
      const std::int64_t number = controllers::NumberIn(std::string_view(*at).substr(before.size()));
      if (number >= 0) taken_.insert(number);
    }
    const auto* const spec = controllers::ObjectOf(manifest.object, "spec");
    const auto* const ordinals = spec == nullptr ? nullptr : controllers::ObjectOf(*spec, "ordinals");
    if (is_stateful_ && ordinals != nullptr) first_ = controllers::IntegerOf(*ordinals, "start", 0);
  }

  Expected<api::Pod> operator()(std::size_t nth, std::vector<framework::AnyObject>& claims) const {
    std::int64_t number = first_ + static_cast<std::int64_t>(nth);
    for (auto at = taken_.lower_bound(first_); at != taken_.end() && *at <= number; ++at) ++number;
    std::vector<framework::AnyObject> made;
    BERTH_ASSIGN_OR_RETURN(api::Pod pod, pods_->MakePod(name_ + '-' + std::to_string(number), number, made));
    if (is_stateful_) {
      BERTH_ASSIGN_OR_RETURN(const auto of_set, pods_->StatefulClaims(number));
      for (const auto& claim : of_set) made.emplace_back(claim);
    }
    for (framework::AnyObject& object : made) {
      auto* const claim = std::get_if<WorkloadPods::ClaimPtr>(&object);
      if (claim != nullptr && sources_->claims.contains(framework::KeyOf(object))) continue;
      if (claim != nullptr) *claim = WithClass(std::move(*claim), sources_->default_class);
      claims.push_back(std::move(object));
    }
    return pod;
  }

 private:
  std::shared_ptr<const Sources> sources_;
  std::shared_ptr<const WorkloadPods> pods_;
  std::string space_;
  std::string name_;
  bool is_stateful_;
  std::int64_t first_ = 0;
  std::set<std::int64_t> taken_;
};

Shape::Daemon DaemonOf(const Workload& workload, const ClusterState& state) {
  Shape::Daemon daemon;
  for (const auto& pod : state.pods) {
    if (pod->metadata.deletion_time || WorkloadOf(*pod) != workload) continue;
    daemon.has_one.insert(pod->spec.node_name.empty() ? PinnedNode(*pod).value_or("") : pod->spec.node_name);
  }
  return daemon;
}

}  // namespace

Expected<ManifestShapes> ShapesOfManifests(const Manifests& manifests, const ClusterState& state, Time now) {
  BERTH_ASSIGN_OR_RETURN(Additions added, MakeAdditions(manifests, state, {.now = now, .has_objects_only = true}));
  ManifestShapes found{{}, std::move(added.objects), std::move(added.notes)};
  const auto sources = SourcesOf(manifests, state, now, found.objects);
  for (const Manifest& manifest : sources->manifests.documents) {
    if (!WorkloadPods::MakesPods(manifest.kind)) continue;
    const std::string name = manifest.name.empty() ? "pod" : manifest.name;
    auto pods = WorkloadPods::Make(manifest, name, sources->rules, now);
    if (!pods.ok()) return Error{pods.error().code, manifest.where + ": " + pods.error().message};
    Shape& shape = found.shapes.emplace_back();
    shape.name = manifest.namespace_name + "/" + name;
    shape.origin = manifest.where;
    shape.pod = (*pods)->pod_template().pod();
    if (manifest.kind == "DaemonSet") shape.daemon = DaemonOf({manifest.kind, manifest.namespace_name, name}, state);
    if ((*pods)->AreNumbered() || (*pods)->HaveClaims())
      shape.make = NumberedPods(sources, std::shared_ptr<const WorkloadPods>(std::move(*pods)), manifest, name);
  }
  if (found.shapes.empty()) return InvalidError("there is no Pod in the manifests, and nothing that makes pods");
  return found;
}

}  // namespace berth::whatif
