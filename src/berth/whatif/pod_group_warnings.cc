// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_group_warnings.h"

#include <cstddef>
#include <string_view>

namespace berth::whatif {
namespace {

// The first release with pod groups that berth follows.
constexpr int kPodGroupsRelease = 37;

bool HasTopology(const codec::json::object& group) {
  const codec::json::value* at = &group.at("spec");
  for (const std::string_view key : {"schedulingConstraints", "topology"}) {
    at = at->is_object() ? at->get_object().if_contains(key) : nullptr;
    if (at == nullptr) return false;
  }
  return at->is_array() && !at->get_array().empty();
}

// "web.yaml:3: PodGroup shop/a" or "web.yaml:3: PodGroup shop/a and 2 more".
std::string Named(const std::string& first, std::size_t count) {
  return count == 1 ? first : first + " and " + std::to_string(count - 1) + " more";
}

}  // namespace

std::string PodGroupFlags(int release_minor) {
  return std::string(release_minor < kPodGroupsRelease ? "--kubernetes-version 1.37 and " : "") +
         "--feature-gates GenericWorkload=true";
}

std::vector<std::string> PodGroupWarnings(const Manifests& manifests, const framework::Release& release) {
  std::string first, first_with_topology, first_composite;
  std::size_t groups = 0, with_topology = 0, composites = 0;
  for (const Manifest& manifest : manifests.documents) {
    if (manifest.kind == "CompositePodGroup" && composites++ == 0) first_composite = manifest.where;
    if (manifest.kind != "PodGroup") continue;
    if (groups++ == 0) first = manifest.where;
    if (HasTopology(manifest.object) && with_topology++ == 0) first_with_topology = manifest.where;
  }
  if (groups > 0 && !release.has_pod_groups) {
    const bool is_old = release.minor < kPodGroupsRelease;
    return {Named(first, groups) + ": pods are scheduled one by one" +
            (is_old ? ", as Kubernetes 1." + std::to_string(release.minor) + " does" : "") + "; with " +
            PodGroupFlags(release.minor) + " as a group"};
  }
  if (composites > 0 && !release.has_composite_pod_groups) {
    return {Named(first_composite, composites) +
            ": its groups are placed each by itself; they are placed together with " +
            (release.minor < kPodGroupsRelease ? "--kubernetes-version 1.37 and " : "") +
            "--feature-gates GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"};
  }
  if (with_topology > 0 && !release.places_pod_groups_by_topology) {
    return {Named(first_with_topology, with_topology) +
            ": the topology constraint has no effect; it has with --feature-gates "
            "TopologyAwareWorkloadScheduling=true"};
  }
  return {};
}

}  // namespace berth::whatif
