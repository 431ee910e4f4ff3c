// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_placement_generator/topology_placement_generator.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/pod_group_placement.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::PlacementNodes;
using framework::PodGroupKey;
using framework::PodGroupPlacement;

// The key of the group's topology constraint, of which the API allows one; empty when there is none.
std::string_view TopologyKeyOf(const framework::PodGroups& groups, const PodGroupKey& group) {
  const auto* const keys = framework::ReadGroup(groups, group, static_cast<const std::vector<std::string>*>(nullptr),
                                                [](const auto& object) { return &object.topology_keys; });
  return keys == nullptr || keys->empty() ? std::string_view() : std::string_view(keys->front());
}

// A group that is deeper within `group` than the API's levels allow; nullopt: there is none.
std::optional<PodGroupKey> TooDeep(const framework::PodGroups& groups, const PodGroupKey& group, int level = 0) {
  if (level == framework::kPodGroupLevelsMax) return group;
  if (!group.is_composite) return std::nullopt;
  for (const PodGroupKey& child : groups.ChildrenOf(group)) {
    if (auto found = TooDeep(groups, child, level + 1)) return found;
  }
  return std::nullopt;
}

// Finds the domain of the group's pods that have a node; `domain` stays nullopt when none has. `ignores_empty`:
// Release::ignores_empty_domains.
Status DomainOfScheduled(const framework::PodGroups& groups, const PodGroupKey& group, const PlacementNodes& nodes,
                         std::string_view key, bool ignores_empty, std::optional<std::string>& domain) {
  const auto wrong = [](const std::string& why) {
    return Status::Error("cannot determine domain for already scheduled pods: " + why);
  };
  for (const PodGroupKey& leaf : framework::LeavesOf(groups, group)) {
    for (const PodInfoPtr& pod : groups.ScheduledPods(leaf)) {
      const api::Node* const node = nodes.find(pod->node_name);
      if (node == nullptr) {
        return wrong("getting node for pod " + pod->Key() + ": nodeinfo not found for node name \"" + pod->node_name +
                     "\"");
      }
      const std::string* const value = node->metadata.labels.Find(key);
      if (value == nullptr) return wrong("no topology domain found for pod " + pod->Key());
      if (ignores_empty && value->empty()) return wrong("empty topology domain found for pod " + pod->Key());
      if (domain && *domain != *value) {
        const std::string quote = ignores_empty ? "\"" : "";
        return wrong("more than 1 domain found for pod group: " + quote + *domain + quote + ", " + quote + *value +
                     quote);
      }
      domain = *value;
    }
  }
  return {};
}

class TopologyPlacementGenerator final : public framework::PlacementGeneratePlugin {
 public:
  explicit TopologyPlacementGenerator(Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kTopologyPlacementGenerator; }
  Status GeneratePlacements(const PodGroupKey& group, const PlacementNodes& nodes,
                            std::vector<PodGroupPlacement>& placements) const override {
    const framework::PodGroups& groups = *handle_.pod_groups();
    const std::string_view key = TopologyKeyOf(groups, group);
    if (key.empty()) {
      PodGroupPlacement& all = placements.emplace_back();
      for (const NodeIndex row : nodes.usable.rows()) all.node_names.push_back(nodes.usable.Info(row).name());
      return {};
    }
    if (const auto too_deep = TooDeep(groups, group))
      return Status::Error("exceeded maximum hierarchy depth at " + too_deep->EntityText());
    std::optional<std::string> required;
    const bool ignores_empty = handle_.release().ignores_empty_domains;
    if (Status status = DomainOfScheduled(groups, group, nodes, key, ignores_empty, required); !status.IsSuccess())
      return status;
    std::map<std::string, PodGroupPlacement> by_domain;
    for (const NodeIndex row : nodes.usable.rows()) {
      const NodeInfo& node = nodes.usable.Info(row);
      const std::string* const domain = node.node().metadata.labels.Find(key);
      if (domain == nullptr || (ignores_empty && domain->empty()) || (required && *required != *domain)) continue;
      PodGroupPlacement& placement = by_domain[*domain];
      placement.name = *domain;
      placement.node_names.push_back(node.name());
    }
    for (auto& [domain, placement] : by_domain) placements.push_back(std::move(placement));
    return {};
  }

 private:
  Handle& handle_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateTopologyPlacementGenerator(Handle& handle) {
  return std::make_unique<TopologyPlacementGenerator>(handle);
}

}  // namespace berth::plugins
