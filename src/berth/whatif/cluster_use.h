// SPDX-License-Identifier: Apache-2.0
// ClusterUse: how full a cluster is and what it costs. Values, and functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::whatif {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

struct NodeUse {
  std::string zone;  // empty: the node has none
  std::size_t pods = 0;
  bool is_used = false;                          // has a pod that is not bound to it
  std::int64_t cpu_milli = 0, cpu_milli_of = 0;  // requested, allocatable
  std::int64_t memory_bytes = 0, memory_bytes_of = 0;
  std::optional<std::int64_t> price_micro;  // as the policy best-price reads it from annotations
  bool operator==(const NodeUse&) const = default;
};

struct ClusterUse {
  std::size_t nodes = 0;
  std::size_t used_nodes = 0;
  std::size_t pods = 0;
  std::int64_t cpu_milli = 0, cpu_milli_of = 0;
  std::int64_t memory_bytes = 0, memory_bytes_of = 0;
  std::size_t priced_nodes = 0;
  std::int64_t price_micro = 0;       // of all nodes that have a price
  std::int64_t used_price_micro = 0;  // of those that are used
};

// By the node's name.
std::map<std::string, NodeUse> NodeUses(const framework::NodeTable& nodes);
ClusterUse Sum(const std::map<std::string, NodeUse>& nodes);

// The same, kept between two looks at one table, so that a look costs what has changed. One thread's.
class NodeUseTable {
 public:
  // Nodes before and after a change, by name.
  struct Changes {
    std::map<std::string, NodeUse> before, after;
  };

  // Takes over what has changed in the table since the last call, which must have been with the same one. `changes`, if
  // not null, receives the nodes that were changed, added or removed meanwhile; some may be as they were.
  void Update(const framework::NodeTable& nodes, Changes* changes = nullptr);
  const ClusterUse& sum() const { return sum_; }

 private:
  struct Row {
    std::string name;  // empty: there is no node
    NodeUse use;
  };

  void Look(const framework::NodeTable& nodes, framework::NodeIndex row, Changes* changes);

  plugins::TableSync sync_;
  std::vector<Row> rows_;
  ClusterUse sum_;
};

// Of pods that come and go with their node: a DaemonSet's, and static ones.
bool IsBoundToNode(const std::optional<api::OwnerReference>& controller);

}  // namespace berth::whatif
