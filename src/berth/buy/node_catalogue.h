// SPDX-License-Identifier: Apache-2.0
// NodeCatalogue: the shapes of nodes that may be bought, as a YAML or JSON file describes them. A value, and pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::buy {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
inline constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
inline constexpr std::string_view kCapacityTypeLabel = "karpenter.sh/capacity-type";
inline constexpr std::string_view kNodePoolLabel = "karpenter.sh/nodepool";
inline constexpr std::string_view kSpot = "spot";
inline constexpr std::string_view kOnDemand = "on-demand";

inline constexpr std::size_t kCatalogueBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kShapesMax = 10'000;
// Shapes, each counted once for each of its zones.
inline constexpr std::size_t kOffersMax = 30'000;

struct CatalogueShape {
  std::string name;   // "m7.large"; several shapes may have it, such as spot and on-demand
  std::string where;  // "shapes[3]", for messages
  // As a new node would be, but for its name, hostname and zone.
  std::shared_ptr<const api::Node> node;
  std::int64_t price_micro = 0;    // of an hour
  std::vector<std::string> zones;  // one of them each; empty: nodes have no zone
  bool is_spot = false;
  std::optional<std::int64_t> count_max;  // of new ones, in all zones together
  // A node of the cluster: new ones have the same CSI drivers and devices. Empty: none.
  std::string like;
  // Of Cluster API: which MachineDeployment makes such nodes, and how many it has. Without a name, the shape's.
  std::string machine_deployment, machine_deployment_namespace;
  std::int64_t machine_deployment_replicas = 0;
  std::string node_class_group, node_class_kind, node_class;  // of Karpenter; empty: not said
  codec::json::object manifest;                               // the node's, for DaemonSets
};

struct NodeCatalogue {
  std::vector<CatalogueShape> shapes;  // in the order of the file
};

// The text is one map with the list `shapes`, whose entries docs/buy.md describes. An error is one line: where, what is
// there, and what would be right.
Expected<NodeCatalogue> ReadCatalogue(std::string_view text);

}  // namespace berth::buy
