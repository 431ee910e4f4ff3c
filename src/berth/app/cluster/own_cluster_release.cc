// SPDX-License-Identifier: Apache-2.0
#include "berth/app/cluster/own_cluster_release.h"

#include <string_view>
#include <utility>

#include "berth/app/common_flags.h"
#include "berth/codec/json.h"
#include "berth/devcluster/embedded_cluster/embedded_cluster.h"
#include "berth/framework/release.h"
#include "berth/whatif/pod_group_warnings.h"

namespace berth::app {
namespace {

constexpr int kPodGroupsMinor = 37;
// What of pod groups the embedded API server has on; each after those that it depends on.
constexpr const char* kPodGroupGates[] = {"GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup",
                                          "PodGroupPreemptionPolicy", "DRAWorkloadResourceClaims"};

std::string MetadataText(const codec::json::object& object, const char* name) {
  const codec::json::value* const metadata = object.if_contains("metadata");
  const codec::json::value* const text =
      metadata != nullptr && metadata->is_object() ? metadata->get_object().if_contains(name) : nullptr;
  return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
}

}  // namespace

void AddOwnClusterRelease(cli::Command& command, OwnClusterRelease& release) {
  AddKubernetesVersion(command, release.minor, false,
                       "the Kubernetes that the cluster says it is, whose scheduler decides");
  AddFeatureGates(command, release.feature_gates, "that scheduler");
}

Expected<config::FeatureGates> OwnClusterGates(const OwnClusterRelease& release, int otherwise) {
  config::FeatureGateSettings settings;
  settings.release_minor = release.minor.value_or(otherwise);
  settings.gates = release.feature_gates;
  if (settings.release_minor >= kPodGroupsMinor) {
    const bool has_prefix =
        !release.feature_gates.empty() && release.feature_gates.front().find(':') != std::string::npos;
    // One after the other: where what is typed switches off what a gate depends on, that one stays off.
    std::string on;
    for (const char* const gate : kPodGroupGates) {
      const std::string more = on + (has_prefix ? "kube:" : "") + gate + "=true,";
      config::FeatureGateSettings with_more = settings;
      with_more.gates.insert(with_more.gates.begin(), more);  // what is typed counts more
      if (config::FeatureGates::Parse(with_more).ok()) on = more;
    }
    if (!on.empty()) settings.gates.insert(settings.gates.begin(), on);
  }
  return config::FeatureGates::Parse(settings);
}

void FollowGates(const config::FeatureGates& gates, embedded_cluster::EmbeddedClusterOptions& cluster) {
  const framework::Release release = gates.FollowedRelease();
  cluster.release_minor = gates.release_minor();
  cluster.creation_warnings = [release](const objects::ResourceType& type, std::string_view text) {
    if (type.kind != "PodGroup" && type.kind != "CompositePodGroup") return std::vector<std::string>();
    auto document = codec::ParseJson(text);
    if (!document.ok() || !document->is_object()) return std::vector<std::string>();
    whatif::Manifest group;
    group.kind = type.kind;
    group.object = std::move(document->get_object());
    group.where = type.kind + ' ' + MetadataText(group.object, "namespace") + '/' + MetadataText(group.object, "name");
    return whatif::PodGroupWarnings({{std::move(group)}, {}}, release);
  };
}

}  // namespace berth::app
