// SPDX-License-Identifier: Apache-2.0
// Catalogues from what there is already: the nodes of a cluster, and Karpenter's NodePools with instance types. Each
// makes the document of a catalogue file (node_catalogue.h). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::buy {

struct CatalogueDraft {
  codec::json::object document;
  std::vector<std::string> notes;  // what is not in it, one line each
};

// The price of an instance type, as a file of prices has it; nullopt: it has none.
using TypePrice = std::function<std::optional<std::string>(std::string_view type)>;

// One shape for each instance type, kind of capacity, labels and taints that nodes have in common, with the least
// amounts of its nodes, in all zones of its nodes. The price is that of the annotation berth.dev/price, or of
// `price_of`.
CatalogueDraft CatalogueOfNodes(const std::vector<std::shared_ptr<const api::Node>>& nodes, const TypePrice& price_of);

// The nodes of `kubectl get nodes -o json`, or of a YAML file of them.
Expected<std::vector<std::shared_ptr<const api::Node>>> ReadNodes(std::string_view text);

// `instance_types` is a list as Karpenter's provider for KWOK reads it: name, architecture, operatingSystems, resources
// and offerings, each with Price, Available and Requirements. `node_pools` are YAML documents of kind NodePool; others
// are left alone. A shape is one that the pool's requirements allow.
Expected<CatalogueDraft> CatalogueOfNodePools(std::string_view node_pools, std::string_view instance_types);

}  // namespace berth::buy
