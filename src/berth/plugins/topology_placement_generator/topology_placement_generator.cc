// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_placement_generator/topology_placement_generator.h"

#include <map>
#include <optional>
#include <string>

namespace berth::plugins {

using framework::NodeIndex;
using framework::NodeList;
using framework::PodGroupKey;
using framework::PodGroupPlacement;
using framework::PodInfoPtr;
using framework::Status;

namespace {

// Empty: the group has no constraint. The API allows one.
std::string_view TopologyKeyOf(const framework::PodGroups& groups, const PodGroupKey& group) {
  const auto* const keys = framework::ReadGroup(groups, group, static_cast<const std::vector<std::string>*>(nullptr),
                                                [](const auto& object) { return &object.topology_keys; });
  return keys == nullptr || keys->empty() ? std::string_view() : std::string_view(keys->front());
}

// The domain of the pods that have a node; nullopt without pods.
Status DomainOfScheduled(const framework::PodGroups& groups, const PodGroupKey& group, const NodeList& nodes,
                         std::string_view key, std::optional<std::string>& domain) {
  const auto wrong = [](const std::string& why) {
    return Status::Error("cannot determine domain for already scheduled pods: " + why);
  };
  for (const PodGroupKey& leaf : framework::LeavesOf(groups, group)) {
    for (const PodInfoPtr& pod : groups.ScheduledPods(leaf)) {
      const NodeIndex row = nodes.Find(pod->node_name);
      if (row == framework::kNoNode) {
        return wrong("getting node for pod " + pod->Key() + ": nodeinfo not found for node name \"" + pod->node_name +
                     "\"");
      }
      const std::string* const value = nodes.Info(row).node().metadata.labels.Find(key);
      if (value == nullptr) return wrong("no topology domain found for pod " + pod->Key());
      if (domain && *domain != *value)
        return wrong("more than 1 domain found for pod group: " + *domain + ", " + *value);
      domain = *value;
    }
  }
  return {};
}

}  // namespace

Status TopologyPlacementGenerator::GeneratePlacements(const PodGroupKey& group, const NodeList& nodes,
                                                      std::vector<PodGroupPlacement>& placements) const {
  const framework::PodGroups& groups = *handle_.pod_groups();
  const std::string_view key = TopologyKeyOf(groups, group);
  if (key.empty()) {
    PodGroupPlacement& all = placements.emplace_back();
    for (const NodeIndex row : nodes.rows()) all.node_names.push_back(nodes.Info(row).name());
    return {};
  }
  std::optional<std::string> required;
  if (Status status = DomainOfScheduled(groups, group, nodes, key, required); !status.IsSuccess()) return status;
  std::map<std::string, PodGroupPlacement> by_domain;
  for (const NodeIndex row : nodes.rows()) {
    const std::string* const domain = nodes.Info(row).node().metadata.labels.Find(key);
    if (domain == nullptr || (required && *required != *domain)) continue;
    PodGroupPlacement& placement = by_domain[*domain];
    placement.name = *domain;
    placement.node_names.push_back(nodes.Info(row).name());
  }
  for (auto& [domain, placement] : by_domain) placements.push_back(std::move(placement));
  return {};
}

}  // namespace berth::plugins
